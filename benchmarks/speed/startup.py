"""How long the library and its command take to start."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

COMMANDS = {
    "python -c pass": ([sys.executable, "-c", "pass"], None),
    "import auxcal": ([sys.executable, "-c", "import auxcal"], 0.150),
    "auxcal --help": ([str(Path(sys.executable).parent / "auxcal"), "--help"], 0.400),
}
"""What is run, and within how many seconds it is to be done, the interpreter's own start included."""


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Return a row for each command with the best of its runs, which take turns."""
    best = dict.fromkeys(COMMANDS, float("inf"))
    for _ in range(4 if quick else 12):
        for name, (command, _) in COMMANDS.items():
            start = time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            best[name] = min(best[name], time.perf_counter() - start)
    rows = []
    for name, (_, target) in COMMANDS.items():
        verdict = "" if target is None else "met" if best[name] <= target else "missed"
        rows.append({"command": name, "seconds": best[name], "target": target, "verdict": verdict})
        print(f"{name:>16}: {1000 * best[name]:.0f} ms {verdict}")
    return rows
