"""New rows, held against those that the promise of a calibrator was found on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from auxcal._core.arrays import Floats, Ints
from auxcal.calibrators import Calibrator
from auxcal.monitoring import _known
from auxcal.splits import row_hashes


class _Rows(NamedTuple):
    draw: Floats  # a random number; the rows of the lowest stay
    confidence: Floats
    prediction: Ints
    hashes: NDArray[np.uint64]

    def take(self, rows: Ints) -> _Rows:
        return _Rows(self.draw[rows], self.confidence[rows], self.prediction[rows], self.hashes[rows])


class PromiseSample:
    """The confidence and the prediction of a random sample of rows that come in batches. Copies of a row count once.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal import Certificate, Uncalibrated
    >>> from auxcal.monitoring import PromiseSample
    >>> logits = np.random.default_rng(0).normal(size=(200, 3))
    >>> fitted = Uncalibrated().fit(logits, logits.argmax(axis=1))
    >>> sample = PromiseSample(fitted)
    >>> sample.add(logits)
    >>> sample.holds() is None  # there is no promise
    True
    """

    def __init__(self, calibrator: Calibrator) -> None:
        self.calibrator = calibrator
        self._rng, self._most = np.random.default_rng(0), 1.0
        self._rows: list[_Rows] = []

    def add(self, logits: Floats, features: Floats | None = None) -> None:
        """Take part of rows that are checked already."""
        draws = self._rng.random(len(logits))
        near = np.flatnonzero(draws < self._most)  # the others can't stay, and need not be scored
        if not self._asked or not len(near):
            return
        rows, further = logits[near], None if features is None else features[near]
        confidence = self.calibrator.score_validated(rows, further)
        self._rows.append(_Rows(draws[near], confidence, rows.argmax(axis=1), row_hashes(rows, further)))
        if sum(len(each.draw) for each in self._rows) > 2 * _known.MOST_ROWS:
            joined = self._sample
            self._rows, self._most = [joined], float(joined.draw.max())

    def holds(self) -> bool | None:
        """Whether the promise holds for the rows; None where it is not known which rows it was found on."""
        if not self._asked or self.calibrator.certificate_ is None:
            return None
        if not self._rows:
            return True
        sample, reference = self._sample, self.calibrator.reference_
        known = np.empty(0, np.uint64) if reference is None or reference.hashes is None else reference.hashes
        rows = sample.take(_known.counted_once(sample.hashes, known))
        return self.calibrator.certificate_.holds_for(rows.confidence, rows.prediction)

    @property
    def _asked(self) -> bool:
        certificate = self.calibrator.certificate_
        return certificate is not None and certificate.found_on is not None

    @property
    def _sample(self) -> _Rows:
        joined = _Rows(*(np.concatenate(parts) for parts in zip(*self._rows, strict=True)))
        return joined.take(np.argsort(joined.draw)[: _known.MOST_ROWS])
