"""What every calibrator is: an estimator that turns logits into a confidence."""

from __future__ import annotations

import copy
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike

from auxcal._core.arrays import Floats, as_given, check_not_traced
from auxcal._core.chunks import OfFeatures, OfLogits, in_chunks
from auxcal._core.deferred_warnings import warn
from auxcal._core.errors import InvalidInputError
from auxcal._core.float_errors import ignore_float_errors
from auxcal._core.labels import NoClassLabels
from auxcal._core.logits import at_prediction, expit, top_scores
from auxcal._core.state import Shape
from auxcal._core.threads import one_thread
from auxcal.adaptation import Adaptation
from auxcal.calibrators.copies import parts_with_units, warn_of_same_rows
from auxcal.calibrators.description import to_html
from auxcal.calibrators.estimator import Estimator
from auxcal.calibrators.feature_tables import is_table, with_numbers
from auxcal.calibrators.fitting import (
    FitRows,
    SelectPart,
    all_rows,
    as_select,
    check_uses_features,
    reference_of,
    rows_to_fit,
)
from auxcal.inputs import (
    ADVISED_ROWS,
    FittedOn,
    Inputs,
    LogitInputs,
    warn_of_few_rows,
    warn_of_probabilities,
    warn_of_zeros,
)
from auxcal.metrics import brier
from auxcal.predictions import Predictions
from auxcal.programs import Operations, Rows, Value, no_program
from auxcal.reference import READINGS, Reference, n_strata, read_logits, strata_of_proba
from auxcal.thresholds.certificate import Certificate

SELECT_SHARE = 0.2
"""The share of the rows that is set aside for choosing hyper-parameters where no select part is given: a convention."""

_ROWS_PER_NUMBER = 10
"""With fewer rows for each number that it learned, a calibrator is surer of its own rows than of new ones.

A rule of thumb of regression; benchmarks/without_labels/quiet.py counts the false alarms that are left.
"""

# What a fit records beside what it learned: it does not change the scores of the method.
_RECORDED = ("inputs_", "fitted_on_", "reference_", "fit_rows_", "adaptation_", "certificate_")


