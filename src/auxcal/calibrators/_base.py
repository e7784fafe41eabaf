"""What every calibrator is: an estimator that turns logits into a confidence."""

from __future__ import annotations

import os
import warnings
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from auxcal._arrays import Floats, as_logits
from auxcal._errors import ConvergenceWarning, InvalidInputError, NotFittedError
from auxcal.calibrators._notebook import to_html
from auxcal.calibrators._threads import one_thread
from auxcal.predictions import Predictions

SELECT_SHARE = 0.2
"""The share of the rows that is set aside for choosing hyper-parameters where no select part is given."""

_CHUNK_BYTES = 2**23  # rows are scored in chunks of logits of this size, so that memory does not grow with n


class Calibrator(ABC, BaseEstimator):
    """Turns a target classifier's logits into a confidence in its prediction.

    A method supplies `_fit`, which sets the fitted attributes (NumPy arrays, numbers, strings, and tuples or dicts of
    them) and returns what is wrong with the fit, if anything; and `_confidence`, which reads nothing else.

    Attributes
    ----------
    converged_ : bool
        Whether the fit reached its optimum; where it did not, a `ConvergenceWarning` said why.
    n_features_in_ : int
        K, the number of the target classifier's classes.
    """

    abbreviation: ClassVar[str]
    """What tables and the paper call the method."""
    reference: ClassVar[str]
    """Where the method comes from."""

    def fit(self, logits: ArrayLike, y: ArrayLike, select: tuple[ArrayLike, ArrayLike] | None = None) -> Self:
        """Learn from labelled samples of the data that the classifier really meets.

        Parameters
        ----------
        logits : array of shape (n, K)
            The raw scores of the target classifier. Log-probabilities are fine, probabilities are not.
        y : array of shape (n,)
            The true class, 0..K-1, or `NO_CLASS` = -1 where none of the classes is right.
        select : tuple of (logits, y), optional
            The part on which hyper-parameters are chosen. Where it is not given, a fifth of the rows is set aside
            for it, stratified. A method that has nothing to choose fits on all of `logits` and leaves it unread.

        Returns
        -------
        self
        """
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        data, part = self._parts(logits, y, select, share=SELECT_SHARE)
        # The problems are small: on a busy machine threads that wait for each other cost many times what they bring.
        with one_thread():
            problem = self._fit(data, part)
        self.converged_ = problem is None
        if problem is not None:
            warnings.warn(f"{type(self).__name__}: {problem}", ConvergenceWarning, stacklevel=2)
        self.n_features_in_ = data.n_classes
        return self

    def predict_confidence(self, logits: ArrayLike) -> Floats:
        """Return the probability that the prediction of each row, argmax of its logits, is correct.

        Parameters
        ----------
        logits : array of shape (n, K)
            The raw scores of the same target classifier.

        Returns
        -------
        array of shape (n,)
        """
        return self._in_chunks(self._confidence, logits)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted calibrator to one file that `auxcal.load` reads; see `auxcal.persistence`."""
        from auxcal.persistence import save

        save(self, path)

    @abstractmethod
    def _fit(self, data: Predictions, select: Predictions | None) -> str | None: ...

    @abstractmethod
    def _confidence(self, logits: Floats) -> Floats: ...

    def _searches(self, n_classes: int) -> bool:
        """Whether the method has hyper-parameters to choose, and so needs a select part."""
        return False

    def _parts(
        self,
        logits: ArrayLike,
        y: ArrayLike,
        select: tuple[ArrayLike, ArrayLike] | None,
        *,
        share: float,
        n_classes: int | None = None,
    ) -> tuple[Predictions, Predictions | None]:
        """Check the data and return the fit part, and the select part if the method has use for one."""
        data = Predictions(as_logits(logits, n_classes=n_classes), y)
        part = None if select is None else _as_select(select, data.n_classes)
        if not self._searches(data.n_classes):
            return data, None
        if part is not None:
            return data, part
        if len(data) < 2:
            raise InvalidInputError(
                f"{type(self).__name__} chooses its hyper-parameters on rows that are set aside, and so needs at least "
                f"2 rows; got {len(data)} (n_samples=1). Give more rows, or fix the hyper-parameters."
            )
        return data.split_stratified(max(share, 1 / len(data)), getattr(self, "random_state", None))

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. "
                f"Call fit(logits, y) first, or auxcal.load(path)."
            )

    def _in_chunks(self, score: Any, logits: ArrayLike) -> Floats:
        self._check_fitted()
        array = as_logits(logits, n_classes=self.n_features_in_)
        rows = max(1, _CHUNK_BYTES // (array.itemsize * array.shape[1]))
        chunks = [score(array[start : start + rows]) for start in range(0, len(array), rows)]
        return np.clip(chunks[0] if len(chunks) == 1 else np.concatenate(chunks), 0, 1)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_features_in_")

    def _repr_html_(self) -> str:
        return to_html(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        # scikit-learn's shows the constructor's arguments alone, and a notebook prefers it to _repr_html_.
        return {"text/plain": repr(self), "text/html": to_html(self)}


class ProbaCalibrator(Calibrator):
    """One that also gives a distribution; a method supplies `_proba` as well."""

    def predict_proba(self, logits: ArrayLike) -> Floats:
        """Return the calibrated distribution, one row for each sample.

        Parameters
        ----------
        logits : array of shape (n, K)
            The raw scores of the same target classifier.

        Returns
        -------
        array of shape (n, K), or (n, K + 1) where the method has an auxiliary class, which is last
        """
        return self._in_chunks(self._proba, logits)

    @abstractmethod
    def _proba(self, logits: Floats) -> Floats: ...


class DistributionCalibrator(ProbaCalibrator):
    """One that calibrates the distribution over the K classes; its confidence is the value at the prediction."""

    def _confidence(self, logits: Floats) -> Floats:
        return at_prediction(self._proba(logits), logits)


def at_prediction(values: Floats, logits: Floats) -> Floats:
    """Return the value in the column of each row's prediction."""
    return np.take_along_axis(values, logits.argmax(axis=1)[:, None], axis=1)[:, 0]


def _as_select(select: tuple[ArrayLike, ArrayLike], n_classes: int) -> Predictions:
    if not isinstance(select, tuple | list) or len(select) != 2:
        raise InvalidInputError(
            f"select must be a pair (logits, y); got {type(select).__name__}. Give select=(select_logits, select_y)."
        )
    try:
        part = Predictions(*select)
    except InvalidInputError as error:
        raise InvalidInputError(f"select: {error}") from None
    if part.n_classes != n_classes:
        raise InvalidInputError(
            f"select: the logits of the select part must have {n_classes} columns as those of the fit part; got "
            f"{part.n_classes}. Use the same target classifier for both."
        )
    return part
