"""Monitor: does the calibrator still hold, row by row."""

from __future__ import annotations

import os
from collections.abc import Callable
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from auxcal._core.arrays import Bools, Floats, Ints
from auxcal._core.errors import InvalidInputError
from auxcal._core.files import as_path
from auxcal._core.float_errors import ignore_float_errors
from auxcal._core.state import Header, Tensors, digest, from_json, read_state, to_json, write_state
from auxcal._core.threads import fork_safe_lock
from auxcal.calibrators import Calibrator
from auxcal.monitoring._bets import GroupBets, LabelBets, ReferenceScores, RowBets, RowCells
from auxcal.monitoring._mix import Representations, counted_once, each_once, represent_some
from auxcal.monitoring._state import Alarm, AlarmKind, Evidence, LabelBuffer, restore, restoring, state_of
from auxcal.monitoring._two_samples import FEWEST_ROWS, as_calibrator, as_level, groups_of, reference_of
from auxcal.reference import Reference

FORMAT = 1
"""Of the files that `save` writes."""

LABELS = 0.5
"""The share of the level that is for labels; the other half is for rows: neither is known to matter more."""

BATCH = 4096
"""Rows that are looked at together, so that memory does not grow with an update."""

_STANDARD_ERRORS = 2.0  # that the usual distance of groups may be off, and
_DEVIATIONS = 3.0  # of the gaps of groups that the confidence may be off, without an alarm; tests measure both

_lock = fork_safe_lock()  # of all monitors: bets hold the interpreter's own lock nearly all the time


