"""Timeline: the chunks of a table, one after the other, and what each of them says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from auxcal.monitoring._alarm import Alarm, Evidence
from auxcal.monitoring._check import Check
from auxcal.monitoring._estimates import Estimate


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


def _plain(estimate: Estimate | None) -> dict[str, float] | None:
    return None if estimate is None else estimate._asdict()
