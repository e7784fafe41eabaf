"""Weights and groups in the fits; that a weight is a number of rows is a check of every calibrator."""

import numpy as np
import pytest

from auxcal import (
    CALIBRATORS,
    CCACX,
    Dirichlet,
    InvalidInputError,
    Predictions,
    SimplifiedCCAC,
    StructuredMatrixScaling,
    TemperatureScaling,
)
from auxcal.calibrators import Calibrator
from auxcal.calibrators.solvers.targets_and_weights import deviation, mean, quantiles
from auxcal.testing._trials import sample

DATA = sample(n=300)
RNG = np.random.default_rng(0)
WEIGHT = RNG.integers(4, size=300)
ROWS = np.repeat(np.arange(300), WEIGHT)
REPEATED = DATA.take(ROWS)


def test_all_of_ours_use_weights():
    assert all(kind.uses_weights for kind in CALIBRATORS.values())


@pytest.mark.parametrize("kind", [StructuredMatrixScaling, CCACX])
def test_the_sum_of_weights_is_how_many_rows_the_data_are_worth(kind):
    """A prior gives way as rows, or their weights, become more."""
    few, many = (kind().fit(DATA.logits, DATA.y, sample_weight=np.full(300, w)) for w in (0.1, 30))
    confidence = [each.predict_confidence(DATA.logits) for each in (few, many)]
    loss = [np.mean((each - DATA.correct) ** 2) for each in confidence]
    assert loss[1] < loss[0] - 1e-3


def test_a_weight_is_a_number_of_rows_where_copies_are_not_looked_for(monkeypatch):
    """Which rows matter to the evidence is a matter of their curvature, too, not of how often they count."""
    room = "auxcal.calibrators.ccac_x.method"  # in which copies would count once
    monkeypatch.setattr(f"{room}.merge_copies", lambda data: (data, slice(None)))
    monkeypatch.setattr(f"{room}.weigh_units", lambda data: data)
    data = sample(n_classes=8)
    weight = np.random.default_rng(0).integers(4, size=len(data))
    rows = np.repeat(np.arange(len(data)), weight)
    weighted = CCACX(random_state=0).fit(data.logits, data.y, sample_weight=weight)
    repeated = CCACX(random_state=0).fit(data.logits[rows], data.y[rows], groups=rows)
    assert weighted.widths_ == pytest.approx(repeated.widths_, rel=1e-4)
    confidence = [each.predict_confidence(data.logits) for each in (weighted, repeated)]
    assert confidence[0] == pytest.approx(confidence[1], abs=1e-3)


def test_shares_are_not_taken_for_counts():
    with pytest.raises(InvalidInputError, match="Multiply shares by the number of rows"):
        TemperatureScaling().fit(DATA.logits, DATA.y, sample_weight=np.full(300, 1 / 300))


@pytest.mark.parametrize("weight", [1e300, 1e16, 1e-300])
def test_weights_that_no_sum_can_hold_are_refused(weight):
    with pytest.raises(InvalidInputError, match="at least 1e-15 and at most 1e"):
        Predictions(DATA.logits, DATA.y, sample_weight=np.full(300, weight))


def test_hyper_parameters_are_chosen_by_the_weights_of_the_select_part():
    weighted, other = Predictions(DATA.logits, DATA.y, sample_weight=WEIGHT), sample(n=400, seed=9)
    fits = [
        Dirichlet().fit(other.logits, other.y, select=select)
        for select in (weighted, (REPEATED.logits, REPEATED.y), (DATA.logits, DATA.y))
    ]
    scores = [fit.candidates_["score"] for fit in fits]
    assert scores[0] == pytest.approx(scores[1], rel=1e-9)
    assert scores[0] != pytest.approx(scores[2], rel=1e-3)


def test_copies_in_a_group_count_once_and_a_weight_as_often_as_it_says():
    """Copies of a row in other folds would tell the answer, and ten of them tell no more than one."""
    rows = np.repeat(np.arange(60), 10)
    data, once = DATA.take(rows), DATA.take(slice(60))
    alone, grouped, single, weighted = (
        CCACX(random_state=0).fit(part.logits, part.y, groups=groups, sample_weight=weight).voices_
        for part, groups, weight in (
            (data, None, None),
            (data, rows, None),
            (once, None, None),
            (once, None, [10] * 60),
        )
    )
    assert np.array_equal(alone, single)
    assert np.array_equal(grouped, single)
    assert weighted != pytest.approx(single, abs=1e-2)


def test_groups_of_one_part_are_refused_where_both_are_used_alike():
    with pytest.raises(InvalidInputError, match="both parts must have groups or neither"):
        CCACX().fit(DATA.logits, DATA.y, select=(DATA.logits, DATA.y), groups=np.arange(300))
    with pytest.raises(InvalidInputError, match="needs at least 2 groups; got 1"):
        CCACX().fit(DATA.logits, DATA.y, groups=np.zeros(300, int))


class Unaware(Calibrator):
    """One of a user, from before there were weights."""

    abbreviation, reference = "U", "these tests"

    def _fit(self, data):
        self.share_ = float(data.correct.mean())

    def _confidence(self, logits):
        return np.full(len(logits), self.share_)


def test_one_that_does_not_know_of_weights_says_so():
    assert Unaware().fit(DATA.logits, DATA.y, groups=np.arange(300)).share_ == DATA.correct.mean()
    with pytest.raises(InvalidInputError, match="Unaware counts every row once; got sample_weight"):
        Unaware().fit(DATA.logits, DATA.y, sample_weight=WEIGHT)


def test_score_counts_weights():
    fitted = TemperatureScaling().fit(DATA.logits, DATA.y)
    expected = fitted.score(REPEATED.logits, REPEATED.y)
    assert fitted.score(DATA.logits, DATA.y, sample_weight=WEIGHT) == pytest.approx(expected, rel=1e-9)


def test_a_transfer_counts_weights():
    source = SimplifiedCCAC(hidden_sizes=(8,), lambda1=0, lambda2=1, mean="wrong", random_state=0)
    source.fit(DATA.logits, DATA.y)
    wrong = np.where(DATA.correct, 0.2, 3)
    plain, doubtful = (source.transfer(DATA.logits, DATA.y, sample_weight=each) for each in (None, wrong))
    means = [each.predict_confidence(DATA.logits).mean() for each in (plain, doubtful)]
    assert means[1] < means[0] - 0.2


def test_weighted_moments_are_those_of_repeated_rows():
    x = RNG.normal(size=(5, 300))
    repeated = x[:, ROWS]
    assert mean(x, WEIGHT, axis=1) == pytest.approx(repeated.mean(axis=1))
    assert deviation(x, WEIGHT, axis=1) == pytest.approx(repeated.std(axis=1))
    weight = WEIGHT[WEIGHT > 0].astype(float)
    shares = (0.0, 0.05, 0.31, 0.5, 0.95, 1.0)
    assert quantiles(x[:, WEIGHT > 0], shares, weight) == pytest.approx(np.quantile(repeated, shares, axis=1))