class Monitor:
    """Watches a stream of rows, and raises an alarm when the calibrator no longer holds.

    Rows without labels are compared with the calibrator's reference: is this the data of the fit? Labels are compared
    with the confidence: is it as right as it claims? Both are bets whose gains are evidence, so you may look after
    every row: over a stream of any length, a false alarm has at most the probability `level`. How it works is in
    :doc:`the documentation <monitoring>`.

    After a fit with groups, such as days, rows vary as groups do. Then each update of at least 20 rows is taken for one
    more group and compared with those of the fit, and the confidence may be off by three times as much as their gaps
    vary. Give the rows of a group in one update.

    Threads may share a monitor: each call is finished before the next begins. A copy, like what `load` returns, goes on
    by itself. The calibrator is kept as it is now, so fitting it again does not change what is watched.

    Parameters
    ----------
    calibrator : Calibrator
        A fitted one.
    level : float
        The probability of ever raising an alarm while nothing has changed.
    tolerance : float
        How far the confidence of any row may be off without an alarm, 0.02 for two points, beside what a fit on so few
        rows leaves open, which is always allowed for.
    keep : int
        How many rows are kept for labels that come late: their confidence and prediction, 8 bytes each.
    random_state : int
        For breaking ties.

    Attributes
    ----------
    alarms : tuple of Alarm
        What was noticed, at most once of either kind.
    evidence : Evidence
        The evidence so far; keep it after each update to see it over time.

    Examples
    --------
    >>> import numpy as np
    >>> import auxcal
    >>> rng = np.random.default_rng(0)
    >>> def draw(n, spread=3.0):
    ...     y = rng.integers(3, size=n)
    ...     return rng.normal(size=(n, 3)) + spread * np.eye(3)[y], y
    >>> monitor = auxcal.Monitor(auxcal.TemperatureScaling().fit(*draw(500)))
    >>> rows = monitor.update(draw(1000)[0])
    >>> monitor.alarm is None
    True
    >>> rows = monitor.update(draw(1000, spread=1.0)[0])
    >>> monitor.alarm.kind
    'data'
    """

    _CHANGING: ClassVar[dict[str, Any]] = {
        "_rows": RowBets,
        "_groups": GroupBets,
        "_labels": LabelBets,
        "_waiting": LabelBuffer,
        "_alarms": list[Alarm],
        "evidence": Evidence,
    }

    @ignore_float_errors
    def __init__(
        self,
        calibrator: Calibrator,
        level: float = 0.05,
        *,
        tolerance: float = 0.0,
        keep: int = 100_000,
        random_state: int = 0,
    ) -> None:
        self.calibrator = calibrator = as_calibrator(calibrator)
        self.level, self.tolerance, self.keep, self.random_state = _as_options(level, tolerance, keep, random_state)
        reference = each_once(self.reference)
        self._rows = RowBets(reference, calibrator.adaptation_, self.random_state, calibrator.reading_names)
        scores = ReferenceScores.of(reference, calibrator.adaptation_)
        self._between = groups_of(calibrator)
        self._groups = GroupBets()
        usual = 0.0 if self._between is None else min(_DEVIATIONS * self._between.spread, 0.5)
        self._labels = LabelBets(scores, self._n_rows_of_a_line(len(reference.y)), max(self.tolerance, usual))
        self._waiting = LabelBuffer(self.keep)
        self._alarms: list[Alarm] = []
        self.evidence = Evidence(0, 0, 1 - LABELS, LABELS)

    @property
    def reference(self) -> Reference:
        """What the calibrator keeps of the rows of the fit."""
        return reference_of(self.calibrator)

    @property
    def alarm(self) -> Alarm | None:
        """The first alarm, or None."""
        return next(iter(self._alarms), None)

    @property
    def alarms(self) -> tuple[Alarm, ...]:
        """All alarms in their order."""
        return tuple(self._alarms)

    @ignore_float_errors
    def update(self, logits: ArrayLike, y: ArrayLike | None = None, features: ArrayLike | None = None) -> Ints:
        """Look at new rows, in the order in which they came.

        Parameters
        ----------
        logits : array of shape (n, K)
            What the calibrator takes.
        y : array of shape (n,), optional
            Their true classes, by index or by the names of the fit, or `NO_CLASS`, where they are known already; for
            some of the rows, or later, see `label`.
        features : array of shape (n, d), optional
            Their features, where the calibrator was fitted with such.

        Returns
        -------
        array of shape (n,)
            The numbers of the rows, for `label`.
        """
        array, further = self.calibrator.validate_rows(logits, features)
        labels = None if y is None else self.calibrator.inputs_.as_y(y, n_rows=len(array), n_classes=array.shape[1])
        confidence = self.calibrator.score_validated(array, further).astype(np.float32)
        prediction = array.argmax(axis=1)
        with _lock:
            if self._between is not None:
                self._bet_on_group(self._group_p_value(represent_some(self.calibrator, array, further)), len(array))
            else:
                for part in (slice(start, start + BATCH) for start in range(0, len(array), BATCH)):
                    readings = self.calibrator.read(array[part], None if further is None else further[part])
                    self._bet_on(self._rows.cells_of(readings, prediction[part]))
            numbers = self._waiting.add(confidence, prediction, labelled=labels is not None)
            if labels is not None:
                self._settle(confidence, prediction == labels)
        return numbers

    @ignore_float_errors
    def label(self, rows: ArrayLike, y: ArrayLike) -> None:
        """Take labels of rows that were seen before, in the order in which they came.

        Which rows are labelled, and when, must not depend on whether they are right.

        Parameters
        ----------
        rows : array of shape (n,)
            Their numbers, as `update` returned them.
        y : array of shape (n,)
            Their true classes, as in `update`.

        Examples
        --------
        >>> import auxcal
        >>> logits, y = [[2.0, 0.0], [0.0, 1.0], [3.0, 0.0]] * 20, ([0, 1, 0] * 3 + [1]) * 6
        >>> monitor = auxcal.Monitor(auxcal.TemperatureScaling().fit(logits, y))
        >>> rows = monitor.update(logits[:3])
        >>> monitor.label(rows[1:], [1, 0])
        >>> monitor.evidence.n_labels
        2
        """
        with _lock:
            numbers = self._waiting.check(rows)
            if not len(numbers) and not np.size(y):
                return
            n_classes = self.calibrator.n_features_in_
            labels = self.calibrator.inputs_.as_y(y, n_rows=len(numbers), n_classes=n_classes)
            confidence, prediction = self._waiting.take(numbers)
            self._settle(confidence, prediction == labels)

    @ignore_float_errors
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a file, from which `Monitor.load` goes on to the same bits; no part of it can run code."""
        save_monitor(as_path(path), self)

    @classmethod
    @ignore_float_errors
    def load(cls, path: str | os.PathLike[str], calibrator: Calibrator) -> Self:
        """Go on where a saved monitor was.

        Parameters
        ----------
        path : str or path
            What `save` wrote.
        calibrator : Calibrator
            The same calibrator.
        """
        saved = read_monitor(path := as_path(path))
        with restoring(path):
            if saved["monitor"]["keep"] != len(saved["state"]["_waiting"]["_confidence"]):  # before it takes memory
                raise ValueError("as many rows must be kept as there are")
            monitor = cls(calibrator, **saved["monitor"])
            monitor._go_on(path, saved)
        return monitor

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle a monitor as `save` and `load` would."""
        return _resumed, (type(self), self.calibrator, self._params(), self._copied_state())

    def __repr__(self) -> str:
        now = self.evidence
        alarms = " ".join(map(str, self.alarms)) or "no alarm"
        return (
            f"Monitor({self.calibrator!r}, level={self.level}): {now.n_rows:,} rows, {now.n_labels:,} labels, {alarms}"
        )

    def _bet_on(self, cells: RowCells) -> None:
        """Bet on the cells of rows."""
        evidence = self._rows.update(cells) * (1 - LABELS)

        def reason(at: int) -> str:
            reading = self._rows.names[int(evidence[at].argmax())]
            return f"the rows differ from those of the fit, most of all in the {reading}"

        self._note("data", evidence.max(axis=1), reason)

    def _group_p_value(self, rows: Representations) -> float | None:
        """Return how likely a group is as unlike those of the fit as rows are; None if they are few, or it had none."""
        if self._between is None or len(rows.prediction) < FEWEST_ROWS:
            return None
        rows = rows.take(counted_once(rows.hashes, self.reference.hashes))
        return min(2 * min(self._between.p_values(rows, _STANDARD_ERRORS)), 1.0)

    def _bet_on_group(self, p_value: float | None, n_rows: int) -> None:
        """Bet on a group of rows, after the last of them; too few add no evidence."""
        evidence = np.full(n_rows, self.evidence.data)
        if p_value is not None:
            evidence[-1] = self._groups.update(p_value) * (1 - LABELS)
        reason = "the rows differ from the groups of the fit by more than these differ from each other"
        self._note("data", evidence, lambda at: reason)

    def _settle(self, confidence: Floats, correct: Bools) -> None:
        """Bet on labels."""
        for start in range(0, len(correct), BATCH):
            part = slice(start, start + BATCH)
            evidence = self._labels.update(confidence[part], correct[part]) * LABELS
            self._note("labels", evidence, lambda at: f"the confidence is {self._labels.suspicion}")

    def _note(self, kind: AlarmKind, evidence: Floats, reason: Callable[[int], str]) -> None:
        """Keep the evidence after each of some rows or labels, and raise an alarm where it is first enough."""
        count = "n_rows" if kind == "data" else "n_labels"
        before, enough = getattr(self.evidence, count), evidence >= 1 / self.level
        if enough.any() and kind not in [alarm.kind for alarm in self._alarms]:
            at = int(enough.argmax())
            self._alarms.append(Alarm(kind, before + at + 1, reason(at)))
        self.evidence = self.evidence._replace(**{count: before + len(evidence), kind: float(evidence[-1])})

    def _n_rows_of_a_line(self, n_counted: int) -> float:
        """Return the effective sample size of the fit: on how many rows a line would be as uncertain.

        Copies don't count. A fit of k numbers leaves k / 2 times the variance open that one of two does.
        """
        n_rows, n_reference = self.calibrator.fitted_on_.n_rows, len(self.reference.y)
        return max((n_rows or n_reference) * n_counted / n_reference * 2 / max(self.calibrator._n_free(), 2), 1)

    def _params(self) -> dict[str, Any]:
        names = ("level", "tolerance", "keep", "random_state")
        return {name: getattr(self, name) for name in names}

    def _fingerprint(self) -> str:
        """Return what identifies a calibrator: its name, its reference and what it was adapted to."""
        adapted = self.calibrator.adaptation_
        facts = {"class": type(self.calibrator).__name__, "adapted": None if adapted is None else adapted.as_json()}
        known = {name: value for name, value in self.reference._asdict().items() if value is not None}
        return digest(facts, known)

    def _copied_state(self) -> dict[str, Any]:
        """Return the state between two calls; what comes later does not change it."""
        with _lock:
            state: dict[str, Any] = state_of(self)
            return state

    def _go_on(self, path: Path, saved: Header) -> None:
        """Go on from what `read_monitor` returned."""
        if self._fingerprint() != saved["calibrator"]:
            raise InvalidInputError(
                f"{path}: the state of another calibrator. Go on with that one, or begin a new state: name another "
                f"file."
            )
        restore(self, saved["state"])
        n_rows, n_labels, *_ = self.evidence
        parts = self._rows.wealth.n_rows, self._waiting.n_rows, self._labels.wealth.n_rows
        if parts != (0 if self._between is not None else n_rows, n_rows, n_labels):  # groups are in place of rows
            raise ValueError("its parts must have seen the same rows")


