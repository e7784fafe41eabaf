"""Whether the claims of the paper hold in our results."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from auxcal._core.text import write_score
from auxcal.metrics import METRICS
from auxcal_paper.methods import METHODS
from auxcal_paper.paper import paper_table
from auxcal_paper.results import Results, spread
from auxcal_paper.suites import Suite

PAPER_METHODS = ("uncalibrated", "temperature", "scaling-binning", "dirichlet", "ccac", "ccac-s", "ccac-t")
"""The methods of the paper's tables, in its order."""

BASELINES = (*PAPER_METHODS[:4], "temperature-uniform", "dirichlet-uniform")
"""What the paper compares its methods with: MP, TS, SB and Dirichlet, the latter in both ways with rows of no class."""

Outcome = Literal["holds", "open", "fails", "unclaimed"]

WORDS: dict[Outcome, str] = {
    "holds": "holds",
    "open": "undecided, within one standard error",
    "fails": "does not hold",
    "unclaimed": "not claimed: the paper's own numbers lose",
}
SIGNS: dict[Outcome, str] = {"holds": "✓", "open": "≈", "fails": "✗", "unclaimed": "○"}


@dataclass(frozen=True)
class Claim:
    """One of the methods of `champions` is better in `metric` than all of its `rivals`, the paper's baselines."""

    name: str
    text: str
    metric: str
    champions: tuple[str, ...]
    rivals: tuple[str, ...] = BASELINES


CLAIMS = (
    Claim("ece", "CCAC or CCAC-S has the best ECE", "ece", ("ccac", "ccac-s")),
    Claim("brier", "CCAC or CCAC-S has the best Brier score", "brier", ("ccac", "ccac-s")),
    Claim("auroc", "CCAC or CCAC-S has the best AUROC", "auroc", ("ccac", "ccac-s")),
    Claim("transfer-ece", "CCAC-T has a better ECE than the baselines", "ece", ("ccac-t",)),
    Claim("transfer-brier", "CCAC-T has a better Brier score than the baselines", "brier", ("ccac-t",)),
)
"""The paper's claims about each of its tables."""

_ALL_OTHERS = tuple(name for name, method in METHODS.items() if name != "ccac-x" and method.source is None)

OUR_CLAIMS = tuple(
    Claim(metric, f"CCAC-X has the best {label}", metric, ("ccac-x",), _ALL_OTHERS)
    for metric, label in {"auroc": "AUROC", "aupr": "AUPR", "brier": "Brier score"}.items()
)
"""What we claim of the default, against all other methods with the same labels."""


@dataclass(frozen=True)
class Verdict:
    """The verdict on a claim, and the numbers behind it."""

    claim: Claim
    outcome: Outcome
    text: str


def verdicts(suite: Suite, shift: str, here: Results) -> list[Verdict | None]:
    """Judge the paper's claims on the results of one suite and shift, each in its place; None where there is none."""
    tables = [found for experiment in suite.stands_for if (found := paper_table(*experiment, shift))]
    judged = [judge(claim, here) if tables else None for claim in CLAIMS]
    borne = [all(is_borne(claim, table) for table in tables) for claim in CLAIMS]
    return [
        replace(verdict, outcome="unclaimed") if verdict and not claimed else verdict
        for verdict, claimed in zip(judged, borne, strict=True)
    ]


def is_borne(claim: Claim, table: Mapping[str, Mapping[str, float]]) -> bool:
    """Whether the paper's own numbers in one of its tables bear a claim.

    Examples
    --------
    >>> from auxcal_paper.pages.claims import CLAIMS, is_borne
    >>> from auxcal_paper.paper import paper_table
    >>> is_borne(CLAIMS[0], paper_table("VGG16", "CIFAR-10", "D1")), is_borne(
    ...     CLAIMS[0], paper_table("VGG16", "CIFAR-100", "D1"))
    (True, False)
    """
    means = {
        name: scores[claim.metric]
        for name in PAPER_METHODS
        if claim.metric in (scores := table.get(METHODS[name].label, {}))
    }
    champion, rival = _best(claim, means, claim.champions), _best(claim, means, claim.rivals)
    return champion is not None and rival is not None and _sign(claim) * (means[champion] - means[rival]) > 0


def judge(claim: Claim, here: Results) -> Verdict | None:
    """Judge a claim on the results of one suite and shift; None if there is nothing to compare.

    The best champion is compared with the best baseline in every random state. The claim holds if it is better by more
    than one standard error of these differences, and fails if it is worse by more.

    Examples
    --------
    >>> from auxcal_paper import Results, Row
    >>> from auxcal_paper.results import SCORES
    >>> def row(method, random_state, ece):
    ...     scores = dict.fromkeys(SCORES, 0.5) | {"ece": ece}
    ...     return Row("r8-dan", "D1", method, random_state, 3000, 500, 1500, 0.9, 1.2, True, scores)
    >>> here = Results((row("ccac", 0, 0.01), row("ccac", 1, 0.02), row("temperature", 0, 0.04),
    ...                 row("temperature", 1, 0.05)))
    >>> from auxcal_paper.pages import CLAIMS, judge
    >>> judge(CLAIMS[0], here).text
    'CCAC 1.5 %, TS 4.5 %'
    """
    means = {name: here.where(method=name).spread(claim.metric).mean for name in here.distinct("method")}
    means = {name: mean for name, mean in means.items() if not math.isnan(mean)}
    champion, rival = _best(claim, means, claim.champions), _best(claim, means, claim.rivals)
    if champion is None or rival is None:
        return None
    outcome = _outcome(_advantages(claim, here, champion, rival))
    text = f"{_named(claim, means, champion)}, {_named(claim, means, rival)}"
    beyond = _best(claim, means, tuple(set(means) - {*PAPER_METHODS, *claim.champions, *claim.rivals}))
    if claim.rivals == BASELINES and beyond is not None and _sign(claim) * (means[beyond] - means[champion]) > 0:
        text += f"; of the methods that the paper leaves out, {_named(claim, means, beyond)}"
    return Verdict(claim, outcome, text)


def _outcome(advantages: list[float]) -> Outcome:
    mean, deviation = spread(advantages)
    error = deviation / math.sqrt(len(advantages))
    if mean > error:
        return "holds"
    return "open" if mean >= -error else "fails"


def _advantages(claim: Claim, here: Results, champion: str, rival: str) -> list[float]:
    own = here.where(method=champion).scores(claim.metric)
    other = here.where(method=rival).scores(claim.metric)
    return [_sign(claim) * (own[state] - other[state]) for state in own if state in other]


def _best(claim: Claim, means: dict[str, float], names: tuple[str, ...]) -> str | None:
    present = [name for name in METHODS if name in names and name in means]
    return max(present, key=lambda name: _sign(claim) * means[name], default=None)


def _sign(claim: Claim) -> int:
    return 1 if METRICS[claim.metric].higher_is_better else -1


def _named(claim: Claim, means: dict[str, float], name: str) -> str:
    return f"{METHODS[name].label} {write_score(claim.metric, means[name])}"
