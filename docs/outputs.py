"""Run the commands and the Python of the guides from top to bottom, and write what they print below them.

The first page becomes a notebook too, docs/start/first-calibration.ipynb.

    make outputs                    # or: python docs/outputs.py [--check]

A block of `output` that follows a block of commands or of Python is its output. The pages run in one empty folder, each
with the files that the pages before it have left. With --check nothing is written: the program fails if a command does,
or if it prints other words than the page has. Numbers may differ: their last digits depend on the machine.
"""

import argparse
import contextlib
import io
import json
import os
import re
import shlex
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from auxcal.cli import main as auxcal

DOCS = Path(__file__).parent
PAGES = (
    "start/python.md",
    "start/command-line.md",
    "start/paper.md",
    "how-to/thresholds.md",
    "how-to/change.md",
    "how-to/nightly.md",
    "how-to/labelling.md",
)
NOTEBOOK = DOCS / "start/first-calibration.ipynb"
WIDTH = 84  # of the terminal: what a block of code holds beside both sidebars on a screen of 1280 pixels

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$(?:\n\n```output\n(.*?)^```$)?", re.DOTALL | re.MULTILINE)


def walk(page: Path, names: dict[str, Any]) -> str:
    """Return the text of a page with what its blocks print now; files go into the current folder, and names there."""

    def run(block: re.Match[str]) -> str:
        language, code, shown = block.groups()
        if language not in ("", "python"):
            return block[0]
        printed = "".join(_python(code, names) if language else _commands(code))
        if shown is None:
            return block[0]
        return f"```{language}\n{code}```\n\n```output\n{printed.strip()}\n```"

    return _BLOCK.sub(run, page.read_text(encoding="utf-8"))


def notebook(text: str, comparison: Any) -> str:
    """Return a page that was run as a notebook, which also shows the comparison as Jupyter does."""
    parts = list(_parts(text))
    parts.insert(-1, ("python", "comparison", None))
    shown = comparison._repr_html_().splitlines(keepends=True)
    cells: list[dict[str, Any]] = []
    for number, (language, part, printed) in enumerate(parts):
        lines = part.strip().splitlines(keepends=True)
        cell = {"id": f"cell-{number}", "metadata": {}, "source": lines}
        outputs: list[dict[str, Any]] = []
        if printed:
            outputs = [{"name": "stdout", "output_type": "stream", "text": printed.splitlines(keepends=True)}]
        elif part == "comparison":
            data = {"text/html": shown, "text/plain": ["a table of methods"]}
            outputs = [{"data": data, "metadata": {}, "output_type": "display_data"}]
        code = {
            "cell_type": "code",
            "execution_count": number // 2 + 1,
            "outputs": outputs,
        }  # prose and code take turns
        cells.append((code if language else {"cell_type": "markdown"}) | cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    file = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(file, indent=1, ensure_ascii=False) + "\n"


def _parts(text: str) -> Iterator[tuple[str, str, str | None]]:
    """Give the language of each part, which is empty for prose, the part, and what it printed."""
    end = 0
    for block in _BLOCK.finditer(text):
        yield "", text[end : block.start()], None
        yield block[1], block[2], block[3]
        end = block.end()
    yield "", text[end:], None


def _python(code: str, names: dict[str, Any]) -> Iterator[str]:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(code, "<page>", "exec"), names)
    yield out.getvalue()


def _commands(code: str) -> Iterator[str]:
    """Run each command in this process, and give what it prints."""
    for line in code.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] != ["auxcal"]:
            continue
        sys.argv = words
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
            try:
                auxcal()
            except SystemExit as end:
                if end.code not in (None, 0, 3, 4):  # 3 and 4 are verdicts, as reference/command-line.md says
                    raise RuntimeError(f"{line}: exit code {end.code}. {out.getvalue()}") from end
        yield "\n".join(map(_wrapped, out.getvalue().splitlines())) + "\n"


def _wrapped(line: str) -> str:
    """Return a line as a terminal would wrap it."""
    return line.rstrip() if len(line) <= WIDTH else textwrap.fill(line, WIDTH, break_on_hyphens=False)


def words(text: str) -> list[str]:
    """Return what must not differ between machines: everything but numbers and the width of columns."""
    return re.sub(r"[-+±]?\d[\d.,:]*", "#", text).replace("─", "").split()


def main() -> None:
    """Write the outputs, or tell which pages have other words than the program."""
    parser = argparse.ArgumentParser(description="Run the guides, and write what their blocks print.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if the words of a page differ")
    arguments = parser.parse_args()
    os.environ["COLUMNS"] = str(WIDTH)
    pages = [DOCS / page for page in PAGES]
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        names: dict[str, Any] = {}
        new = {page: walk(page, names if page == pages[0] else {}) for page in pages}
    new[NOTEBOOK] = notebook(new[pages[0]], names["comparison"])
    if not arguments.check:
        for page, text in new.items():
            page.write_text(text, encoding="utf-8")
        return
    stale = [str(page) for page, text in new.items() if words(text) != words(page.read_text(encoding="utf-8"))]
    if stale:
        sys.exit(f"These pages show what the program no longer prints: {', '.join(stale)}. Run: make outputs")


if __name__ == "__main__":
    main()
