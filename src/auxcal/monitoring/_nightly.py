"""Nightly: a monitor that goes on from run to run, with the files that it has seen; all of it is one file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from auxcal._core.errors import InvalidInputError
from auxcal._core.files import as_path
from auxcal._core.float_errors import ignore_float_errors
from auxcal._core.progress import Report, silent
from auxcal._core.state import Header
from auxcal.calibrators import Calibrator
from auxcal.monitoring._monitor import Monitor, read_monitor, save_monitor
from auxcal.monitoring._state import Alarm, restore, restoring, state_of
from auxcal.monitoring._timeline import Chunk, PendingChunks, Timeline, timeline_of
from auxcal.monitoring.timed import Timed

MOST_CHUNKS = 1000
"""That a state keeps, the latest: nearly three years of nights. Evidence, alarms and counts are of all of them."""


class SeenFile(NamedTuple):
    """What is known of a file whose rows were watched.

    Parameters
    ----------
    rows : int
        How many there were.
    digest : str
        Of these rows and their labels.
    size, modified : int
        Those of the file, in bytes and in nanoseconds: while they stay, it need not be read.
    """

    rows: int
    digest: str
    size: int
    modified: int


class Nightly:
    """A monitor that goes on from run to run.

    The level is that of all runs together, however many there will be. Alarms have it by their bets. The k-th chunk
    that is checked has the share 1 / (k (k + 1)) of it, and all shares together add up to 1: while nothing changes, the
    probability that any chunk ever gets another verdict than "same" is at most the level.

    Parameters
    ----------
    calibrator : Calibrator
        A fitted one.
    level, tolerance : float
        As in `Monitor`.

    Attributes
    ----------
    monitor : Monitor
        What watches.
    chunks : tuple of Chunk
        The latest, at most `MOST_CHUNKS`.
    alarms : tuple of (str, Alarm)
        All alarms, each with the name of its chunk. They stand until a new state is begun.
    seen : dict of SeenFile
        The files whose rows were watched, by their paths.
    calibrator_path : str
        The file of the calibrator, if it is known: where a later run finds it.
    n_chunks, n_checked : int
        How many chunks there were in all, and how many had enough rows for a check.

    Examples
    --------
    >>> import numpy as np
    >>> import auxcal
    >>> from auxcal.monitoring import Nightly, Timed
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(3, size=700)
    >>> logits = (rng.normal(size=(700, 3)) + 3 * np.eye(3)[y]).astype(np.float32)
    >>> nightly = Nightly(auxcal.PlattScaling().fit(logits[:500], y[:500]))
    >>> tonight = Timed(logits[500:], None, None, None, np.full(200, "monday", dtype=object), None)
    >>> [chunk.verdict for chunk in nightly.watch([tonight])], nightly.n_checked
    (['same'], 1)
    """

    _CHANGING: ClassVar[dict[str, Any]] = {
        "chunks": tuple[Chunk, ...],
        "alarms": tuple[tuple[str, Alarm], ...],
        "seen": dict[str, SeenFile],
        "calibrator_path": str,
        "n_chunks": int,
        "n_checked": int,
        "_rng": np.random.Generator,
    }

    def __init__(self, calibrator: Calibrator, level: float = 0.05, *, tolerance: float = 0.0) -> None:
        self.monitor = Monitor(calibrator, level, tolerance=tolerance, keep=0)
        self.chunks: tuple[Chunk, ...] = ()
        self.alarms: tuple[tuple[str, Alarm], ...] = ()
        self.seen: dict[str, SeenFile] = {}
        self.calibrator_path = ""
        self.n_chunks = self.n_checked = 0
        self._rng = np.random.default_rng(0)
        self._read_as: str | None = None  # the digest of the file that this was read from

    @ignore_float_errors
    def watch(self, batches: Iterable[Timed], report: Report = silent) -> tuple[Chunk, ...]:
        """Watch new rows, and return their chunks; without a row there is none."""
        pending = PendingChunks(self.monitor, None, self._rng, self._levels())
        new = tuple(pending.watch(batches, report))
        self.n_chunks += len(new)
        self.chunks = (*self.chunks, *new)[-MOST_CHUNKS:]
        self.alarms += tuple((chunk.name, alarm) for chunk in new for alarm in chunk.alarms)
        return new

    @property
    def timeline(self) -> Timeline:
        """The latest chunks, as a timeline."""
        return timeline_of(self.monitor, self.chunks)

    def _levels(self) -> Iterator[float]:
        while True:
            self.n_checked += 1
            yield self.monitor.level / (self.n_checked * (self.n_checked + 1))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state, whole or not at all; no part of it can run code.

        What another run has written since this one was loaded is not replaced: that is an error.
        """
        path = as_path(path)
        if path.exists() and self._read_as != _read(path)["digest"]:
            raise InvalidInputError(
                f"{path}: another run has written this state meanwhile, so nothing was saved. Start this one again."
            )
        save_monitor(path, self.monitor, nightly=state_of(self))
        self._read_as = _read(path)["digest"]

    @classmethod
    @ignore_float_errors
    def load(cls, path: str | os.PathLike[str], calibrator: Calibrator) -> Self:
        """Go on where a saved state was, with the same calibrator, as `Monitor.load` does."""
        saved = _read(path := as_path(path))
        with restoring(path):
            nightly = cls(calibrator, saved["monitor"]["level"], tolerance=saved["monitor"]["tolerance"])
            nightly.monitor._go_on(path, saved)
            restore(nightly, saved["nightly"])
        nightly._read_as = saved["digest"]
        return nightly


def calibrator_path_of(path: str | os.PathLike[str]) -> str:
    """Return the file of the calibrator that a saved state is of; empty if it is not known."""
    return str(_read(as_path(path))["nightly"].get("calibrator_path", ""))


def _read(path: Path) -> Header:
    return read_monitor(path, "nightly")
