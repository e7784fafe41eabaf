"""What auxcal and each of its extras bring and weigh: the files of all packages that they need, as installed here.

python -m benchmarks.install_sizes writes docs/figures/install.csv, from an environment with all extras.
"""

from functools import cache
from importlib.metadata import distribution
from pathlib import Path

from benchmarks.results import write_table
from packaging.requirements import Requirement

OUT = Path(__file__).parent.parent / "docs/figures/install.csv"
ADDS = {
    "": "all methods in Python, for arrays and data frames",
    "cli": "the command `auxcal`, with `tables` and `report`",
    "tables": "files, folders and buckets; Arrow",
    "report": "a comparison or a timeline as a page",
    "plots": "charts with matplotlib",
    "onnx": "`auxcal export`, `auxcal.onnx`",
    "torch": "tensors, `auxcal.torch`",
    "spark": "`auxcal.spark`",
    "ray": "`auxcal.ray`",
    "all": "all of these but Spark and Ray, and the paper's experiments",
}
"""The extras in the order of the page, from small to large, and what each adds."""


@cache
def needed(requirement: str) -> frozenset[str]:
    """Return the names of all packages that a requirement needs on this machine, itself included."""
    asked = Requirement(requirement)
    found = {asked.name.lower()}
    for line in distribution(asked.name).requires or ():
        other = Requirement(line)
        if any(other.marker is None or other.marker.evaluate({"extra": extra}) for extra in asked.extras or ("",)):
            extras = f"[{','.join(sorted(other.extras))}]" if other.extras else ""
            found |= needed(f"{other.name}{extras}")
        elif other.marker is not None and other.marker.evaluate({"extra": ""}):
            found |= needed(other.name)
    return frozenset(found)


def megabytes(packages: frozenset[str]) -> float:
    """Return what the files of these packages take, without compiled modules, which Python makes later."""
    files = (file for name in packages for file in distribution(name).files or () if file.suffix != ".pyc")
    return sum(path.stat().st_size for file in files if (path := Path(str(file.locate()))).is_file()) / 1e6


def main() -> None:
    """Measure, and write the table."""
    base = needed("auxcal")
    rows = []
    for extra, adds in ADDS.items():
        packages = needed(f"auxcal[{extra}]") - base if extra else base
        name = f"`{extra}`: {adds}" if extra else f"the base: {adds}"
        rows.append([name, len(packages), f"{megabytes(packages):,.0f}"])
    write_table(OUT, ["extra, and what it adds", "packages", "MB"], rows)


if __name__ == "__main__":
    main()
