"""auxcal compare for signals: each single signal, lines, curves and trees beside all of them together."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from auxcal._core.arrays import Floats
from auxcal._core.errors import InvalidInputError
from auxcal._core.float_errors import ignore_float_errors
from auxcal._core.text import some, write_score
from auxcal.calibrators import SignalCalibrator
from auxcal.calibrators.additive_model import AdditiveModel
from auxcal.metrics import evaluate
from auxcal.predictions import Predictions
from auxcal.signals import UNSEEN, SignalColumns

_ALONE = ("base rate", "logistic regression", "curves", "boosted trees")  # in the order of `shares_`
_OF_NUMBER = ("beta calibration", "isotonic regression")
TOGETHER = "all signals together"
"""What `SignalCalibrator` does."""


@dataclass(frozen=True)
class SignalEntry:
    """How one method did on the test part, and its Brier score less that of all signals together, with its error."""

    method: str
    scores: dict[str, float]
    behind: float
    error: float


@dataclass(frozen=True)
class SignalComparison:
    """Methods on signals, the best first.

    Parameters
    ----------
    entries : tuple of SignalEntry
        One for each method.
    calibrator : SignalCalibrator
        The one of all signals, fitted on the fit part.
    n_fit, n_test : int
        How many answers each part has.
    accuracy : float
        The share of right answers in the test part.
    spread : dict of str to float
        How much each signal moves the log-odds, as a standard deviation over the test part.
    by_level : dict of str to dict
        Of each category, the mean confidence in its levels.
    """

    entries: tuple[SignalEntry, ...]
    calibrator: SignalCalibrator
    n_fit: int
    n_test: int
    accuracy: float
    spread: dict[str, float]
    by_level: dict[str, dict[str, float]]

    def as_json(self) -> dict[str, Any]:
        """Return all numbers, ready for JSON."""
        entries = [vars(each) for each in self.entries]
        numbers = {"n_fit": self.n_fit, "n_test": self.n_test, "accuracy": self.accuracy}
        return numbers | {"entries": entries, "spread": self.spread, "by_level": self.by_level}

    def lines(self) -> Iterator[str]:
        """Yield the tables in text."""
        width = max(len(each.method) for each in self.entries)
        yield f"{'':<{width}}   Brier   behind all together     ECE   noise   AUROC"
        for each in self.entries:
            gap = "" if each.method == TOGETHER else f"{1000 * each.behind:+6.1f} ± {1000 * each.error:.1f} ‰"
            brier, ece, noise, auroc = (
                write_score(metric, each.scores[name])
                for metric, name in (("brier", "brier"), ("ece", "ece"), ("ece", "ece_floor_p95"), ("auroc", "auroc"))
            )
            yield f"{each.method:<{width}}{brier:>8}{gap:>22}{ece:>8}{noise:>8}{auroc:>8}"
        yield ""
        yield "How much each signal moves the log-odds (a standard deviation):"
        for name, spread in sorted(self.spread.items(), key=lambda each: -each[1]):
            yield f"  {name:<{width}}{spread:6.2f}"
        for name, levels in self.by_level.items():
            yield f"Mean confidence by {name}:"
            for level, confidence in sorted(levels.items(), key=lambda each: -each[1])[:_MOST_LEVELS]:
                yield f"  {level:<{width}}{100 * confidence:5.1f} %"


_MOST_LEVELS = 20  # that a table in the terminal shows


@ignore_float_errors
def compare_signals(data: Predictions, *, test: Predictions | float = 0.25, random_state: int = 0) -> SignalComparison:
    """Fit all methods on one part of answers with signals, and measure them on the rest.

    Parameters
    ----------
    data : Predictions
        Answers, as `auxcal.formats.read_predictions` gives them for `signals`.
    test : Predictions or float
        The test part, or the share of `data` to hold out for it, stratified.
    random_state : int
        The source of the split and of the folds.
    """
    if isinstance(test, Predictions):
        fit, held_out = data, _recoded(test, data)
    else:
        fit, held_out = data.split_stratified(test, random_state)
    fitted = SignalCalibrator(random_state=random_state)._fit_on(fit)
    confidence = {TOGETHER: _scored(fitted, held_out)}
    numbers = np.array(fitted.columns.names)[fitted.columns.are_numbers].tolist()
    singles = [f"{name}: {method}" for name in numbers for method in _OF_NUMBER]
    for place, method in enumerate((*_ALONE, *singles)):
        alone = copy.copy(fitted)
        alone.shares_ = (np.arange(len(fitted.shares_)) == place).astype(np.float64)
        confidence[method] = _scored(alone, held_out)
    losses = {method: (said - held_out.correct) ** 2 for method, said in confidence.items()}
    entries = []
    for method, said in confidence.items():
        gaps = losses[method] - losses[TOGETHER]
        scores = evaluate(said, held_out.correct, sample_weight=held_out.sample_weight)
        behind = float(np.average(gaps, weights=held_out.sample_weight))
        entries.append(SignalEntry(method, scores, behind, float(gaps.std() / np.sqrt(len(gaps)))))
    entries.sort(key=lambda each: each.scores["brier"])
    spread, by_level = _what_counts(fitted, held_out, confidence[TOGETHER])
    return SignalComparison(tuple(entries), fitted, len(fit), len(held_out), held_out.accuracy, spread, by_level)


def _recoded(test: Predictions, fit: Predictions) -> Predictions:
    """Return the test part with the codes that levels have in the fit part."""
    before, after = (SignalColumns(*(part.inputs.feature_table or ())) for part in (test, fit))
    if before.names != after.names or before.kinds != after.kinds:
        raise InvalidInputError(
            f"the test part must have the signals of the data, {some(after.names)}, of the same types; got "
            f"{some(before.names)}. Read both in the same way."
        )
    x = np.array(test.features)
    for j, (old, new) in enumerate(zip(before.levels, after.levels, strict=True)):
        known = x[:, j] >= 0
        places = {level: place for place, level in enumerate(new)}
        codes = np.array([places.get(level, UNSEEN) for level in old], dtype=np.float64)
        if old:
            x[known, j] = codes[x[known, j].astype(np.intp)]
    return test._with(features=x)


def _scored(calibrator: SignalCalibrator, data: Predictions) -> Floats:
    return calibrator.score_validated(data.logits, data.features)


def _what_counts(
    fitted: SignalCalibrator, data: Predictions, confidence: Floats
) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
    """Return how much each signal moves the log-odds of the additive model, and the mean confidence by level."""
    columns, model = fitted.columns, AdditiveModel(*fitted.model_)
    values, codes = fitted.parts_of(np.asarray(data.features))
    spread, by_level = {}, {}
    at = {True: 0, False: 0}
    for name, number, levels in zip(columns.names, columns.are_numbers.tolist(), columns.levels, strict=True):
        place, at[number] = at[number], at[number] + 1
        if number:
            spread[name] = float(model.curve(place, values[:, place]).std())
        else:
            spread[name] = float(model.effects[place][codes[:, place]].std())
            rows = {level: codes[:, place] == code for code, level in enumerate(levels)}
            by_level[name] = {level: float(confidence[here].mean()) for level, here in rows.items() if here.any()}
    return spread, by_level
