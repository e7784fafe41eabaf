"""Numbers of the results in the text: `{{ cifar10-resnet20 OOD ccac ece }}` is the mean over the random states.

With a number of labels, `{{ cifar10-resnet20 OOD ccac ece 500 }}`, it is one of benchmarks/how_many_labels.py.
`{{ table unseen-text-brier }}` is figures/unseen-text-brier.csv, a table that another script there has written.
"""

import csv
import re
from functools import cache
from pathlib import Path
from typing import Any

from auxcal.experiments import Results
from auxcal.metrics._written import write_score

DOCS = Path(__file__).parent.parent

_NUMBER = re.compile(r"\{\{ ([\w-]+) (\w+) ([\w-]+) (\w+)(?: (\d+))? \}\}")
_TABLE = re.compile(r"\{\{ table ([\w-]+) \}\}")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the numbers and tables in their places."""
    markdown = _TABLE.sub(lambda match: table(match[1]), markdown)
    return _NUMBER.sub(lambda match: number(*match.groups()), markdown)


def number(suite: str, shift: str, method: str, metric: str, labels: str | None = None) -> str:
    """Return a number of the results as the pages of the results write it."""
    if labels is None:
        rows = _results(f"results/{suite}.csv").where(shift=shift, method=method)
    else:
        rows = _results("figures/labels.csv").where(suite=suite, shift=shift, method=method, n_fit=int(labels))
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
