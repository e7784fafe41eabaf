"""Fit every method on one part of the data and measure it on another."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from auxcal._core.arrays import Groups, Ints, as_groups
from auxcal._core.deferred_warnings import collect_warnings
from auxcal._core.errors import ConvergenceWarning, InvalidInputError
from auxcal._core.float_errors import ignore_float_errors
from auxcal._core.labels import as_class_names
from auxcal._core.progress import Report, silent
from auxcal._core.text import one_of, visible
from auxcal.calibrators import CALIBRATORS, Calibrator, method_named, seeded
from auxcal.calibrators.copies import warn_of_same_rows, with_units
from auxcal.calibrators.fitting import features_for
from auxcal.inputs import warn_of_few_rows, warn_of_no_errors, warn_of_probabilities
from auxcal.metrics import evaluate_by, evaluate_sample
from auxcal.metrics.sample import Sample
from auxcal.predictions import Predictions
from auxcal.report.comparison._answer import Agreement
from auxcal.report.comparison._signal_effects import signal_effects
from auxcal.report.comparison._signal_methods import LABELS, TOGETHER, signal_methods
from auxcal.report.comparison.outcome import SHOWN, Comparison, Entry, Sliced

UNCALIBRATED = "uncalibrated"
"""The method that all others are compared with: the classifier's own confidence."""