class Calibrator(ABC, Estimator):
    """Turns a target classifier's logits into a confidence in its prediction.

    Threads may share a calibrator: a fit replaces the fitted state at once when it is done, and every other call works
    with the state that it found when it began.

    A method supplies `_fit`, which sets the fitted attributes (NumPy arrays, numbers, strings, and tuples or dicts of
    them) and returns what is wrong with the fit, if anything; and `_confidence`, which reads nothing else. One that has
    hyper-parameters to choose returns True from `_searches`; then `_search`, which gets the select part too, is called
    instead of `_fit`. One that `uses_features` finds them in the data of `_fit`, and scores with `_confidence(logits,
    features=None)` (and `_proba`), where None means that the fit had none. One that cross-fits can store the
    out-of-fold probabilities of the strata in `_held_out`, for the reference.

    Attributes
    ----------
    converged_ : bool
        Whether the fit reached its optimum; if not, a `ConvergenceWarning` gave the reason.
    n_features_in_ : int
        K, the number of the target classifier's classes.
    n_further_features_ : int
        d, the number of features of each sample; 0 if it was fitted without.
    inputs_ : Inputs
        Whether it takes logits or probabilities, and the names of classes, columns and features, if known.
    fitted_on_ : FittedOn
        How many rows it was fitted on, how many of them had no class, and when.
    reference_ : Reference or None
        A summary of these rows, to compare later ones with.
    fit_rows_ : FitRows or None
        Hashes of these rows, by which `share_in_fit` recognises them; None where rows repeat.
    certificate_ : Certificate or None
        A threshold with its promise, if one was found for this calibrator; a new fit drops it.
    adaptation_ : Adaptation or None
        The mix that it was adapted to; None if it was not adapted.
    """

    abbreviation: ClassVar[str]
    """What tables and the paper call the method."""
    reference: ClassVar[str]
    """Where the method comes from."""
    uses_features: ClassVar[bool] = False
    """Whether the method can learn from further inputs of each sample."""
    uses_weights: ClassVar[bool] = False
    """Whether the fit can use `sample_weight`; otherwise weights are rejected."""
    cross_fits: ClassVar[bool] = False
    """Whether the fit holds out every row in turn, those of a select part too; then copies must stay together."""
    has_ood_column: ClassVar[bool] = False
    """Whether the last column of its `predict_proba` is the probability that none of the classes is right."""
    starts_at_random: ClassVar[bool] = False
    """Whether the fit begins with random weights and takes the rows in a random order."""
    enough_rows: ClassVar[int] = ADVISED_ROWS
    """A fit on fewer rows gives an `InputWarning`."""
    learned: ClassVar[Mapping[str, Shape] | None] = None
    """The fitted attributes of the method, with the shape of each; without them, a file is not checked."""

    # What a calibrator has that was not fitted by `fit`, such as one of your own that sets its attributes itself.
    n_further_features_: int = 0
    inputs_: Inputs = LogitInputs()
    fitted_on_: FittedOn = FittedOn()
    reference_: Reference | None = None
    fit_rows_: FitRows | None = None
    certificate_: Certificate | None = None
    adaptation_: Adaptation | None = None
    _held_out: Floats | None = None

    def fit(
        self,
        logits: ArrayLike,
        y: ArrayLike,
        select: SelectPart | None = None,
        features: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        probabilities: bool = False,
        class_names: Sequence[str] | None = None,
        no_class: NoClassLabels = None,
    ) -> Self:
        """Learn from labelled samples from production.

        Parameters
        ----------
        logits : array of shape (n, K)
            The raw scores of the target classifier. Log-probabilities are fine; probabilities need `probabilities`. The
            column names of a DataFrame are remembered, and later ones are read by name.
        y : array of shape (n,)
            The true class, 0..K-1 or its name, or `NO_CLASS` = -1 where none of the classes is right.
        select : tuple of (logits, y) or (logits, y, features), or Predictions, optional
            The part on which hyper-parameters are chosen; by default a fifth of the rows, stratified. A method that has
            none to choose fits on all of `logits` and ignores it. `Predictions` can have weights and groups.
        features : array of shape (n, d), DataFrame or mapping of columns, optional
            Further inputs of each sample, for a method that `uses_features`. All that is scored later needs them too.
            Columns of a DataFrame or mapping may have gaps, and text for categories, which count by shrunken effects.
        sample_weight : array of shape (n,), optional
            How often each row counts: one of weight 2 as two rows that stay together. The sum is the
            effective sample size. Weights that only make up for how rows were drawn should add up to n.
        groups : array of shape (n,), optional
            What each row belongs to, such as a patient or a day. Rows of one group stay together in folds and splits.
        probabilities : bool
            `logits` holds probabilities, and so must everything that is scored later. Their logarithms are the logits.
        class_names : sequence of str, optional
            The names of the K classes, to be remembered; by default the column names of a DataFrame.
        no_class : label or sequence of labels, optional
            Labels in `y` that mean none of the classes, besides -1. `transfer` and `score` read them too.

        Returns
        -------
        self
        """
        fresh = copy.copy(self)
        try:
            has_table = features is not None and is_table(features)
            data = Predictions(
                logits,
                y,
                None if has_table else features,
                sample_weight=sample_weight,
                groups=groups,
                probabilities=probabilities,
                class_names=class_names,
                no_class=no_class,
            )
            if has_table:
                data = data.with_raw_table(features)
            fresh._fit_on(data, select)
        except BaseException:
            self._forget()
            raise
        self.__dict__ = fresh.__dict__  # at once: other threads may be scoring with the fit before
        return self

    def predict_confidence(self, logits: ArrayLike, features: ArrayLike | None = None) -> Floats:
        """Return the probability that the prediction of each row, argmax of its logits, is correct.

        Parameters
        ----------
        logits : array of shape (n, K)
            The raw scores of the same target classifier, or its probabilities if it was fitted on those.
        features : array of shape (n, d), optional
            The features of each sample, if the calibrator was fitted with features.

        Returns
        -------
        array of shape (n,)
            In single or double precision, as the logits are; single for half. Where logits are a torch tensor, one on
            the same device, without gradients; else NumPy.
        """
        now = self._now()
        return as_given(now.score_validated(*now.validate_rows(logits, features)), logits)

    def score(
        self, logits: ArrayLike, y: ArrayLike, features: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the negative Brier score of the confidence: higher is better, as `cross_val_score` expects.

        Parameters
        ----------
        logits : array of shape (n, K)
            The raw scores of the same target classifier.
        y : array of shape (n,)
            The true class, 0..K-1 or its name, or `NO_CLASS` = -1.
        features : array of shape (n, d), optional
            The features of each sample, if the calibrator was fitted with features.
        sample_weight : array of shape (n,), optional
            How often each row counts.
        """
        now = self._now()
        checked, further = now.validate_rows(logits, features)
        data = now._labelled(checked, y, sample_weight=sample_weight)
        return -brier(now.score_validated(checked, further), data.correct, sample_weight=data.sample_weight)

    def share_in_fit(self, logits: ArrayLike, features: ArrayLike | None = None) -> float | None:
        """Return the share of rows that were in the fit, where every metric looks too good and nothing can be promised.

        None where many rows of the fit are equal to each other. After a fit on more than 16,384 rows, the share is
        that of an even draw of the rows; None where none of them is drawn.
        """
        checked, further = self.validate_rows(logits, features)
        return None if self.fit_rows_ is None else self.fit_rows_.share(checked, further)

    def adapt(
        self,
        logits: ArrayLike,
        features: ArrayLike | None = None,
        *,
        labelled: SelectPart | None = None,
        if_new: Literal["refuse", "warn"] = "refuse",
        level: float = 0.05,
    ) -> Self:
        """Return a new calibrator for the mix of these rows, which need no labels; this one is unchanged.

        Parameters
        ----------
        logits, features : arrays of shape (n, K) and (n, d)
            Rows of the new mix. Only changes of the shares that chance does not explain are followed.
        labelled : tuple of (logits, y) or (logits, y, features), or Predictions, optional
            Labelled rows of the new mix, if there are any; the shares then come from both.
        if_new : {"refuse", "warn"}
            What to do where no mix explains the rows: raise an error, or warn and go on.
        level : float
            The rate of false alarms: how often rows that are a mix may be taken for something new.
        """
        from auxcal.monitoring import adapt

        return adapt(self._now(), logits, features, labelled=labelled, if_new=if_new, level=level)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted calibrator to a file that `auxcal.load` reads; see `auxcal.persistence`."""
        from auxcal.persistence import save  # which looks classes up by name, and so imports all of them

        save(self, path)

    @ignore_float_errors
    def validate_rows(self, logits: ArrayLike, features: ArrayLike | None) -> tuple[Floats, Floats | None]:
        """Return rows to score as arrays, for `score_validated`; reject what can't be scored."""
        self._check_fitted()
        if features is not None:
            check_uses_features(self)
        k, d = self.n_features_in_, self.n_further_features_
        return self.inputs_.rows(logits, features, n_classes=k, n_features=d, stacklevel=3)

    def score_validated(self, logits: Floats, features: Floats | None) -> Floats:
        """Return the confidence of rows from `validate_rows`: logits, never probabilities."""
        return in_chunks(self._adapted_confidence, logits, features)

    @property
    def takes_signals(self) -> bool:
        """Whether it was fitted on signals in place of logits; then there is one class, "the answer"."""
        return self.inputs_.kind == "signals"

    @property
    def reading_names(self) -> tuple[str, ...]:
        """What `read` reads from each row."""
        return READINGS

    def read(self, logits: Floats, features: Floats | None) -> Floats:
        """Return the readings of rows of `validate_rows`, by which checks and monitors compare them; float16."""
        return read_logits(logits)

    def strata(self, logits: Floats, features: Floats | None) -> Floats:
        """Return the probability that each row of `validate_rows` belongs to each stratum, of shape (n, s).

        A stratum is a part of the data whose share may change while it stays as it is. Strata are the K classes and
        none, where the calibrator has a column for none of them; right, wrong and none where classes are
        very many; and right and wrong for any other calibrator. If it learned so many numbers that it overfits, it is
        surer of its own rows than of new ones; then the softmax of the logits, which learned nothing, is used.
        Adaptation makes no difference, since it does not concern the rows of the fit.
        """
        if self.has_ood_column and isinstance(self, ProbaCalibrator):
            return strata_of_proba(in_chunks(self._with_features(self._proba), logits, features), logits)
        if self._overfits():
            wrong = expit(-top_scores(logits))
            return np.stack([1 - wrong, wrong], axis=1)
        confidence = in_chunks(self._with_features(self._confidence), logits, features)
        return np.stack([confidence, 1 - confidence], axis=1)

    @abstractmethod
    def _fit(self, data: Predictions) -> str | None: ...

    @abstractmethod
    def _confidence(self, logits: Floats) -> Floats: ...

    def _program(self, ops: Operations, rows: Rows) -> Value:
        """Write `_confidence` as a program for torch and ONNX, which gives a confidence of shape (n, 1)."""
        raise no_program(self, "_program(ops, rows)")

    def _n_free(self) -> int:
        """Return how many numbers the labels alone fixed; a line in the log-odds has two."""
        return 2

    def _searches(self, n_classes: int) -> bool:
        """Whether the method has hyper-parameters to choose, and so needs a select part."""
        return False

    def _search(self, data: Predictions, select: Predictions) -> str | None:
        """Do what `_fit` does, and choose the hyper-parameters on the select part."""
        raise NotImplementedError(f"{type(self).__name__} searches, but has no _search(data, select).")

    def _now(self) -> Self:
        """Return a fitted calibrator as it is now: a copy, which no fit in another thread changes halfway."""
        check_not_traced("logits")  # a compiler that traces this could not trace the copy
        now = copy.copy(self)
        now._check_fitted()
        return now

    def _forget(self) -> None:
        """Drop the fitted attributes at once, so that a failed fit leaves nothing behind."""
        self.__dict__ = {name: value for name, value in vars(self).items() if not name.endswith("_")}

    @ignore_float_errors
    def _fit_on(self, data: Predictions, select: SelectPart | None = None) -> Self:
        """Learn from rows that are already checked."""
        self._forget()
        warn_of_probabilities(data.inputs.kind, data.logits, stacklevel=3)
        warn_of_zeros(data.inputs.kind, data.logits, stacklevel=3)
        data = rows_to_fit(self, data)
        if data.inputs.needs_numbers:
            data = with_numbers(data, getattr(self, "random_state", None))
        given = None if select is None else as_select(select, data)
        if given is not None and self._searches(data.n_classes):
            warn_of_same_rows(data, given, "select", stacklevel=3)
        if self.cross_fits or (given is None and self._searches(data.n_classes)):
            data, given = parts_with_units(data, given, stacklevel=3)
        self.inputs_ = data.inputs
        fit, part = self._parts(data, given, share=SELECT_SHARE)
        # The problems are small: on a busy machine threads that wait for each other cost many times what they bring.
        with one_thread():
            problem = self._fit(fit) if part is None else self._search(fit, part)
        n_rows = len(data) + (0 if given is None else len(given))
        warn_of_few_rows(n_rows, self.enough_rows, signals=self.takes_signals, stacklevel=3)
        return self._fitted(data, given, problem, stacklevel=4)

    def _parts(
        self, data: Predictions, select: Predictions | None, *, share: float
    ) -> tuple[Predictions, Predictions | None]:
        """Return the fit part, and the select part if the method needs one."""
        if self.cross_fits:
            return all_rows(self, data, select), None
        if not self._searches(data.n_classes):
            return data, None
        if select is not None:
            return data, select
        if data.n_units < 2:
            raise InvalidInputError(
                f"{type(self).__name__} chooses its hyper-parameters on rows that are set aside, and so needs at least "
                f"2 rows; got {len(data)} (n_samples=1). Give more rows, or fix the hyper-parameters."
            )
        return data.split_stratified(max(share, 1 / len(data)), getattr(self, "random_state", None))

    def _fitted(self, data: Predictions, select: Predictions | None, problem: str | None, *, stacklevel: int) -> Self:
        """Warn if the fit has a problem, and record what it was fitted on."""
        self.converged_ = problem is None
        if problem is not None:
            from auxcal._core.errors import ConvergenceWarning

            warn(f"{type(self).__name__}: {problem}", ConvergenceWarning, stacklevel=stacklevel)
        self.inputs_ = data.inputs
        self.fitted_on_ = FittedOn.now(data.y) if select is None else FittedOn.now(data.y, select.y)
        self.n_features_in_, self.n_further_features_ = data.n_classes, data.n_features
        whole = data if select is None else data.joined(select)
        self.reference_ = reference_of(self, whole)
        self.fit_rows_ = FitRows.of(whole if self._searches(data.n_classes) else data)
        vars(self).pop("_held_out", None)
        return self

    @property
    def _n_strata(self) -> int:
        return n_strata(self.n_features_in_, self.has_ood_column)

    def _overfits(self) -> bool:
        """Whether it learned too many numbers from its rows to score them as new ones."""
        n_numbers = sum(_n_numbers(value) for value in self._learned_state().values())
        return (self.fitted_on_.n_rows or 0) < _ROWS_PER_NUMBER * n_numbers

    def _learned_state(self) -> dict[str, Any]:
        """Return the fitted attributes that determine the scores."""
        return {name: value for name, value in vars(self).items() if name.endswith("_") and name not in _RECORDED}

    def _with_features(self, score: OfLogits) -> OfFeatures:
        """Return `_confidence` or `_proba` as a function of logits and features, even if it uses no features."""
        if self.uses_features:
            return cast(OfFeatures, score)
        return lambda logits, features: score(logits)

    def _adapted_confidence(self, logits: Floats, features: Floats | None) -> Floats:
        """Return the confidence of a chunk of rows, for the mix that it was adapted to, if any."""
        adaptation = self.adaptation_
        if adaptation is not None and len(adaptation.shares) > 2 and isinstance(self, ProbaCalibrator):
            return at_prediction(self._adapted_proba(logits, features), logits)
        confidence = self._with_features(self._confidence)(logits, features)
        return confidence if adaptation is None else adaptation.confidence(confidence)

    def _labelled(self, logits: Floats, y: ArrayLike, features: Floats | None = None, **of_rows: Any) -> Predictions:
        """Return checked rows with their labels, by index or by the names of the fit."""
        return Predictions._of_rows(logits, features, y, self.inputs_, **of_rows)

    def _repr_html_(self) -> str:
        return to_html(self)


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
            Of the kind of `predict_confidence`.
        """
        now = self._now()
        return as_given(now.proba_validated(*now.validate_rows(logits, features)), logits)

    def proba_validated(self, logits: Floats, features: Floats | None) -> Floats:
        """Return the distribution of rows from `validate_rows`: logits, never probabilities."""
        return in_chunks(self._adapted_proba, logits, features)

    def _adapted_proba(self, logits: Floats, features: Floats | None) -> Floats:
        """Return the distribution of a chunk of rows, for the mix that it was adapted to, if any."""
        proba = self._with_features(self._proba)(logits, features)
        return proba if self.adaptation_ is None else self.adaptation_.proba(proba, logits.argmax(axis=1))

    @abstractmethod
    def _proba(self, logits: Floats) -> Floats: ...


class DistributionCalibrator(ProbaCalibrator):
    """One that calibrates the distribution over the K classes; its confidence is the value at the prediction."""

    def _confidence(self, logits: Floats, features: Floats | None = None) -> Floats:
        return at_prediction(self._with_features(self._proba)(logits, features), logits)


def _n_numbers(value: Any) -> int:
    """Return how many numbers a fitted attribute holds."""
    if isinstance(value, tuple | list):
        return sum(map(_n_numbers, value))
    return value.size if isinstance(value, np.ndarray) else 0
