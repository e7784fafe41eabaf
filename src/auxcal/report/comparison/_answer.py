"""The outcome in words: whether the confidence is honest, and which method makes it so."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from auxcal._core.text import whole_percent, write_score
from auxcal.report.comparison._agreement import Agreement, proven_gain

if TYPE_CHECKING:
    from auxcal.report.comparison._comparison import Comparison, Entry

AnswerKind = Literal["calibrated", "solved", "better", "unhelped", "unclear"]

NEEDS_NOTHING, AGREES = 0.03, 0.05
"""The largest difference of confidence and accuracy that needs no calibrator, and that is called agreement with one."""


@dataclass(frozen=True)
class Answer:
    """Two sentences, with the verdict and the numbers behind them.

    Parameters
    ----------
    verdict : {"calibrated", "solved", "better", "unhelped", "unclear"}
        The classifier is calibrated to within 3 points already; the best method is, to within 5; the best method is
        better than the classifier, but either not calibrated or the test rows are too few to tell; the classifier is
        not calibrated and no method is better; or the rows are too few to tell whether it is.
    says, right : float
        The classifier's mean confidence, and its accuracy, on the rows of `Comparison.agreement`.
    found : str
        How the classifier does today.
    then : str
        What the best method changes.
    """

    verdict: AnswerKind
    says: float
    right: float
    found: str
    then: str

    def __str__(self) -> str:
        return f"{self.found} {self.then}"


def answer(comparison: Comparison) -> Answer:
    """Put a comparison into words.

    The classifier's own confidence needs no fit, so all rows tell whether it is calibrated. Nothing is said to need no
    doing because a test finds nothing: the rows must show that the difference is small.
    """
    now = comparison.agreement
    verdict = _verdict(comparison, now)
    then = {
        "calibrated": _calibrated, "unhelped": _unhelped, "solved": _solved, "better": _better, "unclear": _unclear
    }[verdict]  # fmt: skip
    return Answer(verdict, now.says, now.right, _found(comparison.before, now), then(comparison))


def _verdict(comparison: Comparison, now: Agreement) -> AnswerKind:
    before, best = comparison.before, comparison.best
    if best is before:
        return "unhelped" if now.disproved else "calibrated" if now.within(NEEDS_NOTHING) else "unclear"
    confidences = before.measured()[1], best.measured()[1]
    if now.disproved or proven_gain(*confidences, comparison.test, len(comparison.entries) - 1):
        return "solved" if best.within_noise and _after(comparison).within(AGREES) else "better"
    return "calibrated" if now.within(NEEDS_NOTHING) else "unclear"


def _after(comparison: Comparison) -> Agreement:
    test = comparison.test
    return Agreement.of(comparison.best.measured()[1], test.correct, test.sample_weight, test.groups)


def _found(before: Entry, now: Agreement) -> str:
    sentence = f"Your classifier says {whole_percent(now.says)} and is right {whole_percent(now.right)} of the time"
    if whole_percent(now.says) != whole_percent(now.right) or not now.disproved:
        return f"{sentence}."
    ece = write_score("ece", before.scores["ece"])
    return f"{sentence} on average, but sample by sample the two differ: its ECE is {ece}."


def _calibrated(comparison: Comparison) -> str:
    agree = f"The two agree to within {_points(comparison.agreement)}"
    if comparison.best is comparison.before:
        return f"{agree}: nothing needs doing."
    return f"{agree}. {_capital(_falls(comparison))}, which may be chance."


def _unhelped(comparison: Comparison) -> str:
    methods = comparison.entries[1:]
    if not methods:
        return "No method was compared with it."
    if len(methods) == 1:
        return f"{_capital(methods[0].full_name)} does not lower its Brier score on the {_tested(comparison)}."
    return f"None of the {len(methods)} methods lowers its Brier score on the {_tested(comparison)}."


def _solved(comparison: Comparison) -> str:
    return f"With {comparison.best.full_name} the two agree to within {_points(_after(comparison))}."


def _better(comparison: Comparison) -> str:
    before, best, after = comparison.before, comparison.best, _after(comparison)
    floor = write_score("ece_floor_p95", best.scores["ece_floor_p95"])
    if not best.within_noise and best.scores["ece"] < before.scores["ece"]:
        change = _change("ece", comparison)
        return f"With {best.full_name} the ECE falls {change}, still more than the {floor} that is noise."
    falls = f"With {best.full_name} the Brier score falls {_change('brier', comparison)}"
    if not best.within_noise:
        return f"{falls}, but its ECE of {write_score('ece', best.scores['ece'])} is more than the {floor} of noise."
    if after.disproved:
        return f"{falls}, but the two still differ by more than chance."
    return f"{falls}. The {_tested(comparison)} tell only to within {_points(after)} how well the two agree then."


def _unclear(comparison: Comparison) -> str:
    now = comparison.agreement
    few = (
        f"These {now.n_rows:,} rows are too few to tell whether that is calibrated: the two may differ by up to "
        f"{_points(now)}. Label more rows."
    )
    if comparison.best is comparison.before:
        return f"{few} {_unhelped(comparison)}"
    return f"{few} On the {_tested(comparison)}, {_falls(comparison)}, which may be chance."


def _falls(comparison: Comparison) -> str:
    return f"{comparison.best.full_name} lowers the Brier score {_change('brier', comparison)}"


def _tested(comparison: Comparison) -> str:
    return f"{len(comparison.test):,} test rows"


def _points(agreement: Agreement) -> str:
    """Return the limit, rounded up, in percentage points."""
    points = math.ceil(100 * agreement.limit)
    return f"{points} point{'s' if points != 1 else ''}"


def _capital(name: str) -> str:
    return name[0].upper() + name[1:]


def _change(metric: str, comparison: Comparison) -> str:
    before, best = (write_score(metric, each.scores[metric]) for each in (comparison.before, comparison.best))
    return f"from {before} to {best}"