@ignore_float_errors
def compare(
    data: Predictions | Any,
    y: ArrayLike | None = None,
    *,
    correct: ArrayLike | None = None,
    test: Predictions | float = 0.25,
    methods: Iterable[str] | Mapping[str, Calibrator] | None = None,
    random_state: int = 0,
    increasing: Sequence[str] = (),
    name: str = "data",
    class_names: Sequence[str] | None = None,
    ids: Sequence[Any] | NDArray[Any] | None = None,
    by: Mapping[str, ArrayLike] | None = None,
    bootstrap: int = 200,
    report: Report = silent,
) -> Comparison:
    """Fit every method on one part of the data, measure it on the rest, and name the best.

    A method that fails does not end the comparison: its entry has the reason. Features, if there are any, are passed to
    the methods that use them.

    Parameters
    ----------
    data : Predictions, array of shape (n, K), or table of signals
        Labelled predictions of data from production. Their weights count in fits and scores, and
        their groups stay together in both, and in the split. An array holds logits; for probabilities, weights, groups
        or features give `Predictions`, and for signals with any of them `Predictions.from_signals`.
    y : array of shape (n,), optional
        The true classes of an array of logits.
    correct : array of shape (n,), optional
        In place of `y`, whether each answer is right; `data` is then a table of signals. What
        `SignalCalibrator` makes of all signals is compared with the base rate, with each signal alone, and with
        scikit-learn's logistic regression and histogram boosting.
    test : Predictions or float
        The test part, or the share of `data` to hold out for it, stratified.
    methods : iterable of str, or mapping of str to Calibrator, optional
        Names or abbreviations of `CALIBRATORS`, or your own unfitted calibrators by name; by default all of
        `CALIBRATORS` whose extra is installed, with a warning that names the others. The classifier's own confidence is
        always compared too. For signals, names of the entries of a comparison without `methods`.
    random_state : int
        The source of the split, of the fits and of the intervals.
    increasing : sequence of str
        The signals that may only raise the confidence of `SignalCalibrator`.
    name : str
        The name of the data.
    class_names : sequence of str, optional
        The names of the K classes; by default those that the data have.
    ids : sequence, optional
        What the report calls each row of the test part, or of `data` where the test part is a share of it; by default
        its number.
    by : mapping of str to array, optional
        Columns to slice by, such as ``{"country": countries}``, with a value for each row as in `ids`: every metric of
        the best method for each value too.
    bootstrap : int
        The number of draws for the intervals; 0 for none.
    report : callable
        Called after each method with the share of the methods that is done.

    Returns
    -------
    Comparison
        Its `best` is the entry with the lowest Brier score, of those that can be saved.

    Examples
    --------
    >>> import numpy as np
    >>> import auxcal
    >>> rng = np.random.default_rng(0)
    >>> logits = rng.normal(size=(4000, 3))
    >>> y = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    >>> too_sure = auxcal.Predictions(3 * logits, y)
    >>> comparison = auxcal.compare(too_sure, methods=["temperature", "platt"], bootstrap=0)
    >>> print(comparison.answer.found)
    Your classifier says 82 % and is right 59 % of the time.
    >>> print(comparison.answer.then)
    With temperature scaling (TS) the two agree to within 4 points.
    >>> [entry.label for entry in comparison.ranked]
    ['TS', 'Platt', 'MP']
    """
    data = _predictions(data, y, correct, class_names)
    warn_of_probabilities(data.inputs.kind, data.logits, stacklevel=2)
    if class_names is not None:
        data = data._with(inputs=replace(data.inputs, class_names=as_class_names(class_names, data.n_classes)))
    if not isinstance(test, Predictions):
        data = with_units(data, stacklevel=2)  # a copy of a row of the fit would be no test
    fit, held_out, rows = _parts(data, test, random_state)
    warn_of_no_errors(data.inputs.kind, data.correct, stacklevel=2)
    if isinstance(test, Predictions):
        warn_of_same_rows(fit, held_out, "test", stacklevel=2)
    warn_of_few_rows(len(fit), signals=data.inputs.kind == "signals", stacklevel=2)
    source = held_out if isinstance(test, Predictions) else data
    if ids is not None and len(ids) != len(source):
        raise InvalidInputError(f"ids must be one for each of the {len(source)} rows; got {len(ids)}.")
    columns = {key: as_groups(values, n_rows=len(source), name=key)[rows] for key, values in (by or {}).items()}
    if data.inputs.kind == "signals":
        calibrators = _signal_calibrators(methods, signal_methods(data, random_state, increasing))
    else:
        calibrators = _calibrators(methods, random_state)
    entries = []
    for done, (method, calibrator) in enumerate(calibrators.items(), start=1):
        entries.append(_entry(method, calibrator, fit, held_out, bootstrap, random_state))
        report(done / len(calibrators))
    first = entries[0].measured()[0]
    own = first.score_validated(source.logits, features_for(first, source))
    comparison = Comparison(
        visible(str(name)),
        tuple(entries),
        held_out,
        rows,
        len(fit),
        Agreement.of(own, source.correct, source.sample_weight, source.groups),
        data.inputs.class_names,
        None if ids is None else tuple(str(ids[row]) for row in rows),
    )
    if data.inputs.kind == "signals":
        best = comparison.best.measured()
        comparison = replace(comparison, signals=signal_effects(best[0], held_out, best[1], random_state))
    how = {"sample_weight": held_out.sample_weight, "groups": held_out.groups, "random_state": random_state}
    slices = (_sliced(comparison, visible(str(key)), values, bootstrap, **how) for key, values in columns.items())
    return replace(comparison, slices=tuple(slices))


def _predictions(
    data: Predictions | Any, y: ArrayLike | None, correct: ArrayLike | None, class_names: Sequence[str] | None
) -> Predictions:
    if isinstance(data, Predictions):
        if y is not None or correct is not None:
            raise InvalidInputError("data are auxcal.Predictions, which have their y; got another. Leave y out.")
        return data
    if correct is not None:
        if y is not None:
            raise InvalidInputError("logits have y, and signals have correct; got both. Leave one of them out.")
        return Predictions.from_signals(data, correct)
    if y is None:
        raise InvalidInputError(
            f"data must be auxcal.Predictions, or logits with their y; got {type(data).__name__} alone. Use "
            f"auxcal.compare(logits, y), or auxcal.compare(auxcal.Predictions(logits, y)); for signals "
            f"auxcal.compare(signals, correct=correct)."
        )
    return Predictions(data, y, class_names=class_names)


