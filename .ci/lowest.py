"""Print constraints for `make lowest`: of each package that pyproject.toml names, the lowest version that it permits.

All other packages get the version of constraints.txt.
"""

import re
import sys
import tomllib
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).parents[1]


def normalised(name: str) -> str:
    """Return the name of a package as indexes compare it."""
    return re.sub("[-_.]+", "-", name).lower()


def main() -> None:
    """Print a line for each package."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    requirements = chain(project["dependencies"], *project["optional-dependencies"].values())
    pins = [line.split("==") for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line]
    versions = {normalised(name): version for name, version in pins}
    bounds = [re.match(r"([\w.-]+)(?:\[.*\])?>=([\w.]+)", requirement) for requirement in requirements]
    versions |= {normalised(bound[1]): bound[2] for bound in bounds if bound}
    sys.stdout.writelines(f"{name}=={version}\n" for name, version in sorted(versions.items()))


if __name__ == "__main__":
    main()
