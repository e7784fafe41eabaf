"""The outcome in words: whether the confidence agrees with the accuracy, and which method makes it so."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.stats import norm

from auxcal._core.arrays import Bools, Floats, Groups, Weight
from auxcal._core.text import whole_percent, write_score
from auxcal.predictions import Predictions
from auxcal.report.comparison._signal_methods import AS_IT_IS, BASE_RATE

if TYPE_CHECKING:
    from auxcal.report.comparison.outcome import Comparison, Entry

AnswerKind = Literal["calibrated", "solved", "better", "unhelped", "unclear"]

NEEDS_NOTHING, AGREES = 0.03, 0.05
"""The largest difference of confidence and accuracy that needs no calibrator, and that is called agreement with one.

Conventions, which no script chose. At an accuracy of 80 % it takes about 700 rows to show the first, 250 the second.
"""

LEVEL = 0.02
"""How often a calibrated confidence may be called miscalibrated.

A convention, which no script chose: less than the usual 5 %, since the best of many methods often makes the confidence
worse where none is needed.
"""

EXCEEDED = 0.05
"""How often a limit may be exceeded: it holds with 95 % confidence, as the intervals of the metrics do."""

_CONSTANT = 1e-6  # confidences that spread less are one number, up to the rounding of float32


@dataclass(frozen=True)
class Agreement:
    """How far confidence and accuracy differ: on average, and between rows of low and of high confidence.

    Both differences are means over all rows, so that they need far fewer rows than an ECE over 20 bins: that of
    ``confidence - correct``, and that of its product with the standardised confidence, which is how much the difference
    changes when the confidence rises by one standard deviation.

    Parameters
    ----------
    confidence, right : float
        The mean confidence, and the accuracy.
    n_rows : int
        The number of rows.
    limit : float
        What neither difference exceeds, with 95 % confidence.
    p_value : float
        How likely differences as large are by chance, where each confidence is the true probability.
    """

    confidence: float
    right: float
    n_rows: int
    limit: float
    p_value: float

    @property
    def disproved(self) -> bool:
        """Whether the two differ by more than chance explains, at a level of 2 %."""
        return self.p_value < LEVEL

    def within(self, difference: float) -> bool:
        """Whether the rows show that the two differ by this at most."""
        return not self.disproved and self.limit <= difference

    @classmethod
    def of(
        cls, confidence: Floats, correct: Bools, weight: Weight | None = None, groups: Groups | None = None
    ) -> Agreement:
        """Measure it; rows of one group count as dependent."""
        c, share = confidence.astype(np.float64), shares(len(confidence), weight)
        claimed, right = float(share @ c), float(share @ correct)
        spread = np.sqrt(share @ (c - claimed) ** 2)
        by_chance, limit, p_value = c * (1 - c), 0.0, 1.0
        for direction in (np.ones(len(c)), (c - claimed) / spread if spread > _CONSTANT else np.zeros(len(c))):
            mean, observed = mean_and_error(direction * (c - correct), share, groups)
            # If calibrated, the first is the error; it is too small where confidences are near 1 and mistakes rare.
            error = max(float(np.sqrt(share**2 @ (direction**2 * by_chance))), observed)
            limit = max(limit, abs(mean) + norm.isf(EXCEEDED / 2) * error)
            p_value = min(p_value, 2 * 2 * float(norm.sf(abs(mean) / error)) if error > 0 else 1.0)
        return cls(claimed, right, len(c), float(limit), p_value)


def behind(confidence: Floats, best: Floats, test: Predictions) -> tuple[float, float]:
    """Return how much higher a Brier score is than another on the same rows, and its standard error."""
    gap = (confidence.astype(np.float64) - test.correct) ** 2 - (best.astype(np.float64) - test.correct) ** 2
    return mean_and_error(gap, shares(len(test), test.sample_weight), test.groups)


def proven_gain(before: Floats, after: Floats, test: Predictions, methods: int) -> bool:
    """Whether the best of so many methods lowers the Brier score by more than chance explains."""
    mean, error = behind(before, after, test)
    return mean > norm.isf(LEVEL / 2 / methods) * error


def mean_and_error(values: Floats, share: Floats, groups: Groups | None) -> tuple[float, float]:
    """Return the weighted mean of rows and its standard error."""
    mean = float(share @ values)
    deviations = share * (values - mean)
    if groups is not None:
        deviations = np.bincount(np.unique(groups, return_inverse=True)[1], deviations)
    return mean, float(np.sqrt(deviations @ deviations))


def shares(n_rows: int, weight: Weight | None) -> Floats:
    """Return the share of each row in a mean."""
    weight = np.ones(n_rows) if weight is None else weight.astype(np.float64)
    return weight / weight.sum()


@dataclass(frozen=True)
class Answer:
    """Two sentences, with the verdict and the numbers behind them.

    Parameters
    ----------
    verdict : {"calibrated", "solved", "better", "unhelped", "unclear"}
        The classifier is calibrated to within 3 points already; the best method is, to within 5; the best method is
        better than the classifier, but either not calibrated or the test rows are too few to tell; the classifier is
        not calibrated and no method is better; or the rows are too few to tell whether it is.
    confidence, right : float
        The classifier's mean confidence, and its accuracy, on the rows of `Comparison.agreement`.
    found : str
        How the classifier does today.
    then : str
        What the best method changes.
    """

    verdict: AnswerKind
    confidence: float
    right: float
    found: str
    then: str

    def __str__(self) -> str:
        return f"{self.found} {self.then}"


def answer(comparison: Comparison) -> Answer:
    """Put a comparison into words.

    The classifier's own confidence needs no fit, so all rows tell whether it is calibrated. A test that finds nothing
    does not suffice for "nothing needs doing": the rows must show that the difference is small.
    """
    test, now = comparison.test, comparison.agreement
    after = Agreement.of(comparison.best.measured()[1], test.correct, test.sample_weight, test.groups)
    verdict = _verdict(comparison, after)
    return Answer(verdict, now.confidence, now.right, _found(comparison, now), _then(comparison, verdict, after))


def _verdict(comparison: Comparison, after: Agreement) -> AnswerKind:
    before, best, now = comparison.before, comparison.best, comparison.agreement
    undecided: AnswerKind = "calibrated" if now.within(NEEDS_NOTHING) else "unclear"
    if best is before:
        return "unhelped" if now.disproved else undecided
    confidences = before.measured()[1], best.measured()[1]
    if now.disproved or proven_gain(*confidences, comparison.test, len(comparison.entries) - 1):
        return "solved" if best.within_noise and after.within(AGREES) else "better"
    return "unhelped" if before.method == BASE_RATE else undecided


def _found(comparison: Comparison, now: Agreement) -> str:
    before, right = comparison.before, whole_percent(now.right)
    if before.method == BASE_RATE:
        return f"{_capital(right)} of the answers are right."
    mean = whole_percent(now.confidence)
    sentence = f"Your classifier says {mean} and is right {right} of the time"
    if comparison.signals:
        sentence = f"The signal {before.label.removesuffix(AS_IT_IS)} says {mean}, and {right} of the answers are right"
    if whole_percent(now.confidence) != whole_percent(now.right) or not now.disproved:
        return f"{sentence}."
    ece = write_score("ece", before.scores["ece"])
    return f"{sentence} on average, but sample by sample the two differ: its ECE is {ece}."


def _then(comparison: Comparison, verdict: AnswerKind, after: Agreement) -> str:
    before, best, now = comparison.before, comparison.best, comparison.agreement
    tested, name = f"{len(comparison.test):,} test rows", best.full_name
    unhelped = _unhelped([entry.full_name for entry in comparison.entries[1:]], tested)
    lowers = f"{name} lowers the Brier score {_change('brier', before, best)}, which may be chance."
    if verdict == "calibrated":
        agree = f"The two agree to within {_points(now)}"
        return f"{agree}: nothing needs doing." if best is before else f"{agree}. {_capital(lowers)}"
    if verdict == "unclear":
        return (
            f"These {now.n_rows:,} rows are too few to tell whether that is calibrated: the two may differ by up to "
            f"{_points(now)}. Label more rows. {unhelped if best is before else f'On the {tested}, {lowers}'}"
        )
    if before.method == BASE_RATE and verdict == "solved":
        above = whole_percent(best.scores["auroc"])
        return (
            f"With {name} the confidence is calibrated to within {_points(after)}, and {above} of the time a right "
            f"answer has a higher one than a wrong answer."
        )
    if before.method == BASE_RATE and verdict == "unhelped":
        return f"{_capital(name)} together do not tell which, by more than chance, on the {tested}."
    if verdict == "solved":
        return f"With {name} the two agree to within {_points(after)}."
    return unhelped if verdict == "unhelped" else _better(before, best, after, tested)


def _better(before: Entry, best: Entry, after: Agreement, tested: str) -> str:
    floor = write_score("ece_floor_p95", best.scores["ece_floor_p95"])
    if not best.within_noise and best.scores["ece"] < before.scores["ece"]:
        change = _change("ece", before, best)
        return f"With {best.full_name} the ECE falls {change}, still more than the {floor} that is noise."
    falls = f"With {best.full_name} the Brier score falls {_change('brier', before, best)}"
    if not best.within_noise:
        return f"{falls}, but its ECE of {write_score('ece', best.scores['ece'])} is more than the {floor} of noise."
    if after.disproved:
        return f"{falls}, but the two still differ by more than chance."
    return f"{falls}. The {tested} tell only to within {_points(after)} how well the two agree then."


def _unhelped(names: list[str], tested: str) -> str:
    if not names:
        return "No method was compared with it."
    several = f"None of the {len(names)} methods lowers"
    return f"{several if len(names) > 1 else f'{_capital(names[0])} does not lower'} its Brier score on the {tested}."


def _change(metric: str, before: Entry, best: Entry) -> str:
    return f"from {write_score(metric, before.scores[metric])} to {write_score(metric, best.scores[metric])}"


def _points(agreement: Agreement) -> str:
    """Return the limit, rounded up, in percentage points."""
    points = math.ceil(100 * agreement.limit)
    return f"{points} point{'s' if points != 1 else ''}"


def _capital(name: str) -> str:
    return name[0].upper() + name[1:]
