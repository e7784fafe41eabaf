"""The page of a timeline: what monitoring tools show, and when the alarm came."""

from __future__ import annotations

import os
from typing import Any

from auxcal._core.files import as_path
from auxcal.monitoring import Chunk, Timeline
from auxcal.report.html._page import write_html
from auxcal.report.html._payload import rounded
from auxcal.report.terminal import VERDICTS, alarms, chunk_cells, found, then

SCRIPTS = ("data.js", "charts.js", "timeline.js")

QUESTIONS = {
    "accuracy": (
        "How many predictions are right?",
        "The line is the estimate without labels, with its 90 % interval. Dots are measured, where rows have labels. "
        "Where the rows are something new there is no estimate: that takes labels.",
    ),
    "ood": (
        "How many samples are of none of the classes?",
        "The estimated share of out-of-distribution samples, with its 90 % interval, where the calibrator tells them.",
    ),
    "verdict": (
        "Are the rows like those of the fit?",
        "What each chunk says by itself. The level is for all chunks together: while nothing changes, hardly any "
        "table has a chunk that differs.",
    ),
    "evidence": (
        "Is there an alarm?",
        "The evidence against the calibrator, on a log scale: that rows differ from those of the fit, and that labels "
        "differ from the confidence. While nothing has changed, the odds of ever reaching the line are small.",
    ),
}
"""What each chart answers, and how to read it."""

KEYS = {
    "accuracy": (("correct", "estimated"), ("dot", "measured"), ("dashed", "in the fit")),
    "ood": (("wrong", "estimated"), ("dashed", "in the fit")),
    "verdict": (("area same", "the same"), ("area mix", "another mix"), ("area new", "something new")),
    "evidence": (("correct", "of the rows"), ("wrong", "of the labels"), ("dashed", "enough for an alarm")),
}
"""What the colours and lines of a chart stand for."""

OF_LABELS = ("measured", "of the labels")
"""The keys of what only labels show."""

ALARM = ("dotted wrong", "alarm")
"""The upright line at a chunk in which an alarm was raised."""


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
    >>> from auxcal.report.html import save_timeline
    >>> rng = np.random.default_rng(0)
    >>> logits, y = rng.normal(size=(300, 3)), rng.integers(3, size=300)
    >>> found = timeline(auxcal.PlattScaling().fit(logits[:200], y[:200]), logits[200:], ["monday"] * 100)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_timeline(found, Path(folder) / "monitor.html")
    ...     "The rows of monday show no difference from" in (Path(folder) / "monitor.html").read_text()
    True
    """
    write_html(
        as_path(path),
        "timeline.html",
        SCRIPTS,
        _payload(timeline),
        title="Does the calibrator still hold?",
        name=name,
        timeline=timeline,
        found=found(timeline),
        alarms=alarms(timeline),
        then=then(timeline),
        verdicts=VERDICTS,
        cells=chunk_cells,
        questions=QUESTIONS,
        lines=_keys(timeline),
    )


def _keys(timeline: Timeline) -> dict[str, tuple[tuple[str, str], ...]]:
    """Return the keys of the charts, with those of what this timeline has."""
    few = (("area", VERDICTS["few"]),) if any(chunk.check is None for chunk in timeline.chunks) else ()
    labels = any(chunk.n_labels for chunk in timeline.chunks)
    alarm = (ALARM,) if timeline.alarms else ()
    return {
        chart: tuple(key for key in keys if labels or key[1] not in OF_LABELS) + alarm
        for chart, keys in (KEYS | {"verdict": KEYS["verdict"] + few}).items()
    }


def _payload(timeline: Timeline) -> dict[str, Any]:
    """Return what the charts show, ready for JSON."""
    return {
        "level": timeline.level,
        "accuracy": timeline.accuracy_before,
        "ood": timeline.no_class_before,
        "chunks": [_chunk(chunk) for chunk in timeline.chunks],
    }


def _chunk(chunk: Chunk) -> dict[str, Any]:
    check = chunk.check
    return {
        "name": chunk.name,
        "rows": chunk.n_rows,
        "labels": chunk.n_labels,
        "verdict": chunk.verdict,
        "accuracy": None if check is None or check.accuracy is None else rounded(check.accuracy),
        "measured": None if chunk.measured is None else rounded(chunk.measured),
        "ood": None if check is None or check.no_class is None else rounded(check.no_class),
        "data": chunk.evidence.data,
        "labelled": chunk.evidence.labels,
        "alarms": [str(alarm) for alarm in chunk.alarms],
    }