def _parts(data: Predictions, test: Predictions | float, random_state: int) -> tuple[Predictions, Predictions, Ints]:
    """Return the fit part, the test part, and the row numbers of the test part in its source."""
    if not isinstance(test, Predictions):
        rest, aside = data.stratified_rows(test, random_state)
        return data.take(rest), data.take(aside), aside
    if test.n_classes != data.n_classes:
        raise InvalidInputError(
            f"the test part must have the {data.n_classes} columns of logits that the data have; got "
            f"{test.n_classes}. Use the same target classifier for both."
        )
    test = test.in_order_of(data.inputs, "the test part")
    warn_of_probabilities(test.inputs.kind, test.logits, stacklevel=3)
    if data.inputs.raw_table and test.inputs.raw_table:
        return data, test.recoded(data), np.arange(len(test))
    if test.n_features != data.n_features:
        raise InvalidInputError(
            f"the test part must have the {data.n_features} features of each sample that the data have; got "
            f"{test.n_features}. Give both the same features, or none."
        )
    return data, test, np.arange(len(test))


def _signal_calibrators(
    methods: Iterable[str] | Mapping[str, Calibrator] | None, listed: dict[str, Calibrator]
) -> dict[str, Calibrator]:
    """Return unfitted methods of signals by name, what they are compared with first."""
    before = next(iter(listed))
    if isinstance(methods, Mapping):
        return {before: listed[before]} | {name: clone(calibrator) for name, calibrator in methods.items()}
    labels = {name: LABELS.get(name, name) for name in listed}
    names = listed if methods is None else [one_of(name, labels, "the method") for name in methods]
    return {name: listed[name] for name in dict.fromkeys((before, *names, TOGETHER))}


def _calibrators(methods: Iterable[str] | Mapping[str, Calibrator] | None, random_state: int) -> dict[str, Calibrator]:
    """Return unfitted calibrators by name, the uncalibrated one first."""
    own = {name: clone(calibrator) for name, calibrator in methods.items()} if isinstance(methods, Mapping) else {}
    names = list(CALIBRATORS) if methods is None else list(own) or [_listed(name) for name in methods]
    listed = {name: seeded(CALIBRATORS[name], random_state) for name in (UNCALIBRATED, *names) if name not in own}
    return {name: (own | listed)[name] for name in dict.fromkeys((UNCALIBRATED, *names))}


def _listed(name: str) -> str:
    try:
        return method_named(name)
    except InvalidInputError as error:
        raise InvalidInputError(f"{error} Give a calibrator of your own as {{name: calibrator}}.") from None


def _entry(
    method: str, calibrator: Calibrator, fit: Predictions, test: Predictions, bootstrap: int, random_state: int
) -> Entry:
    """Fit a calibrator on rows that are already checked, and measure it on others."""
    label = calibrator.abbreviation if method in CALIBRATORS else LABELS.get(method, method)
    start = time.process_time()
    try:
        with collect_warnings() as kept:
            calibrator._fit_on(fit if calibrator.uses_features else fit.without_features())
        seconds = time.process_time() - start
        confidence = calibrator.score_validated(test.logits, features_for(calibrator, test))
    except Exception as error:  # your own method can raise anything, and the others still count
        return Entry(method, label, time.process_time() - start, problem=f"{type(error).__name__}: {error}")
    problems = [str(warning) for warning in kept if isinstance(warning, ConvergenceWarning)]
    with collect_warnings():  # an undefined metric is a dash in the table; that needs no warning
        rows = Sample(confidence, test.correct, test.sample_weight, test.groups)
        scores = evaluate_sample(rows, SHOWN, bootstrap=bootstrap, random_state=random_state)
    return Entry(method, label, seconds, calibrator, confidence, scores, " ".join(problems) or None)


def _sliced(comparison: Comparison, by: str, values: Groups, bootstrap: int, **how: Any) -> Sliced:
    """Return every metric of the slices for the best method, and the ECE for the classifier itself."""
    correct = comparison.test.correct
    with collect_warnings():  # a small slice leaves metrics undefined; a dash in the table shows it
        before = evaluate_by(comparison.before.measured()[1], correct, values, metrics=["ece"], **how)
        after = evaluate_by(comparison.best.measured()[1], correct, values, bootstrap=bootstrap, **how)
    return Sliced(by, tuple(before), tuple(after))
