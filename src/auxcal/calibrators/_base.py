"""What every calibrator is: an estimator that turns logits into a confidence."""

from __future__ import annotations

import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from auxcal._arrays import Floats, as_features, as_logits
from auxcal._errors import ConvergenceWarning, InvalidInputError, NotFittedError
from auxcal._threads import one_thread
from auxcal.calibrators._calibrator_card import to_html
from auxcal.calibrators._selection import SelectPart, as_select
from auxcal.predictions import Predictions
from auxcal.programs import Operations, Rows, Value

SELECT_SHARE = 0.2
"""The share of the rows that is set aside for choosing hyper-parameters where no select part is given."""

CHUNK_BYTES = 2**18
"""How much of logits and features is scored at a time: it stays in the cache, and memory does not grow with n."""

_LEAST_ROWS = 256  # of a chunk: fewer do not pay for the calls

# glibc returns freed memory to the system, which hands it out again page by page, where more is free than twice the
# largest block that it has ever taken back. To free one that no chunk comes near makes scoring up to twice as fast.
_block = np.empty(2**23, dtype=np.uint8)
del _block

OfLogits: TypeAlias = Callable[[Floats], Floats]
OfFeatures: TypeAlias = Callable[[Floats, Floats | None], Floats]


class Calibrator(ABC, BaseEstimator):
    """Turns a target classifier's logits into a confidence in its prediction.

    A method supplies `_fit`, which sets the fitted attributes (NumPy arrays, numbers, strings, and tuples or dicts of
    them) and returns what is wrong with the fit, if anything; and `_confidence`, which reads nothing else. One that has
    hyper-parameters to choose says so in `_searches`; then `_search` is called in place of `_fit`, with the select part
    too. One that `uses_features` finds them in the data of `_fit`, and `_confidence` (and `_proba`) is given those of
    the rows after their logits: `_confidence(logits, features=None)`, where None stands for a fit without any.

    Attributes
    ----------
    converged_ : bool
        Whether the fit reached its optimum; where it did not, a `ConvergenceWarning` said why.
    n_features_in_ : int
        K, the number of the target classifier's classes.
    n_further_features_ : int
        d, the number of features of each sample; 0 where it was fitted without.
    """

    abbreviation: ClassVar[str]
    """What tables and the paper call the method."""
    reference: ClassVar[str]
    """Where the method comes from."""
    uses_features: ClassVar[bool] = False
    """Whether the method can learn from further inputs of each sample."""
    fit_extra: ClassVar[str | None] = None
    """The extra of the package that fitting needs, if any; scoring needs none."""
    former_designs: ClassVar[Mapping[str, str]] = {}
    """Fitted attributes that only an earlier design of the method had, and what to call it: its files are refused."""

    n_further_features_: int = 0  # what holds for a file from before there were any

    def fit(
        self,
        logits: ArrayLike,
        y: ArrayLike,
        select: SelectPart | None = None,
        features: ArrayLike | None = None,
    ) -> Self:
        """Learn from labelled samples of the data that the classifier really meets.

        Parameters
        ----------
        logits : array of shape (n, K)
            The raw scores of the target classifier. Log-probabilities are fine, probabilities are not.
        y : array of shape (n,)
            The true class, 0..K-1, or `NO_CLASS` = -1 where none of the classes is right.
        select : tuple of (logits, y) or (logits, y, features), optional
            The part on which hyper-parameters are chosen. Where it is not given, a fifth of the rows is set aside
            for it, stratified. A method that has nothing to choose fits on all of `logits` and leaves it unread.
        features : array of shape (n, d), optional
            Further inputs of each sample, for a method that `uses_features`; then the select part and all that is
            scored later must have them too.

        Returns
        -------
        self
        """
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        data, part = self._parts(logits, y, select, features, share=SELECT_SHARE)
        # The problems are small: on a busy machine threads that wait for each other cost many times what they bring.
        with one_thread():
            problem = self._fit(data) if part is None else self._search(data, part)
        return self._fitted(data, problem)

    def predict_confidence(self, logits: ArrayLike, features: ArrayLike | None = None) -> Floats:
        """Return the probability that the prediction of each row, argmax of its logits, is correct.

        Parameters
        ----------
        logits : array of shape (n, K)
            The raw scores of the same target classifier.
        features : array of shape (n, d), optional
            The further inputs of each sample, where the calibrator was fitted with such.

        Returns
        -------
        array of shape (n,)
        """
        return self._in_chunks(self._with_features(self._confidence), logits, features)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted calibrator to one file that `auxcal.load` reads; see `auxcal.persistence`."""
        from auxcal.persistence import save

        save(self, path)

    @abstractmethod
    def _fit(self, data: Predictions) -> str | None: ...

    @abstractmethod
    def _confidence(self, logits: Floats) -> Floats: ...

    def _program(self, ops: Operations, rows: Rows) -> Value:
        """Tell what `_confidence` does once more, for torch and ONNX, and return a confidence of shape (n, 1)."""
        raise no_program(self, "_program(ops, rows)")

    def _searches(self, n_classes: int) -> bool:
        """Whether the method has hyper-parameters to choose, and so needs a select part."""
        return False

    def _search(self, data: Predictions, select: Predictions) -> str | None:
        """Do what `_fit` does, and choose the hyper-parameters on the select part."""
        raise NotImplementedError(f"{type(self).__name__} says that it searches, and has no _search(data, select).")

    def _parts(
        self,
        logits: ArrayLike,
        y: ArrayLike,
        select: SelectPart | None,
        features: ArrayLike | None = None,
        *,
        share: float,
    ) -> tuple[Predictions, Predictions | None]:
        """Check the data and return the fit part, and the select part if the method has use for one."""
        if features is not None:
            self._check_uses_features()
        data = Predictions(logits, y, features)
        part = None if select is None else as_select(select, data)
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

    def _fitted(self, data: Predictions, problem: str | None) -> Self:
        """Say what is wrong with the fit, if anything, and call it done."""
        self.converged_ = problem is None
        if problem is not None:
            warnings.warn(f"{type(self).__name__}: {problem}", ConvergenceWarning, stacklevel=3)
        self.n_features_in_, self.n_further_features_ = data.n_classes, data.n_features
        return self

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. "
                f"Call fit(logits, y) first, or auxcal.load(path)."
            )

    def _check_uses_features(self) -> None:
        if not self.uses_features:
            from auxcal.calibrators import CALIBRATORS

            others = [f"{kind.__name__} ({name})" for name, kind in CALIBRATORS.items() if kind.uses_features]
            raise InvalidInputError(
                f"{type(self).__name__} reads logits alone; got features too. Leave features out, or use a method that "
                f"uses them: {', '.join(others)}."
            )

    def _as_features(self, features: ArrayLike | None, n_rows: int) -> Floats | None:
        """Check the features of rows to score: as many as in the fit, none where it had none."""
        d = self.n_further_features_
        if features is None and d == 0:
            return None
        self._check_uses_features()
        if features is None:
            raise InvalidInputError(
                f"features must have the {d} columns that this {type(self).__name__} was fitted with; got none. Give "
                f"the same features of these samples, or fit a calibrator without."
            )
        if d == 0:
            raise InvalidInputError(
                f"this {type(self).__name__} was fitted without features; got features of shape {np.shape(features)}. "
                f"Leave features out, or fit a calibrator with them."
            )
        return as_features(features, n_rows=n_rows, n_columns=d)

    def _with_features(self, score: OfLogits) -> OfFeatures:
        """Return `_confidence` or `_proba` as a function of logits and features, whichever of them it reads."""
        if self.uses_features:
            return cast(OfFeatures, score)
        return lambda logits, features: score(logits)

    def _in_chunks(self, score: OfFeatures, logits: ArrayLike, features: ArrayLike | None) -> Floats:
        self._check_fitted()
        array = as_logits(logits, n_classes=self.n_features_in_)
        further = self._as_features(features, len(array))
        inputs = (array,) if further is None else (array, further)
        size = max(_LEAST_ROWS, CHUNK_BYTES // sum(each.itemsize * each.shape[1] for each in inputs))
        parts = (slice(start, start + size) for start in range(0, len(array), size))
        chunks = [score(array[rows], None if further is None else further[rows]) for rows in parts]
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

    def predict_proba(self, logits: ArrayLike, features: ArrayLike | None = None) -> Floats:
        """Return the calibrated distribution, one row for each sample.

        Parameters
        ----------
        logits : array of shape (n, K)
            The raw scores of the same target classifier.
        features : array of shape (n, d), optional
            The further inputs of each sample, where the calibrator was fitted with such.

        Returns
        -------
        array of shape (n, K), or (n, K + 1) where the method has an auxiliary class, which is last
        """
        return self._in_chunks(self._with_features(self._proba), logits, features)

    @abstractmethod
    def _proba(self, logits: Floats) -> Floats: ...


class DistributionCalibrator(ProbaCalibrator):
    """One that calibrates the distribution over the K classes; its confidence is the value at the prediction."""

    def _confidence(self, logits: Floats, features: Floats | None = None) -> Floats:
        return at_prediction(self._with_features(self._proba)(logits, features), logits)


def at_prediction(values: Floats, logits: Floats) -> Floats:
    """Return the value in the column of each row's prediction."""
    return np.take_along_axis(values, logits.argmax(axis=1)[:, None], axis=1)[:, 0]


def no_program(calibrator: Calibrator, method: str) -> InvalidInputError:
    """Return the error of a calibrator that does not tell torch and ONNX how it scores."""
    return InvalidInputError(
        f"{type(calibrator).__name__} must have a method {method} to become a torch module or an ONNX graph; it has "
        f"none. Write one as auxcal.programs explains, or score with predict_confidence."
    )


def features_for(calibrator: Calibrator, data: Predictions) -> Floats | None:
    """Return the features of the data if the calibrator uses such."""
    return data.features if calibrator.uses_features else None
