"""Whether the claims of the paper hold in our results."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from auxcal._core.text import write_score
from auxcal.calibrators.auxiliary import RecipeName
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
    "open": "undecided",
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
    recipe: RecipeName = "fast"

    def by_paper_recipe(self) -> Claim:
        """Return the claim about the networks that are trained by the paper's recipe."""
        return replace(self, champions=tuple(f"{name}-paper" for name in self.champions), recipe="paper")


CLAIMS = (
    Claim("ece", "CCAC or CCAC-S has the best ECE", "ece", ("ccac", "ccac-s")),
    Claim("brier", "CCAC or CCAC-S has the best Brier score", "brier", ("ccac", "ccac-s")),
    Claim("auroc", "CCAC or CCAC-S has the best AUROC", "auroc", ("ccac", "ccac-s")),
    Claim("transfer-ece", "CCAC-T has a better ECE than the baselines", "ece", ("ccac-t",)),
    Claim("transfer-brier", "CCAC-T has a better Brier score than the baselines", "brier", ("ccac-t",)),
)
"""The paper's claims about each of its tables."""

RECIPES: dict[RecipeName, str] = {"fast": "ours", "paper": "the paper's"}
"""What the pages call the recipes."""

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


def verdicts(suite: Suite, shift: str, here: Results) -> list[Verdict]:
    """Judge the paper's claims on the results of one suite and shift, by both recipes, as far as there are any."""
    tables = [table for experiment in suite.stands_for if (table := paper_table(*experiment, shift))]
    found: list[Verdict] = []
    for claim in CLAIMS if tables else ():
        borne = all(is_borne(claim, table) for table in tables)
        judged = filter(None, (judge(claim, here), judge(claim.by_paper_recipe(), here)))
        found += [verdict if borne else replace(verdict, outcome="unclaimed") for verdict in judged]
    return found


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
        for name in claim.champions + claim.rivals
        if claim.metric in (scores := table.get(METHODS[name].label_in_paper, {}))
    }
    champion, rival = _best(claim, means, claim.champions), _best(claim, means, claim.rivals)
    return champion is not None and rival is not None and _sign(claim) * (means[champion] - means[rival]) > 0


def judge(claim: Claim, here: Results) -> Verdict | None:
    """Judge a claim on the results of one suite and shift; None if there is nothing to compare.

    The best champion is compared with the best baseline in every random state. The claim holds if it is better by more
    than one standard error of these differences, and fails if it is worse by more. One random state decides nothing.
    The text has the numbers, and names the methods that the claim is about and that were not run.

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
    'CCAC 1.5 %, TS 4.5 %; not run: MP, SB, Dirichlet, CCAC-S'
    """
    means = {name: here.where(method=name).spread(claim.metric).mean for name in here.distinct("method")}
    means = {name: mean for name, mean in means.items() if not math.isnan(mean)}
    champion, rival = _best(claim, means, claim.champions), _best(claim, means, claim.rivals)
    if champion is None or rival is None:
        return None
    advantages = _advantages(claim, here, champion, rival)
    text = f"{_named(claim, means, champion)}, {_named(claim, means, rival)}"
    if claim.rivals == BASELINES:
        text += _beyond(claim, means, champion) + _not_run(claim, here, means)
    if len(advantages) == 1:
        text += "; one random state"
    return Verdict(claim, _outcome(advantages), text)


def _beyond(claim: Claim, means: dict[str, float], champion: str) -> str:
    """Name the method that is better than the paper's and not among them."""
    in_paper = {METHODS[name].label for name in PAPER_METHODS}
    names = tuple(name for name in means if METHODS[name].label_in_paper not in in_paper and name not in claim.rivals)
    best = _best(claim, means, names)
    if best is None or _sign(claim) * (means[best] - means[champion]) <= 0:
        return ""
    return f"; of the methods that the paper leaves out, {_named(claim, means, best)}"


def _not_run(claim: Claim, here: Results, means: dict[str, float]) -> str:
    """Name the methods that the claim is about on this shift and that have no results."""
    (shift,) = here.distinct("shift")
    wanted = [name for name in METHODS if name in claim.rivals + claim.champions and METHODS[name].applies_to(shift)]
    absent = [METHODS[name].label for name in wanted if name not in means]
    return f"; not run: {', '.join(absent)}" if absent else ""


def _outcome(advantages: list[float]) -> Outcome:
    if len(advantages) == 1:
        return "open"
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
