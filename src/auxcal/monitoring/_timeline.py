"""Timeline: a table's rows in chunks, one after the other, each checked, all of them watched."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from auxcal._arrays import Bools, Floats, Ints, as_y
from auxcal._conversion import to_numpy
from auxcal._errors import InvalidInputError
from auxcal._progress import Report, silent
from auxcal.calibrators import Calibrator
from auxcal.monitoring._alarm import Alarm, Evidence
from auxcal.monitoring._check import FEWEST_ROWS, Check, check_seen, sampled_rows
from auxcal.monitoring._estimates import Estimate
from auxcal.monitoring._monitor import Monitor

_QUANTILE = 1.645  # of the normal distribution, for a 90 % interval


@dataclass(frozen=True)
class Chunk:
    """Some rows of a timeline.

    Parameters
    ----------
    name : str
        What their rows have in common: a day.
    n_rows, n_labels : int
        How many there are, and how many of them have a label.
    confidence : float
        The mean of their confidence.
    check : Check or None
        What they say without labels; None where they are too few.
    measured : Estimate or None
        The share of labelled predictions that are right, with Wilson's 90 % interval; None where there are no labels.
    evidence : Evidence
        That of the monitor, after them.
    alarms : tuple of Alarm
        Those that were raised here.
    """

    name: str
    n_rows: int
    n_labels: int
    confidence: float
    check: Check | None
    measured: Estimate | None
    evidence: Evidence
    alarms: tuple[Alarm, ...]

    @property
    def verdict(self) -> str:
        """The verdict of the check, or "few" where there is none."""
        return "few" if self.check is None else self.check.verdict

    def as_json(self) -> dict[str, Any]:
        """Return all of it, ready for JSON."""
        return {
            "name": self.name,
            "rows": self.n_rows,
            "labels": self.n_labels,
            "confidence": self.confidence,
            "verdict": self.verdict,
            "accuracy": _plain(None if self.check is None else self.check.accuracy),
            "measured": _plain(self.measured),
            "no_class": _plain(None if self.check is None else self.check.no_class),
            "evidence": {"data": self.evidence.data, "labels": self.evidence.labels},
            "alarms": [str(alarm) for alarm in self.alarms],
        }


@dataclass(frozen=True)
class Timeline:
    """Chunks in their order, and what was noticed.

    Parameters
    ----------
    chunks : tuple of Chunk
        The first is the oldest.
    level : float
        That of the monitor, and of the verdicts of all chunks together: each has an equal share of it.
    accuracy_before, no_class_before : float
        The shares of right predictions, and of samples of no class, in the fit.
    """

    chunks: tuple[Chunk, ...]
    level: float
    accuracy_before: float
    no_class_before: float

    @property
    def alarms(self) -> tuple[tuple[str, Alarm], ...]:
        """The alarms, each with the name of its chunk."""
        return tuple((chunk.name, alarm) for chunk in self.chunks for alarm in chunk.alarms)

    def as_json(self) -> dict[str, Any]:
        """Return all of it, ready for JSON."""
        return {
            "verdict": self.chunks[-1].verdict,
            "alarms": [{"chunk": name, "kind": alarm.kind, "reason": alarm.reason} for name, alarm in self.alarms],
            "level": self.level,
            "accuracy_before": self.accuracy_before,
            "no_class_before": self.no_class_before,
            "chunks": [chunk.as_json() for chunk in self.chunks],
        }


def timeline(
    calibrator: Calibrator,
    logits: ArrayLike,
    by: Sequence[Any] | np.ndarray[Any, Any],
    y: ArrayLike | None = None,
    features: ArrayLike | None = None,
    *,
    labelled: ArrayLike | None = None,
    level: float = 0.05,
    tolerance: float = 0.0,
    report: Report = silent,
) -> Timeline:
    """Check and watch rows over time.

    Parameters
    ----------
    calibrator : Calibrator
        A fitted one.
    logits : array of shape (n, K)
        What it takes.
    by : sequence of length n
        The chunk of each row, a day for instance. Chunks come in the order of these values: numbers by size, all else
        as text. The rows of a chunk are watched in random order.
    y : array of shape (n,), optional
        The true classes.
    features : array of shape (n, d), optional
        The features, where the calibrator was fitted with such.
    labelled : array of shape (n,), optional
        Which rows have a label in `y`; all of them by default.
    level : float
        The probability that the monitor ever raises an alarm while nothing changes, and that any chunk gets another
        verdict than "same".
    tolerance : float, optional
        As in `Monitor`.
    report : callable
        Called after every chunk with the share that is done.

    Returns
    -------
    Timeline

    Examples
    --------
    >>> import numpy as np
    >>> import auxcal
    >>> from auxcal.monitoring import timeline
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(3, size=900)
    >>> logits = rng.normal(size=(900, 3)) + 3 * np.eye(3)[y]
    >>> calibrator = auxcal.PlattScaling().fit(logits[:500], y[:500])
    >>> found = timeline(calibrator, logits[500:], ["monday"] * 200 + ["tuesday"] * 200)
    >>> [(chunk.name, chunk.verdict) for chunk in found.chunks]
    [('monday', 'same'), ('tuesday', 'same')]
    """
    monitor = Monitor(calibrator, level, tolerance=tolerance, keep=0)
    array, further = calibrator._rows(logits, features)
    labels = None if y is None else as_y(y, n_rows=len(array), n_classes=array.shape[1])
    has_label = np.full(len(array), y is not None) if labelled is None else to_numpy(labelled, "labelled").astype(bool)
    names, places = _chunks_of(by, len(array))
    checked = int(np.sum(np.bincount(places) >= FEWEST_ROWS))
    rng = np.random.default_rng(0)  # in a table that is sorted by class, rows of one class would look like a change
    chunks = []
    for place, name in enumerate(names):
        rows = rng.permutation(np.flatnonzero(places == place))
        has = np.flatnonzero(has_label[rows])
        part = None if further is None else further[rows]
        known = None if labels is None else labels[rows][has]
        chunks.append(_chunk(monitor, name, array[rows], part, has, known, level / max(checked, 1)))
        report((place + 1) / len(names))
    counts, hits = monitor.reference.counts, monitor.reference.hits
    before = float(hits.sum() / counts.sum()), float(counts[-1] / counts.sum())
    return Timeline(tuple(chunks), level, *before)


def _chunk(
    monitor: Monitor, name: str, logits: Floats, features: Floats | None, has: Ints, y: Ints | None, level: float
) -> Chunk:
    before = len(monitor.alarms)
    confidence = monitor._look_at(logits, features)
    correct = np.zeros(0, dtype=bool) if y is None else logits[has].argmax(axis=1) == y
    monitor._settle(confidence[has], correct)
    few = len(logits) < FEWEST_ROWS
    seen = sampled_rows(monitor.calibrator, logits, features)
    return Chunk(
        name,
        len(logits),
        len(has),
        float(confidence.mean(dtype=np.float64)),
        None if few else check_seen(monitor.calibrator, seen, level),
        _measured(correct) if len(correct) else None,
        monitor.evidence,
        monitor.alarms[before:],
    )


def _measured(correct: Bools) -> Estimate:
    """Return the share of right predictions, and Wilson's interval."""
    n, share = len(correct), float(correct.mean())
    spread = _QUANTILE**2 / n
    middle = (share + spread / 2) / (1 + spread)
    reach = math.sqrt(share * (1 - share) * spread + spread**2 / 4) / (1 + spread)
    return Estimate(share, middle - reach, middle + reach)


def _chunks_of(by: Sequence[Any] | np.ndarray[Any, Any], n_rows: int) -> tuple[list[str], Ints]:
    """Return the names of the chunks in order, and the place of each row among them."""
    if len(by) != n_rows:
        raise InvalidInputError(f"by must have one value for each of the {n_rows} rows; got {len(by)}.")
    found: dict[str, int] = {}
    seen = np.fromiter((found.setdefault(_name_of(value), len(found)) for value in by), np.intp, count=n_rows)
    if "" in found:
        empty = int(np.argmax(seen == found[""]))
        raise InvalidInputError(
            f"by (--by) must say of every row which chunk it is of; row {empty} has nothing there. "
            f"Fill it in, or leave such rows out."
        )
    names = sorted(found, key=_as_number if all(map(_is_number, found)) else None)
    place = np.empty(len(names), dtype=np.intp)
    place[[found[name] for name in names]] = np.arange(len(names))
    return names, place[seen]


def _name_of(value: Any) -> str:
    return "" if value is None or value != value else str(value).strip()


def _as_number(text: str) -> tuple[float, str]:
    return float(text), text


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _plain(estimate: Estimate | None) -> dict[str, float] | None:
    return None if estimate is None else estimate._asdict()
