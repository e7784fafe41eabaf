"""A claim holds, is open or fails by the differences in the single random states."""

import math

import pytest

from auxcal_paper.pages.claims import CLAIMS, is_borne, judge, verdicts
from auxcal_paper.paper import paper_table, paper_tables
from auxcal_paper.results import SCORES, Results, Row
from auxcal_paper.suites import suite

ECE, BRIER, AUROC, TRANSFER, _ = CLAIMS


def results(metric, **values):
    rows = []
    for method, scores in values.items():
        for state, score in enumerate(scores):
            full = dict.fromkeys(SCORES, 0.5) | {metric: score}
            rows.append(Row("r8-dan", "D1", method.replace("_", "-"), state, 9, 9, 9, 0.9, 0.1, True, full))
    return Results(tuple(rows))


@pytest.mark.parametrize(
    ("ccac", "temperature", "outcome"),
    [
        ((0.01, 0.02), (0.03, 0.04), "holds"),
        ((0.03, 0.04), (0.01, 0.02), "fails"),
        ((0.01, 0.04), (0.02, 0.02), "open"),
        ((0.02, 0.02), (0.02, 0.02), "open"),
        ((0.01,), (0.02,), "open"),  # one random state decides nothing
        ((0.01, 0.05), (0.02, 0.06), "holds"),  # the difference is the same in both states
    ],
)
def test_less_ece_is_better_by_more_than_its_error(ccac, temperature, outcome):
    assert judge(ECE, results("ece", ccac=ccac, temperature=temperature)).outcome == outcome


def test_more_auroc_is_better():
    verdict = judge(AUROC, results("auroc", ccac_s=(0.9, 0.9), ccac=(0.7, 0.7), temperature=(0.8, 0.8)))
    assert verdict.outcome == "holds"
    assert verdict.text == "CCAC-S 0.900, TS 0.800; not run: MP, SB, Dirichlet"


def test_the_best_baseline_is_the_rival_and_others_are_mentioned_only():
    values = {"uncalibrated": 0.09, "temperature": 0.05, "scaling_binning": 0.06, "dirichlet": 0.03}
    values |= {"ccac": 0.02, "ccac_s": 0.04, "platt": 0.01, "ccac_t": 0.001, "ccac_paper": 0.002}
    verdict = judge(ECE, results("ece", **{name: (value, value) for name, value in values.items()}))
    assert verdict.outcome == "holds"
    assert verdict.text == "CCAC 2.0 %, Dirichlet 3.0 %; of the methods that the paper leaves out, Platt 1.0 %"


def test_what_was_not_run_and_a_single_random_state_are_named():
    verdict = judge(BRIER, results("brier", ccac_s=(0.1,), temperature=(0.2,), dirichlet=(0.3,)))
    assert verdict.text == "CCAC-S 0.100, TS 0.200; not run: MP, SB, CCAC; one random state"


def test_each_claim_is_judged_by_both_recipes():
    here = results("ece", ccac=(0.01, 0.01), ccac_paper=(0.05, 0.05), temperature=(0.02, 0.02))
    ours, papers, *_ = verdicts(suite("r8-dan"), "D1", here)
    assert (ours.claim.recipe, ours.outcome) == ("fast", "holds")
    assert (papers.claim.recipe, papers.outcome) == ("paper", "fails")
    assert papers.text.startswith("CCAC (paper's recipe) 5.0 %, TS 2.0 %")


def test_the_transfer_is_judged_by_itself():
    here = results("ece", ccac=(0.01, 0.01), ccac_t=(0.06, 0.06), temperature=(0.05, 0.05))
    assert judge(TRANSFER, here).outcome == "fails"


def test_without_numbers_there_is_no_verdict():
    assert judge(ECE, results("ece", ccac=(0.1,))) is None
    assert judge(TRANSFER, results("ece", ccac=(0.1,), temperature=(0.1,))) is None
    assert judge(AUROC, results("auroc", ccac=(math.nan,), temperature=(0.8,))) is None


def test_rows_of_no_class_are_counted_the_way_that_makes_the_rival_stronger():
    here = results("ece", ccac=(0.05,), temperature=(0.15,), temperature_uniform=(0.08,), dirichlet_uniform=(0.06,))
    assert judge(ECE, here).text.startswith("CCAC 5.0 %, Dirichlet (NULL uniform) 6.0 %;")


def test_the_papers_own_tables_bear_most_of_its_claims():
    tables = [paper_table(*experiment, shift) for experiment, shifts in paper_tables().items() for shift in shifts]
    assert [sum(is_borne(claim, table) for table in tables) for claim in CLAIMS] == [21, 22, 22, 12, 10]


def test_where_the_papers_own_numbers_lose_nothing_is_refuted():
    here = results("ece", ccac=(0.05, 0.05), temperature=(0.01, 0.01))
    losing, winning = suite("cifar100-resnet56"), suite("cifar10-resnet56")  # ECE on D1: 2.4 > 1.6 %, 1.4 < 4.3 %
    assert verdicts(losing, "D1", here)[0].outcome == "unclaimed"
    assert verdicts(winning, "D1", here)[0].outcome == "fails"
    assert verdicts(winning, "D0", here) == []
