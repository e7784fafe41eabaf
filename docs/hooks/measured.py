"""Numbers of the results in the text: `{{ cifar10-resnet20 OOD ccac ece }}` is the mean over the random states.

With a number of labels, `{{ cifar10-resnet20 OOD ccac ece 500 }}`, it is one of benchmarks/how_many_labels.py; with the
name of a file, `{{ unseen: r8-dan D1>OOD ccac ece }}`, one of figures/unseen.csv. `{{ table unseen-text-brier }}` is
figures/unseen-text-brier.csv, a table of text that a script has written.
"""

import csv
import re
from functools import cache
from pathlib import Path
from textwrap import indent
from typing import Any

from auxcal._formatting import write_score
from auxcal.experiments import Results

DOCS = Path(__file__).parent.parent

_NUMBER = re.compile(r"\{\{ (?:([\w-]+): )?([\w-]+) ([\w>+]+) ([\w-]+) (\w+)(?: (\d+))? \}\}")
_TABLE = re.compile(r"^( *)\{\{ table ([\w-]+) \}\}$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the numbers and tables in their places."""
    markdown = _TABLE.sub(lambda match: indent(table(match[2]), match[1]), markdown)
    return _NUMBER.sub(lambda match: number(*match.groups()), markdown)


def number(file: str | None, suite: str, shift: str, method: str, metric: str, labels: str | None = None) -> str:
    """Return a number of the results as the pages of the results write it."""
    if file or labels:
        results = _results(f"figures/{file or 'labels'}.csv").where(suite=suite)
    else:
        results = _results(f"results/{suite}.csv")
    rows = results.where(shift=shift, method=method, **({"n_fit": int(labels)} if labels else {}))
    if not len(rows):
        raise KeyError(f"no results for {suite} {shift} {method} {labels or ''}: is the name right?")
    return write_score(metric, rows.spread(metric).mean).replace(" ", "&nbsp;")


def table(name: str) -> str:
    """Return a table of text as Markdown, with all columns but the first aligned to the right."""
    with (DOCS / "figures" / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


@cache
def _results(name: str) -> Results:
    return Results.read(DOCS / name)
