"""New rows, held against those that the promise of a calibrator was found on."""

from __future__ import annotations

import numpy as np

from auxcal._arrays import Floats
from auxcal.calibrators._base import Calibrator
from auxcal.monitoring import _known


class PromiseSample:
    """The confidence and the prediction of a random sample of rows that come in batches.

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
        self._rows: list[Floats] = []

    def add(self, logits: Floats, features: Floats | None = None) -> None:
        """Take part of rows that are checked already."""
        draws = self._rng.random(len(logits))
        near = np.flatnonzero(draws < self._most)  # the others can't stay, and need not be scored
        if not self._asked or not len(near):
            return
        rows, further = logits[near], None if features is None else features[near]
        confidence = self.calibrator._confidence_in(rows, further)
        self._rows.append(np.stack([draws[near], confidence, rows.argmax(axis=1)]))
        if sum(each.shape[1] for each in self._rows) > 2 * _known.MOST_ROWS:
            joined = self._sample
            self._rows, self._most = [joined], float(joined[0].max())

    def holds(self) -> bool | None:
        """Whether the promise holds for the rows; None where it is not known which rows it was found on."""
        if not self._asked or self.calibrator.certificate_ is None:
            return None
        if not self._rows:
            return True
        _, confidence, prediction = self._sample
        return self.calibrator.certificate_.holds_for(confidence, prediction.astype(np.intp))

    @property
    def _asked(self) -> bool:
        certificate = self.calibrator.certificate_
        return certificate is not None and certificate.found_on is not None

    @property
    def _sample(self) -> Floats:
        joined = np.concatenate(self._rows, axis=1)
        return joined[:, np.argsort(joined[0])[: _known.MOST_ROWS]]
