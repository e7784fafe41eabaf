"""Calibrators that give a distribution over the classes beside the confidence."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import ArrayLike

from auxcal._core.arrays import Floats
from auxcal._core.chunks import in_chunks
from auxcal.calibrators._base import Calibrator


class ProbaCalibrator(Calibrator):
    """One that also gives a distribution; a method supplies `_proba` as well."""

    def predict_proba(self, logits: ArrayLike, features: ArrayLike | None = None) -> Floats:
        """Return the calibrated distribution, one row for each sample.

        Parameters
        ----------
        logits : array of shape (n, K)
            The raw scores of the same target classifier, or its probabilities if it was fitted on those.
        features : array of shape (n, d), optional
            The features of each sample, if the calibrator was fitted with features.

        Returns
        -------
        array of shape (n, K), or (n, K + 1) where the method has an auxiliary class, which is last
        """
        now = self._now()
        return now._proba_in(*now._rows(logits, features))

    def _proba_in(self, logits: Floats, features: Floats | None) -> Floats:
        """Return the distribution for logits that are already checked, whatever the calibrator was fitted on."""
        score = self._with_features(self._proba)
        return in_chunks(score if self.adaptation_ is None else self.adaptation_.proba_of(score), logits, features)

    @abstractmethod
    def _proba(self, logits: Floats) -> Floats: ...


class DistributionCalibrator(ProbaCalibrator):
    """One that calibrates the distribution over the K classes; its confidence is the value at the prediction."""

    def _confidence(self, logits: Floats, features: Floats | None = None) -> Floats:
        return at_prediction(self._with_features(self._proba)(logits, features), logits)


def at_prediction(values: Floats, logits: Floats) -> Floats:
    """Return the value in the column of each row's prediction."""
    return np.take_along_axis(values, logits.argmax(axis=1)[:, None], axis=1)[:, 0]
