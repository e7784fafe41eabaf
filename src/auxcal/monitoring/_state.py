"""What a monitor keeps from update to update: alarms, the history of the evidence, rows that wait for their labels."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from auxcal._core.arrays import Floats, Ints, to_numpy
from auxcal._core.errors import FileFormatError, InvalidInputError
from auxcal._core.state import check_count, check_like

AlarmKind = Literal["data", "labels"]

MOST_POINTS = 2000
"""Of a history: more than a plot shows. When it has more, every second one goes."""

_LABELLED = -2  # in place of the prediction, once a row's label has come; no class and not NO_CLASS


@dataclass(frozen=True)
class Alarm:
    """What a monitor noticed, and when.

    Parameters
    ----------
    kind : {"data", "labels"}
        Whether rows differ from those of the fit, or labels from the confidence.
    after : int
        How many rows, or labels, it took.
    reason : str
        What is different.

    Examples
    --------
    >>> from auxcal.monitoring import Alarm
    >>> print(Alarm("labels", 1500, "the confidence is too high"))
    After 1,500 labels: the confidence is too high.
    """

    kind: AlarmKind
    after: int
    reason: str

    def __str__(self) -> str:
        return f"After {self.after:,} {'rows' if self.kind == 'data' else 'labels'}: {self.reason}."


class Evidence(NamedTuple):
    """The evidence after so many rows and labels, as odds: where one reaches 1 / level, there is an alarm.

    Parameters
    ----------
    n_rows, n_labels : int
        What was seen so far.
    data : float
        That rows differ from those of the fit.
    labels : float
        That the confidence is off.
    """

    n_rows: int
    n_labels: int
    data: float
    labels: float


class History:
    """The evidence over time, in bounded memory: the longer the stream, the wider the steps."""

    def __init__(self) -> None:
        self.points: list[Evidence] = []
        self._step, self._skipped = 1, 0

    def add(self, point: Evidence) -> None:
        """Note the evidence after an update."""
        self._skipped += 1
        if self._skipped < self._step:
            return
        self.points.append(point)
        self._skipped = 0
        if len(self.points) > MOST_POINTS:
            self.points, self._step = self.points[1::2], 2 * self._step

    def state(self) -> dict[str, object]:
        """Return what changes from update to update."""
        return {"points": [list(point) for point in self.points], "step": self._step, "skipped": self._skipped}

    @classmethod
    def of(cls, state: dict[str, object]) -> History:
        """Return a history from its state."""
        found = cls()
        found.points = [Evidence(*point) for point in state["points"]]  # type: ignore[attr-defined]
        found._step, found._skipped = int(state["step"]), int(state["skipped"])  # type: ignore[call-overload]
        return found


class LabelBuffer:
    """The confidence and the prediction of the last rows of a stream, at most so many, until their labels come."""

    def __init__(self, most: int) -> None:
        self._confidence = np.zeros(most, dtype=np.float32)
        self._prediction = np.full(most, _LABELLED, dtype=np.int32)
        self.n_rows = 0

    def add(self, confidence: Floats, prediction: Ints, *, labelled: bool) -> Ints:
        """Keep rows in place of the oldest, and return their numbers; rows that have labels already don't wait."""
        rows = self.n_rows + np.arange(len(confidence))
        last = slice(max(0, len(rows) - len(self._confidence)), None)
        place = rows[last] % max(len(self._confidence), 1)
        self._confidence[place], self._prediction[place] = confidence[last], _LABELLED if labelled else prediction[last]
        self.n_rows += len(rows)
        return rows

    def find(self, rows: ArrayLike) -> Ints:
        """Validate the numbers of rows that still wait for their labels, and return them."""
        found = to_numpy(rows, "rows")
        if found.ndim != 1 or (len(found) and not np.issubdtype(found.dtype, np.integer)):
            raise InvalidInputError(
                f"rows must be numbers of rows, as update returned them; got shape {found.shape} and dtype "
                f"{found.dtype}. Give some of those."
            )
        found = found.astype(np.intp)
        most = len(self._confidence)
        unseen, gone = (found < 0) | (found >= self.n_rows), found < self.n_rows - most
        if unseen.any():
            raise InvalidInputError(
                f"rows must be numbers of the {self.n_rows:,} rows seen, counted from 0; got {found[unseen][0]}. Give "
                f"what update returned."
            )
        if gone.any():
            raise InvalidInputError(
                f"rows must be among the last {most:,} of the {self.n_rows:,} rows seen; got row {found[gone][0]}. "
                f"Keep more of them with Monitor(calibrator, keep=...)."
            )
        _, first, group = np.unique(found, return_index=True, return_inverse=True)
        again = (first[group] != np.arange(len(found))) | (self._prediction[found % max(most, 1)] == _LABELLED)
        if again.any():
            raise InvalidInputError(
                f"a row has one label; got another for row {found[again][0]}. Give each of them once."
            )
        return found

    def take(self, rows: Ints) -> tuple[Floats, Ints]:
        """Return the confidence and the prediction of rows that `find` returned, and discard them."""
        place = rows % max(len(self._confidence), 1)
        found = self._confidence[place], self._prediction[place]
        self._prediction[place] = _LABELLED
        return found

    def state(self) -> dict[str, Any]:
        """Return what changes from row to row."""
        return {"confidence": self._confidence, "prediction": self._prediction, "n_rows": self.n_rows}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where another one was."""
        self._confidence, self._prediction = state["confidence"].copy(), state["prediction"].copy()
        self.n_rows = state["n_rows"]


@contextmanager
def restoring(path: Path, advice: str) -> Iterator[None]:
    """Name the file of a state that does not fit, and what to do then."""
    try:
        yield
    except InvalidInputError:
        raise
    except Exception as error:  # a state that does not fit can fail in as many ways as it has parts
        raise FileFormatError(
            f"{path}: the state does not fit a monitor: {type(error).__name__}: {error}. {advice}"
        ) from error


def check_state(state: Any, fresh: dict[str, Any]) -> None:
    """Validate saved state by that of a fresh monitor: keys, types, shapes and ranges, and counts that agree."""
    check_like(state, fresh)
    n_rows, n_labels, *_ = state["evidence"]
    seen = state["rows"]["wealth"]["n_rows"], state["kept"]["n_rows"], state["labels"]["wealth"]["n_rows"]
    if seen != (0 if "groups" in fresh else n_rows, n_rows, n_labels):  # groups are watched in place of rows
        raise ValueError("its parts must have seen the same rows")
    for point in state["history"]["points"]:
        check_like(point, fresh["evidence"], "state.history")
    for kind, (after, reason) in state["alarms"].items():
        if kind not in get_args(AlarmKind):
            raise ValueError(f"state.alarms must be of kind {' or '.join(get_args(AlarmKind))}")
        check_count(after, f"state.alarms.{kind}")
        check_like(reason, str(reason), f"state.alarms.{kind}")
