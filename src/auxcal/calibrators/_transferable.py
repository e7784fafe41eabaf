"""Calibrators that can be transferred to another shift."""

from __future__ import annotations

from abc import abstractmethod
from typing import Self

from numpy.typing import ArrayLike
from sklearn.base import clone

from auxcal._arrays import as_logits
from auxcal._threads import one_thread
from auxcal.calibrators._base import Calibrator
from auxcal.calibrators._selection import SelectPart
from auxcal.predictions import Predictions

SELECT_SHARE = 0.4
"""The share of the rows that is set aside for a choice where no select part is given, near the paper's."""


class Transferable(Calibrator):
    """A calibrator that can be transferred to another shift with a few labels; a method supplies `_transfer`."""

    def transfer(
        self,
        logits: ArrayLike,
        y: ArrayLike,
        select: SelectPart | None = None,
        features: ArrayLike | None = None,
    ) -> Self:
        """Transfer the fitted calibrator to another shift with a few hundred labels.

        Parameters
        ----------
        logits : array of shape (n, K)
            The raw scores of the same target classifier on the new data; the paper takes 320 rows.
        y : array of shape (n,)
            The true class, or `NO_CLASS`.
        select : tuple of (logits, y) or (logits, y, features), optional
            The part on which hyper-parameters are chosen; the paper takes 200 rows. Where it is not given, two fifths
            of the rows are set aside for it, stratified.
        features : array of shape (n, d), optional
            The further inputs of each sample, where the calibrator was fitted with such.

        Returns
        -------
        Self
            A new calibrator; this one is unchanged.
        """
        self._check_fitted()
        new = clone(self)
        checked = as_logits(logits, n_classes=self.n_features_in_)
        further = self._as_features(features, len(checked))
        data, part = new._parts(checked, y, select, further, share=SELECT_SHARE)
        with one_thread():
            problem = new._transfer(self, data, part)
        return new._fitted(data, problem)

    @abstractmethod
    def _transfer(self, source: Self, data: Predictions, select: Predictions | None) -> str | None:
        """Learn from the fitted source and the new data; there is a select part where the method searches."""
