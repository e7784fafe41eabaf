"""What `auxcal reproduce r8-dan` takes: the paper's methods, all of them, and those by the paper's recipe too.

    python -m benchmarks.reproduce_time

Three random states, without figures. The CPU time is that of all processes. Writes docs/figures/reproduce.csv; takes
three minutes.
"""

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.results import write_table

from auxcal._core.text import write_seconds
from auxcal_paper.pages.claims import PAPER_METHODS

OUT = Path(__file__).parents[1] / "docs" / "figures" / "reproduce.csv"
OPTIONS = {
    "the paper's seven methods": ["--methods", ",".join(PAPER_METHODS)],
    "all methods": [],
    "all methods, and by the paper's recipe": ["--paper-recipe"],
}


def cpu_time(options: list[str]) -> float:
    """Return the CPU time of a run from scratch, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "auxcal", "reproduce", "r8-dan", "--no-figures", "--jobs", "1", *options]
        command += ["--cache", f"{folder}/cache", "--out", f"{folder}/out"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Write the table."""
    rows = [[name, write_seconds(cpu_time(options))] for name, options in OPTIONS.items()]
    write_table(OUT, ["`auxcal reproduce r8-dan`, three random states", "CPU time"], rows)


if __name__ == "__main__":
    main()
