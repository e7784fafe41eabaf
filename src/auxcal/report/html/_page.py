"""The pages of comparisons and of a timeline: template, styles, scripts and data put together into one file."""

from __future__ import annotations

import base64
import hashlib
import math
import os
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from auxcal._core.errors import InvalidInputError
from auxcal._core.extras import needs
from auxcal._core.files import as_path, atomic_write
from auxcal._core.text import first_line, percent, utf8, write_score, write_seconds
from auxcal._version import VERSION
from auxcal.metrics import METRICS, Slice
from auxcal.monitoring import Timeline
from auxcal.plots.style import CORRECT, FAINT, INK, MUTED, WRONG
from auxcal.report.comparison import Comparison, Entry
from auxcal.report.html._payload import LEVELS, payload, script_json, timeline_payload
from auxcal.report.terminal import VERDICTS, alarms, chunk_cells, found, then, to_label, unlike_check

with needs("report"):
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup, escape

VENDOR = ("d3.min.js", "plot.umd.min.js")
SCRIPTS = {
    "report.html": (
        "data.js",
        "charts.js",
        "methods.js",
        "signals.js",
        "details.js",
        "picker.js",
        "mistakes.js",
        "page.js",
    ),
    "timeline.html": ("data.js", "charts.js", "timeline.js"),
}
"""The own scripts of each page; a script uses those before it."""

MOST_SLICES = 100
"""The slices that a page lists, the largest first: a convention; `results.json` has all of them."""


def save_report(
    comparisons: Sequence[Comparison],
    path: str | os.PathLike[str],
    *,
    title: str = "How honest is the confidence?",
    saved: Sequence[str] | None = None,
    about: Sequence[str] | None = None,
) -> None:
    """Write comparisons as one self-contained HTML page, which needs no network and can't reach one.

    Parameters
    ----------
    comparisons : sequence of Comparison
        One for each data set; with several the page has a switch.
    path : str or path
        The page. It is written whole or not at all.
    title : str
        The title of the page.
    saved : sequence of str, optional
        For each comparison, the file of its best calibrator; the page then shows how to use it.
    about : sequence of str, optional
        For each comparison, a sentence about the data.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import auxcal
    >>> from auxcal.report import save_report
    >>> rng = np.random.default_rng(0)
    >>> data = auxcal.Predictions(rng.normal(size=(200, 3)), rng.integers(3, size=200))
    >>> comparison = auxcal.compare(data, methods=["platt"], bootstrap=0, name="nothing but noise")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_report([comparison], Path(folder) / "report.html")
    ...     "nothing but noise" in (Path(folder) / "report.html").read_text()
    True
    """
    path = as_path(path)
    if not comparisons:
        raise InvalidInputError("a report needs at least one comparison; got none. Make one with auxcal.compare.")
    nothing = [""] * len(comparisons)
    _write(
        path,
        "report.html",
        {"levels": LEVELS, "sets": [payload(comparison) for comparison in comparisons]},
        title=title,
        sets=list(zip(comparisons, saved or nothing, about or nothing, strict=True)),
        metrics=METRICS,
        few_rows=Slice.FEW_ROWS,
        most_slices=MOST_SLICES,
    )


def save_timeline(timeline: Timeline, path: str | os.PathLike[str], *, name: str = "") -> None:
    """Write a timeline as one self-contained HTML page, which needs no network and can't reach one.

    Parameters
    ----------
    timeline : Timeline
        What `auxcal.monitoring.timeline` found.
    path : str or path
        The page. It is written whole or not at all.
    name : str
        What the rows are called.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import auxcal
    >>> from auxcal.monitoring import timeline
    >>> from auxcal.report import save_timeline
    >>> rng = np.random.default_rng(0)
    >>> logits, y = rng.normal(size=(300, 3)), rng.integers(3, size=300)
    >>> found = timeline(auxcal.PlattScaling().fit(logits[:200], y[:200]), logits[200:], ["monday"] * 100)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_timeline(found, Path(folder) / "monitor.html")
    ...     "The rows of monday show no difference from" in (Path(folder) / "monitor.html").read_text()
    True
    """
    _write(
        as_path(path),
        "timeline.html",
        timeline_payload(timeline),
        title="Does the calibrator still hold?",
        name=name,
        timeline=timeline,
        found=found(timeline),
        alarms=[*alarms(timeline), *unlike_check(timeline), *to_label(timeline)],
        then=then(timeline),
        verdicts=VERDICTS,
        cells=chunk_cells,
    )


def _write(path: Path, template: str, data: Any, **words: Any) -> None:
    """Write a page: a template with its own scripts, data and words, and what all pages share."""
    in_own_scope = (
        "(() => {\n'use strict';\n" + "\n".join(_read("static", name) for name in SCRIPTS[template]) + "})();\n"
    )
    scripts = [*(_read("vendor", name) for name in VENDOR), in_own_scope]
    page = _environment().get_template(template)
    text = page.render(
        colours={"ink": INK, "muted": MUTED, "faint": FAINT, "correct": CORRECT, "wrong": WRONG},
        style=Markup(_read("static", "report.css")),
        scripts=[Markup(script) for script in scripts],
        hashes=[_csp_hash(script) for script in scripts],
        data=Markup(script_json(data)),
        version=VERSION,
        **words,
    )
    with atomic_write(path) as temporary:
        temporary.write_bytes(utf8(text))


@cache
def _read(folder: str, name: str) -> str:
    return files("auxcal.report.html").joinpath(folder, name).read_text(encoding="utf-8")


def _csp_hash(script: str) -> str:
    """Return the hash of a script for the page's content security policy: only listed scripts run."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("auxcal.report.html", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "score": lambda value, metric: write_score(metric, value),
        "interval": _interval,
        "difference": _difference,
        "seconds": write_seconds,
        "percent": percent,
        "about": _about,
        "better": lambda metric: f"{'higher' if metric.higher_is_better else 'lower'} is better",
        "numbers": _numbers,
    }
    return environment


def _interval(scores: Mapping[str, float], metric: str) -> str:
    """Return the ends of a metric's interval; nothing where it has none, or is undefined."""
    ends = [scores.get(f"{metric}_{end}", math.nan) for end in ("low", "high")]
    return "" if math.isnan(sum(ends)) else "–".join(write_score(metric, end) for end in ends)


def _difference(behind: tuple[float, float]) -> str:
    """Return how far a Brier score is behind the best one, in thousandths, with twice its standard error."""
    mean, error = behind
    return f"{1000 * mean:+.1f} ± {2000 * error:.1f} ‰"


def _about(entry: Entry) -> str:
    """Return the first sentence of a method's documentation and where it comes from."""
    if entry.calibrator is None:
        return ""
    what = first_line(type(entry.calibrator), entry.label).rstrip(".")
    reference = getattr(entry.calibrator, "reference", "")  # which a calibrator of your own may lack
    return f"{what} ({reference})." if reference else f"{what}."


def _numbers(text: str) -> Markup:
    """Highlight the percentages of a sentence; neither they nor hyphenated words break across lines."""
    marked = re.sub(
        r"((?:over |under )?\d+(?:\.\d+)?) %", r'<strong class="whole">\1&nbsp;%</strong>', str(escape(text))
    )
    return Markup(re.sub(r"((?<!\w)\w+(?:-\w+)+)", r'<span class="whole">\1</span>', marked))
