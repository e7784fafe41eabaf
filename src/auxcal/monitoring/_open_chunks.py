"""Chunks whose rows are still coming, in any order; each is watched as soon as it and those before it are whole."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping

import numpy as np

from auxcal._core.arrays import Bools, Ints
from auxcal._core.errors import InvalidInputError
from auxcal.monitoring._check import FEWEST_ROWS, Check
from auxcal.monitoring._chunk_rows import NO_LABEL, ChunkRows, Rows, kept_of
from auxcal.monitoring._estimates import Estimate
from auxcal.monitoring._known import seen_by
from auxcal.monitoring._monitor import BATCH, Monitor
from auxcal.monitoring._sample import RowSample
from auxcal.monitoring._timed import Names, Timed, in_order
from auxcal.monitoring._timeline import Chunk

_QUANTILE = 1.645  # of the normal distribution, for a 90 % interval


class OpenChunks:
    """The chunks of a table that are not yet watched.

    A chunk is checked when its last row has come, after which its sample is let go of. It is watched when those before
    it are, after which its rows are. So a table that is sorted needs the memory of one chunk.

    Parameters
    ----------
    monitor : Monitor
        What watches them.
    counts : mapping of str to int or None
        How many rows each chunk has. Where that is not known, all of them wait for the last row of the table.
    """

    def __init__(self, monitor: Monitor, counts: Mapping[str, int] | None) -> None:
        self._monitor = monitor
        self._rows: dict[str, ChunkRows] = {}
        self._samples: dict[str, RowSample] = {}
        self._checks: dict[str, Check | None] = {}
        self._rng = np.random.default_rng(0)
        self._left: dict[str, int] | None = None  # rows of each chunk that are still to come
        if counts is not None:
            self._expect(counts)

    def add(self, batch: Timed) -> list[Chunk]:
        """Take rows, and return the chunks that were watched for it."""
        rows_of = _by_chunk(batch.by)
        if self._left is not None:
            _strike_off(self._left, rows_of)
        kept = self._kept(batch)
        for name, rows in rows_of.items():
            if name not in self._rows:
                n_rows = None if self._left is None else self._left[name] + len(rows)  # which are struck off already
                self._rows[name], self._samples[name] = ChunkRows(n_rows), RowSample(self._monitor.calibrator)
            self._rows[name].add(kept[rows])
        self._sample(batch, rows_of)
        return [] if self._left is None else self._watched([name for name in rows_of if not self._left[name]])

    def finish(self) -> list[Chunk]:
        """Return the chunks that were not yet watched, after the last row."""
        if self._left is None:
            self._expect({name: len(rows) for name, rows in self._rows.items()})
            return self._watched(list(self._rows))
        if short := [name for name, left in self._left.items() if left]:
            raise _changed(short[0], "fewer")
        return []

    def _expect(self, counts: Mapping[str, int]) -> None:
        self._left, self._waiting = dict(counts), deque(in_order(counts))
        self._level = self._monitor.level / max(sum(count >= FEWEST_ROWS for count in counts.values()), 1)

    def _kept(self, batch: Timed) -> Rows:
        calibrator, logits = self._monitor.calibrator, batch.logits
        labelled = np.zeros(len(logits), dtype=bool) if batch.labelled is None else batch.labelled
        correct = labelled if batch.y is None else logits.argmax(axis=1) == batch.y
        confidence = calibrator.score_validated(logits, batch.features)
        return kept_of(self._monitor._rows.find(logits), confidence, correct, labelled)

    def _sample(self, batch: Timed, rows_of: Mapping[str, Ints]) -> None:
        """Let the rows draw for the samples of their chunks; those that may stay are looked at together."""
        drawn = {name: self._samples[name].draw(len(rows)) for name, rows in rows_of.items()}
        near = np.concatenate([rows_of[name][places] for name, (places, _) in drawn.items()])
        if not len(near):
            return
        further = None if batch.features is None else batch.features[near]
        seen = seen_by(self._monitor.calibrator, batch.logits[near], further)
        ends = np.cumsum([len(draws) for _, draws in drawn.values()])
        for end, (name, (_, draws)) in zip(ends, drawn.items(), strict=True):
            if len(draws):
                self._samples[name].hold(seen.take(np.arange(end - len(draws), end)), draws)

    def _watched(self, whole: list[str]) -> list[Chunk]:
        """Check chunks that are whole, and return those that could be watched then."""
        for name in whole:
            sample = self._samples.pop(name)
            self._checks[name] = sample.check(level=self._level) if sample.n_rows >= FEWEST_ROWS else None
        chunks = []
        while self._waiting and self._waiting[0] in self._checks:
            name = self._waiting.popleft()
            chunks.append(self._watch(name, self._rows.pop(name).rows, self._checks.pop(name)))
        return chunks

    def _watch(self, name: str, rows: Rows, check: Check | None) -> Chunk:
        monitor, n_before = self._monitor, len(self._monitor.alarms)
        order = self._rng.permutation(len(rows))  # rows that are sorted by class would look like a change
        for start in range(0, len(rows), BATCH):
            monitor._bet_on(rows["cells"][order[start : start + BATCH]])
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


def _strike_off(left: dict[str, int], rows_of: Mapping[str, Ints]) -> None:
    """Note that rows have come."""
    for name, rows in rows_of.items():
        if left.get(name, 0) < len(rows):
            raise _changed(name, "more")
        left[name] -= len(rows)


def _measured(correct: Bools) -> Estimate:
    """Return the share of right predictions, and Wilson's interval."""
    n, share = len(correct), float(correct.mean())
    spread = _QUANTILE**2 / n
    middle = (share + spread / 2) / (1 + spread)
    reach = math.sqrt(share * (1 - share) * spread + spread**2 / 4) / (1 + spread)
    return Estimate(share, middle - reach, middle + reach)


def _changed(name: str, how: str) -> InvalidInputError:
    return InvalidInputError(
        f"the table must stay as it is while it is read, which takes two passes; in the second, {name!r} has {how} "
        f"rows. Start again when nothing writes to it."
    )
