"""The outcome in words: whether the confidence is honest, and which method makes it so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from auxcal._formatting import whole_percent, write_score

if TYPE_CHECKING:
    from auxcal.comparison._comparison import Entry
    from auxcal.predictions import Predictions

AnswerKind = Literal["calibrated", "solved", "better", "unhelped"]


@dataclass(frozen=True)
class Answer:
    """Two sentences, with the verdict and the numbers behind them.

    Parameters
    ----------
    verdict : {"calibrated", "solved", "better", "unhelped"}
        The classifier is already calibrated within the noise; the best method is; the best method is better than the
        classifier but not within the noise; or no method is better.
    says, right : float
        The classifier's mean confidence, and its accuracy.
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


def answer(before: Entry, best: Entry, *, test: Predictions, methods: int) -> Answer:
    """Put the scores of the classifier itself and of the best method into words."""
    _, confidence = before.measured()
    says, accuracy = float(np.average(confidence.astype(np.float64), weights=test.sample_weight)), test.accuracy
    verdict: AnswerKind = (
        "calibrated" if before.within_noise
        else "unhelped" if best is before
        else "solved" if best.within_noise
        else "better"
    )  # fmt: skip
    then = {"calibrated": _calibrated, "unhelped": _unhelped, "solved": _solved, "better": _better}[verdict]
    return Answer(verdict, says, accuracy, _found(before, says, accuracy), then(before, best, methods))


def _found(before: Entry, says: float, right: float) -> str:
    sentence = f"Your classifier says {whole_percent(says)} and is right {whole_percent(right)} of the time"
    if whole_percent(says) != whole_percent(right) or before.within_noise:
        return f"{sentence}."
    ece = write_score("ece", before.scores["ece"])
    return f"{sentence} on average, but sample by sample the two differ: its ECE is {ece}."


def _calibrated(before: Entry, best: Entry, methods: int) -> str:
    already = "That is calibrated already, within the noise: nothing needs doing."
    if best is before:
        return already
    return f"{already} {_capital(best.full_name)} only lowers the Brier score, {_change('brier', before, best)}."


def _unhelped(before: Entry, best: Entry, methods: int) -> str:
    if methods == 1:
        return "No method was compared with it."
    return f"None of the {methods - 1} methods lowers its Brier score on these data."


def _solved(before: Entry, best: Entry, methods: int) -> str:
    return f"With {best.full_name} the two agree within the noise."


def _better(before: Entry, best: Entry, methods: int) -> str:
    floor = write_score("ece_floor_p95", best.scores["ece_floor_p95"])
    if best.scores["ece"] < before.scores["ece"]:
        change = _change("ece", before, best)
        return f"With {best.full_name} the ECE falls {change}, still more than the {floor} that is noise."
    change, ece = _change("brier", before, best), write_score("ece", best.scores["ece"])
    return (
        f"With {best.full_name} the Brier score falls {change}, but its ECE of {ece} is more than the {floor} of noise."
    )


def _capital(name: str) -> str:
    return name[0].upper() + name[1:]


def _change(metric: str, before: Entry, best: Entry) -> str:
    return f"from {write_score(metric, before.scores[metric])} to {write_score(metric, best.scores[metric])}"
