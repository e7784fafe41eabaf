"""Alarm: what a monitor noticed, and the history of its evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

MOST_POINTS = 2000
"""Of a history; when it has more, every second one goes."""


AlarmKind = Literal["data", "labels"]


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