def save_monitor(path: Path, monitor: Monitor, **further: Any) -> None:
    """Write a monitor, and what else is in its file."""
    tensors: Tensors = {}
    parts = {"monitor": monitor._params(), "state": monitor._copied_state()} | further
    header = {name: to_json(part, name, tensors) for name, part in parts.items()}
    write_state(path, header | {"format": FORMAT, "calibrator": monitor._fingerprint()}, tensors)


def read_monitor(path: Path, *further: str) -> Header:
    """Return the entries of a file that `save_monitor` wrote."""
    kinds: dict[str, type] = {"monitor": dict, "state": dict, "calibrator": str, **dict.fromkeys(further, dict)}
    header, tensors = read_state(path, "monitor", kinds, FORMAT)
    with restoring(path):
        entries: Header = from_json(header, tensors)
    return entries


def _resumed(kind: type[Monitor], calibrator: Calibrator, params: dict[str, Any], state: dict[str, Any]) -> Monitor:
    """Return a monitor that goes on where another one was."""
    monitor = kind(calibrator, **params)
    restore(monitor, state)
    return monitor


def _as_options(level: float, tolerance: float, keep: int, random_state: int) -> tuple[float, float, int, int]:
    """Validate the options, and return them as Python numbers, which a file can keep."""
    level = as_level(level)
    if not isinstance(tolerance, Real) or not 0 <= tolerance < 1:
        raise InvalidInputError(f"tolerance must be at least 0 and below 1, 0.02 for two points; got {tolerance!r}.")
    for name, value in (("keep", keep), ("random_state", random_state)):
        if not isinstance(value, Integral) or isinstance(value, bool) or value < 0:
            raise InvalidInputError(f"{name} must be a whole number, 0 or more; got {value!r}.")
    return level, float(tolerance), int(keep), int(random_state)
