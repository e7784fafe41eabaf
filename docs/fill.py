"""Fill the pages: numbers, tables and code in the Markdown come from the files that hold them.

    make fill                       # or: python docs/fill.py [--check] [PAGE ...]

A page names its source in a comment that no reader sees, and this script writes what belongs there. It can run any
number of times. With --check it only tells which pages are out of date. To add a number, write the comment alone and
run the script.

`<!-- value: cifar10-resnet20 OOD ccac-x auroc -->`
    A number, which is written in front of the comment. The first word names a table of results, docs/results/*.csv or
    docs/figures/*.csv; the other words choose rows by suite, shift, method and number of labels, and a column. The
    number is the mean over the random states.
`<!-- cell: promises | 300 | 5 % | promised -->`
    The first number of a cell, which is written in front of the comment: of docs/figures/promises.csv, the row that
    begins with these cells, and the column of that name.
`<!-- columns: ccac, ccac-x -->` and `<!-- row: cifar10-resnet20 OOD ece -->`
    A table of such numbers. The columns stand above the table, the row in the first cell of each row; a cell holds what
    the words of its row and of its column choose together. `auroc/ece/brier` gives three numbers.
`<!-- table: unseen-text-brier -->`
    A whole table, below the comment: docs/figures/unseen-text-brier.csv. The row or column of CCAC-X comes first.
`<!-- code: examples/transfer.py:paper -->`
    The code between `# <paper>` and `# </paper>`, below the comment; without `:paper` the whole file.
`<!-- commands: -->`
    The reference of the command line, down to the end of the page.

A table or a block of Python that follows its comment is the old one, and is replaced. Comments inside a block of code
are left alone.
"""

import argparse
import csv
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from statistics import fmean

from commands import reference  # the file beside this one

from auxcal._core.text import write_score

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(
    {ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "benchmarks/README.md", *DOCS.rglob("*.md")}
    - {DOCS / "evidence/performance.md", *(DOCS / "results").glob("*.md")}  # which are written as a whole
)
DEFAULT = ("CCAC-X", "ccac-x", "auxcal, CCAC-X")  # what tables call it
CHOICES = ("suite", "shift", "method", "n_fit")

_INLINE, _BLOCKS = ("value", "cell", "row"), ("columns", "table", "code", "commands")
_MARKER = re.compile(r"<!-- (\w+): *(.*?) *-->")
_NUMBER = r"[+-]?\d[\d.,]*(?: %)?"
_VALUE = re.compile(rf"(?:{_NUMBER}|–)?(<!-- (value|cell): *(.*?) *-->)")
_FENCE = re.compile(r" *(```|~~~)")
_PART = re.compile(r"# </?\w+>")


class FillError(Exception):
    """A comment that can't be filled in: its page, its line, and why."""


def filled(page: Path) -> str:
    """Return the text of a page with every number, table and block of code as its source has it."""
    return "\n".join(_filled(_text(page).split("\n"), page))


def value(words: list[str]) -> str:
    """Return the number, or the numbers, that some words choose."""
    if not words:
        raise LookupError("name a table of results, and what to choose from it")
    name, *others = words
    rows = _results(name)
    chosen: dict[str, str] = {"suite": name} if (DOCS / f"results/{name}.csv").exists() else {}
    columns: list[str] = []
    for word in others:
        if all(part in rows[0] for part in word.split("/")):
            columns += word.split("/")
        else:
            kind = _kind(word, rows, name)
            if chosen.setdefault(kind, word) != word:
                raise LookupError(f"it names two of {kind}: {chosen[kind]} and {word}")
    if not columns:
        raise LookupError(f"name a column of {name}.csv, such as brier")
    rows = [row for row in rows if all(row[kind] == word for kind, word in chosen.items())]
    if not rows:
        raise LookupError(f"{name}.csv has no row with {' '.join(chosen.values())}")
    for kind in CHOICES:
        if len(found := {row[kind] for row in rows}) > 1:
            raise LookupError(f"say which {kind} of {name}.csv: {', '.join(sorted(found))}")
    return " / ".join(write_score(column, fmean(float(row[column]) for row in rows)) for column in columns)


def cell(name: str, *words: str) -> str:
    """Return the first number of a cell: the words are the first cells of its row, and the name of its column."""
    head, *rows = csv.reader(_text(DOCS / f"figures/{name}.csv").splitlines())
    *keys, column = words
    found = [row for row in rows if row[: len(keys)] == keys]
    if len(found) != 1 or column not in head:
        raise LookupError(f"{name}.csv has {len(found)} rows that begin with {keys}, and the columns {head}")
    number = re.match(_NUMBER, found[0][head.index(column)])
    if number is None:
        raise LookupError(f"the cell has no number: {found[0][head.index(column)]!r}")
    return number[0]


def table(name: str) -> list[str]:
    """Return a table of text as lines of Markdown: CCAC-X first, all columns but the first aligned to the right."""
    head, *rows = csv.reader(_text(DOCS / f"figures/{name}.csv").splitlines())
    order = sorted(range(len(head)), key=lambda place: place > 0 and 1 + (head[place] not in DEFAULT))
    rows.sort(key=lambda cells: cells[0] not in DEFAULT)
    lines = [[cells[place] for place in order] for cells in (head, *rows)]
    return [f"| {' | '.join(cells)} |" for cells in (lines[0], ["---", *["---:"] * (len(head) - 1)], *lines[1:])]


