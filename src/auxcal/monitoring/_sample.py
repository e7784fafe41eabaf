"""A random sample of rows that come in batches, so that memory does not grow with their number."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from auxcal._core.arrays import Floats, Ints
from auxcal.calibrators import Calibrator
from auxcal.monitoring import _known
from auxcal.monitoring._check import Check, as_level, check_seen
from auxcal.monitoring._known import Seen, seen_by


class RowSample:
    """As many rows as a check looks at, each of all rows with the same probability.

    Every row draws a number, and the rows of the smallest stay.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal import PlattScaling
    >>> from auxcal.monitoring import RowSample
    >>> logits = 2 * np.eye(2, dtype=np.float32).repeat(50, axis=0)
    >>> sample = RowSample(PlattScaling().fit(logits, [0, 1] * 50))
    >>> sample.add(logits)
    >>> sample.add(logits)
    >>> sample.n_rows, sample.check(level=0.05).verdict
    (200, 'same')
    """

    def __init__(self, calibrator: Calibrator) -> None:
        self.calibrator = calibrator
        self.n_rows = 0
        self._rng = np.random.default_rng(0)
        self._draws: Floats = np.empty(0)
        self._seen: list[Seen] = []

    def add(self, logits: Floats, features: Floats | None = None) -> None:
        """Take part of rows that are checked already."""
        rows, draws = self.draw(len(logits))
        if len(rows):
            self.hold(seen_by(self.calibrator, logits[rows], None if features is None else features[rows]), draws)

    def draw(self, n_rows: int) -> tuple[Ints, Floats]:
        """Let new rows draw, and return which of them may stay and what these drew; the others need not be seen."""
        self.n_rows += n_rows
        draws = self._rng.random(n_rows)
        if len(self._draws) < _known.MOST_ROWS:
            return np.arange(n_rows), draws
        near = np.flatnonzero(draws < self._draws.max())
        return near, draws[near]

    def hold(self, seen: Seen, draws: Floats) -> None:
        """Keep those of the rows that stay, given what they drew."""
        self._seen.append(seen)
        self._draws = np.append(self._draws, draws)
        if len(self._draws) > _known.MOST_ROWS:
            kept = np.sort(np.argpartition(self._draws, _known.MOST_ROWS)[: _known.MOST_ROWS])
            self._seen, self._draws = [self.seen.take(kept)], self._draws[kept]

    @property
    def seen(self) -> Seen:
        """The rows that stayed, as the calibrator sees them."""
        return Seen(*(np.concatenate(parts) for parts in zip(*self._seen, strict=True)))

    def check(self, *, level: float) -> Check:
        """Return what `auxcal.check` says of them."""
        return check_seen(self.calibrator, self.seen, as_level(level))


def sampled(calibrator: Calibrator, batches: Iterable[tuple[Floats, Floats | None]]) -> RowSample:
    """Return a sample of the rows of all batches of logits and features."""
    sample = RowSample(calibrator)
    for logits, features in batches:
        sample.add(logits, features)
    return sample
