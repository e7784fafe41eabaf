"""Numbers of the results in the text: `{{ cifar10-resnet20 OOD ccac ece }}` is the mean over the random states.

With a number of labels, `{{ cifar10-resnet20 OOD ccac ece 300 }}`, it is one of benchmarks/how_many_labels.py.
"""

import re
from functools import cache
from pathlib import Path
from typing import Any

from auxcal.experiments import Results
from auxcal.metrics._written import write_score

DOCS = Path(__file__).parent.parent

_NUMBER = re.compile(r"\{\{ ([\w-]+) (\w+) ([\w-]+) (\w+)(?: (\d+))? \}\}")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the numbers in their places."""
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


@cache
def _results(name: str) -> Results:
    return Results.read(DOCS / name)