def code(source: str) -> list[str]:
    """Return a file, or a part of one, as a block of Python."""
    path, _, part = source.partition(":")
    lines = _text(ROOT / path).strip("\n").split("\n")
    if part:
        if f"# <{part}>" not in lines or f"# </{part}>" not in lines:
            raise LookupError(f"{path} has no part between # <{part}> and # </{part}>")
        lines = lines[lines.index(f"# <{part}>") + 1 : lines.index(f"# </{part}>")]
    kept = "\n".join(line for line in lines if not _PART.fullmatch(line))
    return ["```python", *re.sub(r"\n{4,}", "\n\n\n", kept).strip("\n").split("\n"), "```"]


def _filled(lines: list[str], page: Path) -> Iterator[str]:
    columns: list[str] = []  # those of the table that the line is in
    position = 0
    while position < len(lines):
        line = lines[position]
        try:
            new, length = _next(lines[position:], columns)
        except (LookupError, OSError, ValueError) as error:
            place = page.relative_to(ROOT) if page.is_relative_to(ROOT) else page
            raise FillError(f"{place}, line {position + 1}: {line.strip()}: {_sentence(error)}") from None
        yield from new
        position += length
        if (marker := _block_marker(line)) and marker[1] == "columns":
            columns = [words.strip() for words in marker[2].split(",")]
        elif line.strip() and not line.lstrip().startswith("|"):
            columns = []


def _next(lines: list[str], columns: list[str]) -> tuple[list[str], int]:
    """Return what the first lines become, and how many they are: a block of code, a comment with its block, or one."""
    if _FENCE.match(lines[0]):
        length = _fence_length(lines)
        return lines[:length], length
    marker = _block_marker(lines[0])
    if marker is None:
        return [_inline(lines[0], columns)], 1
    indent, kind, source = marker
    if kind == "columns":
        return lines[:1], 1
    if kind == "commands":
        return [lines[0], "", *reference().split("\n"), ""], len(lines)
    made = table(source) if kind == "table" else code(source)
    return [lines[0], "", *(f"{indent}{text}" if text else "" for text in made)], 1 + _old_length(lines[1:], kind)


def _block_marker(line: str) -> tuple[str, str, str] | None:
    """Return the indent, kind and source of a comment that stands above a block; None for any other line."""
    for match in _MARKER.finditer(line):
        if match[1] not in (*_INLINE, *_BLOCKS):
            raise LookupError(f"there is no {match[1]}: write one of {', '.join((*_INLINE, *_BLOCKS))}")
        if match[1] in _BLOCKS:
            if match[0] != line.strip():
                raise LookupError("it must have its line for itself")
            return line[: match.start()], match[1], match[2]
    return None


def _inline(line: str, columns: list[str]) -> str:
    row = next((match for match in _MARKER.finditer(line) if match[1] == "row"), None)
    if row is None:
        return _VALUE.sub(lambda match: _number(match[2], match[3]) + match[1], line)
    if not columns:
        raise LookupError("a row needs <!-- columns: … --> above its table")
    cells = (value([*row[2].split(), *words.split()]) for words in columns)
    return f"{line[: row.end()]} | {' | '.join(cells)} |"


def _number(kind: str, source: str) -> str:
    return value(source.split()) if kind == "value" else cell(*(word.strip() for word in source.split("|")))


def _old_length(lines: list[str], kind: str) -> int:
    """Return how many lines below a comment were written by an earlier run, blank lines before them included."""
    start = 0
    while start < len(lines) and not lines[start].strip():
        start += 1
    old = lines[start:]
    if kind == "code":
        length = _fence_length(old) if old and old[0].lstrip().startswith("```python") else 0
    else:
        length = next((n for n, line in enumerate(old) if not line.lstrip().startswith("|")), len(old))
    return start + length if length else 0


def _fence_length(lines: list[str]) -> int:
    return next((n for n, line in enumerate(lines[1:], 2) if _FENCE.match(line)), len(lines))


def _kind(word: str, rows: list[dict[str, str]], name: str) -> str:
    for kind in CHOICES:
        if any(row[kind] == word for row in rows):
            return kind
    raise LookupError(f"{name}.csv has no suite, shift, method, number of labels or column {word!r}")


@cache
def _results(name: str) -> list[dict[str, str]]:
    """Return the rows of a table of results."""
    path = next((path for folder in ("results", "figures") if (path := DOCS / folder / f"{name}.csv").exists()), None)
    if path is None:
        raise LookupError(f"there is no docs/results/{name}.csv and no docs/figures/{name}.csv")
    rows = list(csv.DictReader(_text(path).splitlines()))
    if not rows or not set(CHOICES) <= set(rows[0]):
        raise LookupError(f"{name}.csv is no table of results, with {', '.join(CHOICES)}")
    return rows


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _sentence(error: Exception) -> str:
    return f"there is no {Path(error.filename).name}" if isinstance(error, FileNotFoundError) else str(error)


def main() -> None:
    """Fill the pages, or tell which are out of date."""
    parser = argparse.ArgumentParser(description="Fill numbers, tables and code into the pages.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a page is out of date")
    parser.add_argument("pages", nargs="*", type=Path, help="only these pages")
    arguments = parser.parse_args()
    try:
        new = {page: filled(page) for page in arguments.pages or PAGES}
    except FillError as error:
        sys.exit(str(error))
    stale = [page for page, text in new.items() if text != _text(page)]
    if arguments.check and stale:
        sys.exit(f"Out of date: {', '.join(map(str, stale))}. Run: make fill")
    for page in stale:
        page.write_text(new[page], encoding="utf-8")
        sys.stdout.write(f"filled {page}\n")


if __name__ == "__main__":
    main()
