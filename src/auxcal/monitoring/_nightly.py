"""Nightly: a monitor that goes on from run to run, with the files that it has seen; all of it is one file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import Any, NamedTuple, Self

import numpy as np

from auxcal._core.errors import InvalidInputError
from auxcal._core.files import as_path
from auxcal._core.float_errors import ignore_float_errors
from auxcal._core.progress import Report, silent
from auxcal._core.state import Tensors, check_count, from_json, read_state, to_json, write_state
from auxcal.calibrators import Calibrator
from auxcal.metrics.intervals import Estimate
from auxcal.monitoring._check import Check, Difference
from auxcal.monitoring._monitor import Monitor
from auxcal.monitoring._state import Alarm, Evidence, restoring
from auxcal.monitoring._timeline import Chunk, PendingChunks, Timeline, timeline_of
from auxcal.monitoring._verdict import as_calibrator
from auxcal.monitoring.timed import Timed

FORMAT = 1
"""Of the files that `save` writes."""

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
        for batch in batches:
            pending.add(batch)
            if batch.done is not None:
                report(batch.done)
        new = tuple(pending.finish())
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
        if path.exists() and self._read_as != _read(path)[0]["digest"]:
            raise InvalidInputError(
                f"{path}: another run has written this state meanwhile, so nothing was saved. Start this one again."
            )
        tensors: Tensors = {}
        parts = {"params": self.monitor._params(), "monitor": self.monitor._copied_state(), "nightly": self._state()}
        header = {name: to_json(part, name, tensors) for name, part in parts.items()}
        write_state(path, header | {"format": FORMAT, "calibrator": self.monitor._fingerprint()}, tensors)
        self._read_as = _read(path)[0]["digest"]

    @classmethod
    @ignore_float_errors
    def load(cls, path: str | os.PathLike[str], calibrator: Calibrator) -> Self:
        """Go on where a saved state was, with the same calibrator."""
        path = as_path(path)
        header, tensors = _read(path)
        with restoring(path, "Begin a new one: name another file."):
            params = from_json(header["params"], tensors)
            found = cls(as_calibrator(calibrator), params["level"], tolerance=params["tolerance"])
            if found.monitor._fingerprint() != header["calibrator"]:
                raise InvalidInputError(
                    f"{path}: the state of another calibrator. Go on with that one, or begin a new state: name another "
                    f"file."
                )
            found.monitor._restore(from_json(header["monitor"], tensors))
            found._restore(from_json(header["nightly"], tensors))
        found._read_as = header["digest"]
        return found

    def _state(self) -> dict[str, Any]:
        return {
            "chunks": [_plain(chunk) for chunk in self.chunks],
            "alarms": [[name, *_plain(alarm)] for name, alarm in self.alarms],
            "seen": {name: list(file) for name, file in self.seen.items()},
            "calibrator": self.calibrator_path,
            "counts": [self.n_chunks, self.n_checked],
            "rng": self._rng.bit_generator.state,
        }

    def _restore(self, state: dict[str, Any]) -> None:
        self.chunks = tuple(map(_as_chunk, state["chunks"]))
        self.alarms = tuple((str(name), Alarm(*facts)) for name, *facts in state["alarms"])
        self.seen = {name: SeenFile(*file) for name, file in state["seen"].items()}
        self.calibrator_path = str(state["calibrator"])
        self.n_chunks, self.n_checked = state["counts"]
        for count in (self.n_chunks, self.n_checked, *(file.rows for file in self.seen.values())):
            check_count(count, "counts")
        self._rng.bit_generator.state = state["rng"]


def calibrator_path_of(path: str | os.PathLike[str]) -> str:
    """Return the file of the calibrator that a saved state is of; empty if it is not known."""
    return str(_read(as_path(path))[0]["nightly"].get("calibrator", ""))


def _read(path: Any) -> tuple[dict[str, Any], Tensors]:
    kinds: dict[str, type] = {"params": dict, "monitor": dict, "nightly": dict, "calibrator": str}
    return read_state(path, "state", kinds, FORMAT)


def _plain(value: Any) -> Any:
    """Return a chunk, and all that it holds, as lists."""
    if isinstance(value, Chunk | Check | Alarm):
        return [_plain(getattr(value, field.name)) for field in fields(value)]
    return [_plain(each) for each in value] if isinstance(value, tuple) else value


_ESTIMATES = ("accuracy", "no_class", "harm", "if_shares_moved", "if_inputs_moved")


def _as_chunk(facts: Any) -> Chunk:
    """Return what `_plain` was given."""
    name, n_rows, n_labels, confidence, check, measured, evidence, alarms = facts
    return Chunk(
        name,
        n_rows,
        n_labels,
        confidence,
        None if check is None else _as_check(check),
        None if measured is None else Estimate(*measured),
        Evidence(*evidence),
        tuple(Alarm(*alarm) for alarm in alarms),
    )


def _as_check(facts: Any) -> Check:
    named = dict(zip((field.name for field in fields(Check)), facts, strict=True))
    estimates = {name: None if named[name] is None else Estimate(*named[name]) for name in _ESTIMATES}
    return Check(**named | estimates | {"differences": tuple(Difference(*each) for each in named["differences"])})
