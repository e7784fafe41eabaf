"""What every calibrator is: an estimator that turns logits into a confidence."""

from __future__ import annotations

import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Self, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from auxcal._arrays import Floats, as_features
from auxcal._errors import InvalidInputError
from auxcal._inputs import FittedOn, Inputs, by_name, warn_of_probabilities
from auxcal._threads import one_thread
from auxcal.calibrators._calibrator_card import to_html
from auxcal.calibrators._estimator import Estimator
from auxcal.calibrators._selection import SelectPart, as_select
from auxcal.metrics import brier
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


class Calibrator(ABC, Estimator):
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
    inputs_ : Inputs
        Whether it takes logits or probabilities, and the names of classes, columns and features, where they are known.
    fitted_on_ : FittedOn
        The rows that it was fitted on: how many, how many of no class, and when.
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

    # What holds for a file from before there were any.
    n_further_features_: int = 0
    inputs_: Inputs = Inputs()
    fitted_on_: FittedOn = FittedOn()

    def fit(
        self,
        logits: ArrayLike,
        y: ArrayLike,
        select: SelectPart | None = None,
        features: ArrayLike | None = None,
        *,
        probabilities: bool = False,
        class_names: Sequence[str] | None = None,
    ) -> Self:
        """Learn from labelled samples of the data that the classifier really meets.

        Parameters
        ----------
        logits : array of shape (n, K)
            The raw scores of the target classifier. Log-probabilities are fine; probabilities need `probabilities`. A
            DataFrame's column names are remembered, and what is scored later is taken by name.
        y : array of shape (n,)
            The true class, 0..K-1, or `NO_CLASS` = -1 where none of the classes is right.
        select : tuple of (logits, y) or (logits, y, features), optional
            The part on which hyper-parameters are chosen. Where it is not given, a fifth of the rows is set aside
            for it, stratified. A method that has nothing to choose fits on all of `logits` and leaves it unread.
        features : array of shape (n, d), optional
            Further inputs of each sample, for a method that `uses_features`; then the select part and all that is
            scored later must have them too.
        probabilities : bool
            `logits` holds probabilities, and so will all that is scored later; their logarithms are the logits.
        class_names : sequence of str, optional
            The names of the K classes, to be remembered.

        Returns
        -------
        self
        """
        self._forget()
        data = Predictions(logits, y, features, probabilities=probabilities, class_names=class_names)
        return self._fit_on(data, select)

    def predict_confidence(self, logits: ArrayLike, features: ArrayLike | None = None) -> Floats:
        """Return the probability that the prediction of each row, argmax of its logits, is correct.

        Parameters
        ----------
        logits : array of shape (n, K)
            The raw scores of the same target classifier, or its probabilities where the calibrator was fitted on such.
        features : array of shape (n, d), optional
            The further inputs of each sample, where the calibrator was fitted with such.

        Returns
        -------
        array of shape (n,)
        """
        return self._confidence_in(*self._rows(logits, features))

    def score(self, logits: ArrayLike, y: ArrayLike, features: ArrayLike | None = None) -> float:
        """Return the negative Brier score of the confidence: higher is better, as `cross_val_score` wants it.

        Parameters
        ----------
        logits : array of shape (n, K)
            The raw scores of the same target classifier.
        y : array of shape (n,)
            The true class, 0..K-1, or `NO_CLASS` = -1.
        features : array of shape (n, d), optional
            The further inputs of each sample, where the calibrator was fitted with such.
        """
        checked, further = self._rows(logits, features)
        return -brier(self._confidence_in(checked, further), Predictions(checked, y).correct)

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

    def _forget(self) -> None:
        """Drop what was learned, so that a fit that fails leaves nothing behind."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)

    def _fit_on(self, data: Predictions, select: SelectPart | Predictions | None = None) -> Self:
        """Learn from rows that are checked already."""
        self._forget()
        if data.features is not None:
            self._check_uses_features()
        warn_of_probabilities(data.inputs.kind, data.logits, stacklevel=3)
        given = None if select is None else as_select(select, data)
        fit, part = self._parts(data, given, share=SELECT_SHARE)
        # The problems are small: on a busy machine threads that wait for each other cost many times what they bring.
        with one_thread():
            problem = self._fit(fit) if part is None else self._search(fit, part)
        return self._fitted(data, given, problem, stacklevel=4)

    def _parts(
        self, data: Predictions, select: Predictions | None, *, share: float
    ) -> tuple[Predictions, Predictions | None]:
        """Return the fit part, and the select part if the method has use for one."""
        if not self._searches(data.n_classes):
            return data, None
        if select is not None:
            return data, select
        if len(data) < 2:
            raise InvalidInputError(
                f"{type(self).__name__} chooses its hyper-parameters on rows that are set aside, and so needs at least "
                f"2 rows; got {len(data)} (n_samples=1). Give more rows, or fix the hyper-parameters."
            )
        return data.split_stratified(max(share, 1 / len(data)), getattr(self, "random_state", None))

    def _fitted(self, data: Predictions, select: Predictions | None, problem: str | None, *, stacklevel: int) -> Self:
        """Say what is wrong with the fit, if anything, note what it was fitted on, and call it done."""
        self.converged_ = problem is None
        if problem is not None:
            from auxcal._errors import ConvergenceWarning

            warnings.warn(f"{type(self).__name__}: {problem}", ConvergenceWarning, stacklevel=stacklevel)
        self.inputs_ = data.inputs
        self.fitted_on_ = FittedOn.now(data.y) if select is None else FittedOn.now(data.y, select.y)
        self.n_features_in_, self.n_further_features_ = data.n_classes, data.n_features
        return self

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            from auxcal._errors import NotFittedError

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

    def _rows(self, logits: ArrayLike, features: ArrayLike | None) -> tuple[Floats, Floats | None]:
        """Check rows to score, of the kind that was fitted on, and return their logits and features."""
        self._check_fitted()
        array = self.inputs_.as_logits(logits, n_classes=self.n_features_in_)
        return array, self._as_features(by_name(features, self.inputs_.feature_names, "features"), len(array))

    def _confidence_in(self, logits: Floats, features: Floats | None) -> Floats:
        """Return the confidence in logits that are checked already, whatever the calibrator was fitted on."""
        return self._in_chunks(self._with_features(self._confidence), logits, features)

    def _in_chunks(self, score: OfFeatures, array: Floats, further: Floats | None) -> Floats:
        if len(array) <= _LEAST_ROWS:
            return np.clip(score(array, further), 0, 1)
        inputs = (array,) if further is None else (array, further)
        size = max(_LEAST_ROWS, CHUNK_BYTES // sum(each.itemsize * each.shape[1] for each in inputs))
        parts = (slice(start, start + size) for start in range(0, len(array), size))
        chunks = [score(array[rows], None if further is None else further[rows]) for rows in parts]
        return np.clip(chunks[0] if len(chunks) == 1 else np.concatenate(chunks), 0, 1)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_features_in_")

    def _repr_html_(self) -> str:
        return to_html(self)


def no_program(calibrator: Calibrator, method: str) -> InvalidInputError:
    """Return the error of a calibrator that does not tell torch and ONNX how it scores."""
    return InvalidInputError(
        f"{type(calibrator).__name__} must have a method {method} to become a torch module or an ONNX graph; it has "
        f"none. Write one as auxcal.programs explains, or score with predict_confidence."
    )


def features_for(calibrator: Calibrator, data: Predictions) -> Floats | None:
    """Return the features of the data if the calibrator uses such."""
    return data.features if calibrator.uses_features else None
