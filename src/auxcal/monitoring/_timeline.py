"""Rows over time: the chunks of a table, each checked, and watched by a monitor one after the other."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from auxcal._core.arrays import Bools, Floats, Ints, to_numpy
from auxcal._core.errors import InvalidInputError
from auxcal._core.progress import Report, silent
from auxcal._core.sampling import Reservoir
from auxcal.calibrators import Calibrator
from auxcal.metrics.intervals import Estimate, wilson
from auxcal.monitoring._accuracy import Z_90
from auxcal.monitoring._check import Check, check_rows
from auxcal.monitoring._mix import represent
from auxcal.monitoring._monitor import BATCH, Monitor
from auxcal.monitoring._sample import new_sample, represented
from auxcal.monitoring._state import Alarm, Evidence
from auxcal.monitoring._two_samples import FEWEST_ROWS, as_calibrator
from auxcal.monitoring.timed import Names, Timed, TimedRows, check_names, chunk_names, in_order

Rows: TypeAlias = NDArray[np.void]

NO_LABEL = -1
"""In place of whether the prediction is right, if a row has no label."""


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
        check = self.check
        estimates = {"accuracy": check and check.accuracy, "measured": self.measured}
        estimates |= {"no_class": check and check.no_class, "harm": check and check.harm}
        return {
            "name": self.name,
            "rows": self.n_rows,
            "labels": self.n_labels,
            "confidence": self.confidence,
            "verdict": self.verdict,
            **{name: estimate and estimate._asdict() for name, estimate in estimates.items()},
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

    @property
    def ranked(self) -> tuple[Chunk, ...]:
        """The chunks by the harm that their check expects, the largest first: those to label first."""
        return tuple(sorted(self.chunks, key=lambda chunk: 1.0 if chunk.check is None else -chunk.check.harm.value))

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
        The true classes, by index or by the names of the fit.
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
        Called every now and then with the share that is done.

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
    calibrator = as_calibrator(calibrator)
    array, further = calibrator.validate_rows(logits, features)
    n_rows, true, known = len(array), None, None
    if len(by) != n_rows:
        raise InvalidInputError(f"by must have one value for each of the {n_rows} rows; got {len(by)}.")
    names = chunk_names(by)
    check_names(names, range(n_rows))
    if y is not None:
        true = calibrator.inputs_.as_y(y, n_rows=n_rows, n_classes=array.shape[1])
        known = np.ones(n_rows, dtype=bool) if labelled is None else to_numpy(labelled, "labelled").astype(bool)
        if known.shape != (n_rows,):
            raise InvalidInputError(
                f"labelled must have one value for each of the {n_rows} rows; got shape {known.shape}."
            )
    table = _Held(Timed(array, further, true, known, names, None))
    return table_timeline(calibrator, table, level=level, tolerance=tolerance, report=report)


class _Held(NamedTuple):
    """Rows in memory, as a table."""

    rows: Timed

    def counts(self) -> Counter[str]:
        return Counter(self.rows.by.tolist())

    def batches(self) -> Iterator[Timed]:
        n_rows = len(self.rows.by)
        for start in range(0, n_rows, BATCH):
            yield self.rows.take(slice(start, start + BATCH))._replace(done=min(1.0, (start + BATCH) / n_rows))


def table_timeline(
    calibrator: Calibrator, table: TimedRows, *, level: float = 0.05, tolerance: float = 0.0, report: Report = silent
) -> Timeline:
    r"""Check and watch the rows of a table that need not fit into memory; the result is that of `timeline`.

    It keeps 14 bytes of every row, and a sample of 20,000 rows of every chunk as the calibrator represents them, until
    the chunk and those before it are complete.

    Parameters
    ----------
    calibrator : Calibrator
        A fitted one.
    table : TimedTable
        Its rows, in any order.
    level, tolerance, report
        As in `timeline`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import auxcal
    >>> from auxcal.monitoring import table_timeline
    >>> from auxcal.tables import TimedTable
    >>> calibrator = auxcal.PlattScaling().fit([[2.0, 0.0], [0.0, 1.0]] * 50, [0, 1, 1, 1] * 25)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "logits.csv"
    ...     _ = path.write_text("day,logit_0,logit_1\nmonday,2.0,0.0\ntuesday,0.0,1.0\n")
    ...     found = table_timeline(calibrator, TimedTable(calibrator, path, by="day"))
    >>> [(chunk.name, chunk.verdict) for chunk in found.chunks]
    [('monday', 'few'), ('tuesday', 'few')]
    """
    monitor = Monitor(calibrator, level, tolerance=tolerance, keep=0)
    return timeline_of(monitor, PendingChunks(monitor, table.counts()).watch(table.batches(), report))


def timeline_of(monitor: Monitor, chunks: Iterable[Chunk]) -> Timeline:
    """Return chunks that a monitor has watched, beside what was in the fit."""
    of_fit, right = monitor.reference.counts, monitor.reference.hits
    before = float(right.sum() / of_fit.sum()), float(of_fit[-1] / of_fit.sum())
    return Timeline(tuple(chunks), monitor.level, *before)


class PendingChunks:
    """The chunks of a table that are not yet watched.

    A chunk is checked when its last row has come, and its sample is dropped. It is watched when all chunks before it
    are, and its rows are dropped. So a sorted table needs the memory of one chunk. If the number of rows of each is not
    known, all chunks wait for the last row of the table. `levels` are those of the checks in the order of the chunks,
    for a monitor that does not know how many there will be; without them, each chunk has an equal share of the level.
    """

    def __init__(
        self,
        monitor: Monitor,
        counts: Mapping[str, int] | None,
        rng: np.random.Generator | None = None,
        levels: Iterator[float] | None = None,
    ) -> None:
        self._monitor = monitor
        readings = ("cells", np.uint8, len(monitor._rows.names))
        self._dtype = np.dtype([readings, ("confidence", np.float32), ("right", np.int8)])
        self._rows: dict[str, bytearray] = defaultdict(bytearray)  # what is kept of each row, one after the other
        self._samples: dict[str, Reservoir] = defaultdict(new_sample)
        self._checks: dict[str, tuple[Check | None, float | None]] = {}  # and how usual a group of rows is
        self._rng = rng or np.random.default_rng(0)
        self._levels = levels
        self._left: dict[str, int] | None = None  # rows of each chunk that are still to come
        if counts is not None:
            self._expect(counts)

    def watch(self, batches: Iterable[Timed], report: Report = silent) -> list[Chunk]:
        """Take all rows, and return their chunks."""
        chunks: list[Chunk] = []
        for batch in batches:
            chunks += self.add(batch)
            if batch.done is not None:
                report(batch.done)
        return chunks + self.finish()

    def add(self, batch: Timed) -> list[Chunk]:
        """Take rows, and return the chunks that were watched for it."""
        rows_of = _by_chunk(batch.by)
        readings = self._monitor.calibrator.read(batch.logits, batch.features)
        kept = self._kept(batch, readings)
        for name, rows in rows_of.items():
            if self._left is not None:
                if self._left.get(name, 0) < len(rows):
                    raise _changed(name, "more")
                self._left[name] -= len(rows)
            self._rows[name] += kept[rows].tobytes()
        self._sample(batch, readings, rows_of)
        return [] if self._left is None else self._watched([name for name in rows_of if not self._left[name]])

    def finish(self) -> list[Chunk]:
        """Return the chunks that were not yet watched, after the last row."""
        if self._left is None:
            self._expect({name: len(rows) // self._dtype.itemsize for name, rows in self._rows.items()})
            return self._watched(in_order(self._rows))
        if short := [name for name, left in self._left.items() if left]:
            raise _changed(short[0], "fewer")
        return []

    def _expect(self, counts: Mapping[str, int]) -> None:
        self._left, self._waiting = dict(counts), deque(in_order(counts))
        equal = self._monitor.level / max(sum(count >= FEWEST_ROWS for count in counts.values()), 1)
        self._levels = self._levels or repeat(equal)

    def _kept(self, batch: Timed, readings: Floats) -> Rows:
        """Return what is kept of rows: their cells, the confidence, and whether the prediction is right."""
        monitor, prediction = self._monitor, batch.logits.argmax(axis=1)
        rows = np.empty(len(prediction), self._dtype)
        rows["confidence"] = monitor.calibrator.score_validated(batch.logits, batch.features)
        rows["cells"], rows["right"] = monitor._rows.cells_of(readings, prediction), NO_LABEL
        if batch.y is not None and batch.labelled is not None:
            rows["right"] = np.where(batch.labelled, prediction == batch.y, NO_LABEL)
        return rows

    def _sample(self, batch: Timed, readings: Floats, rows_of: Mapping[str, Ints]) -> None:
        """Add rows to the samples of their chunks; those that may stay are represented together."""
        drawn = {name: self._samples[name].draw(len(rows)) for name, rows in rows_of.items()}
        at = np.concatenate([rows_of[name][draw.places] for name, draw in drawn.items()])
        if not len(at):
            return
        features = None if batch.features is None else batch.features[at]
        rows = represent(self._monitor.calibrator, batch.logits[at], features, readings[at])
        ends = np.cumsum([len(draw.places) for draw in drawn.values()])
        for end, (name, draw) in zip(ends, drawn.items(), strict=True):
            if len(draw.places):
                self._samples[name].hold(rows.take(np.arange(end - len(draw.places), end))._asdict(), draw)

    def _watched(self, complete: list[str]) -> list[Chunk]:
        """Check complete chunks, and return those that could be watched then."""
        for name in complete:
            sample = self._samples.pop(name)
            seen = represented(sample) if sample.n_rows >= FEWEST_ROWS else None
            if seen is None or self._levels is None:
                self._checks[name] = None, None
            else:
                check = check_rows(self._monitor.calibrator, seen, next(self._levels))
                self._checks[name] = check, self._monitor._group_p_value(seen)
        chunks = []
        while self._waiting and self._waiting[0] in self._checks:
            name = self._waiting.popleft()
            rows = np.frombuffer(self._rows.pop(name), self._dtype)
            chunks.append(self._watch(name, rows, *self._checks.pop(name)))
        return chunks

    def _watch(self, name: str, rows: Rows, check: Check | None, p_value: float | None) -> Chunk:
        monitor, n_before = self._monitor, len(self._monitor.alarms)
        order = self._rng.permutation(len(rows))  # rows that are sorted by class would look like a change
        if monitor._between is not None:
            monitor._bet_on_group(p_value, len(rows))
        else:
            for start in range(0, len(rows), BATCH):
                monitor._bet_on(rows["cells"][order[start : start + BATCH]])
        monitor._waiting.n_rows += len(rows)  # their labels are there, or never come
        labelled = order[rows["right"][order] != NO_LABEL]
        correct = rows["right"][labelled] == 1
        monitor._settle(rows["confidence"][labelled], correct)
        return Chunk(
            name,
            len(rows),
            len(labelled),
            float(rows["confidence"].mean(dtype=np.float64)),
            check,
            _measured(correct) if len(correct) else None,
            monitor.evidence,
            monitor.alarms[n_before:],
        )


def _by_chunk(names: Names) -> dict[str, Ints]:
    """Return the rows of each chunk."""
    codes = {name: code for code, name in enumerate(dict.fromkeys(names.tolist()))}
    of_row = np.fromiter(map(codes.__getitem__, names), np.intp, len(names))
    ends = np.cumsum(np.bincount(of_row))
    return dict(zip(codes, np.split(np.argsort(of_row, kind="stable"), ends[:-1]), strict=True))


def _measured(correct: Bools) -> Estimate:
    share = float(correct.mean())
    return Estimate(share, *map(float, wilson(share, len(correct), Z_90)))


def _changed(name: str, how: str) -> InvalidInputError:
    return InvalidInputError(
        f"the table must stay as it is while it is read, which takes two passes; in the second, {name!r} has {how} "
        f"rows. Start again when nothing writes to it."
    )
