"""Calibrators that can be transferred to another shift."""

from __future__ import annotations

from abc import abstractmethod
from typing import Self

from numpy.typing import ArrayLike

from auxcal._core.arrays import as_logits
from auxcal._core.float_errors import ignore_float_errors
from auxcal._core.threads import one_thread
from auxcal.calibrators.base import Calibrator
from auxcal.calibrators.fitting import SelectPart, as_select, rows_to_fit
from auxcal.predictions import Predictions

SELECT_SHARE = 0.4
"""The share of the rows that is set aside for a choice where no select part is given; the paper takes 200 of 520."""


class Transferable(Calibrator):
    """A calibrator that can be transferred to another shift with a few labels; a method supplies `_transfer`."""

    def transfer(
        self,
        logits: ArrayLike,
        y: ArrayLike,
        select: SelectPart | None = None,
        features: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Transfer the fitted calibrator to another shift with a few hundred labels.

        Parameters
        ----------
        logits : array of shape (n, K)
            The raw scores of the same target classifier on the new data; the paper takes 320 rows.
        y : array of shape (n,)
            The true class, 0..K-1 or its name, or `NO_CLASS` = -1.
        select : tuple of (logits, y) or (logits, y, features), optional
            The part on which hyper-parameters are chosen; the paper takes 200 rows. By default two fifths of the rows,
            stratified.
        features : array of shape (n, d), optional
            The features of each sample, if the calibrator was fitted with features.
        sample_weight, groups : arrays of shape (n,), optional
            How often each row counts, and what it belongs to, as in `fit`.

        Returns
        -------
        Self
            A new calibrator; this one is unchanged.
        """
        now = self._now()
        checked, further = now.validate_rows(logits, features)
        data = now._labelled(checked, y, further, sample_weight=sample_weight, groups=groups)
        return now._transfer_on(data, select)

    @ignore_float_errors
    def _transfer_on(self, data: Predictions, select: SelectPart | None) -> Self:
        """Return a new calibrator, transferred to rows that are already checked."""
        from sklearn.base import clone

        as_logits(data.logits, n_classes=self.n_features_in_)
        new, data = clone(self), rows_to_fit(self, data.in_order_of(self.inputs_, "the new rows"))
        given = None if select is None else as_select(select, data)
        fit, part = new._parts(data, given, share=SELECT_SHARE)
        with one_thread():
            problem = new._transfer(self, fit, part)
        new._fitted(data, given, problem, stacklevel=4)
        if new.fit_rows_ is not None:
            new.fit_rows_ = new.fit_rows_.joined(self.fit_rows_)
        return new

    @abstractmethod
    def _transfer(self, source: Self, data: Predictions, select: Predictions | None) -> str | None:
        """Learn from the fitted source and the new data; there is a select part where the method searches."""
