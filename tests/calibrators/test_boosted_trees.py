"""Boosted trees: what they learn, what they leave alone, and that they are the same for every number of rows."""

import numpy as np
import pytest

from auxcal.calibrators.ccac_x.evidence import log_likelihoods
from auxcal.calibrators.solvers.boosted_trees import Trees, cross_fit_trees

N = 1200


def fitted(x, chance, **further) -> tuple[Trees, np.ndarray, np.ndarray]:
    correct = np.random.default_rng(1).random(len(x)) < chance
    trees, held_out = cross_fit_trees(x, correct, np.zeros(len(x)), np.arange(len(x)) % 5, random_state=0, **further)
    return trees, held_out, correct


@pytest.fixture(scope="module")
def x():
    return np.random.default_rng(0).normal(size=(N, 3))


def test_learn_what_is_not_additive(x):
    trees, held_out, correct = fitted(x, np.where(x[:, 0] * x[:, 1] > 0, 0.9, 0.1))
    assert np.mean((trees.log_odds(x) > 0) == (x[:, 0] * x[:, 1] > 0)) > 0.9
    assert log_likelihoods(held_out[:, None], correct)[0] > -0.5 * N


def test_learn_nothing_where_there_is_nothing(x):
    trees, held_out, _ = fitted(x, 0.5)
    assert np.abs(held_out).mean() < 0.1
    assert np.abs(trees.log_odds(x)).mean() < 0.15


def test_gaps_tell(x):
    gap = x[:, 0] > 0
    with_gaps = x.copy()
    with_gaps[gap, 1] = np.nan
    trees, _, _ = fitted(with_gaps, np.where(gap, 0.8, 0.2))
    log_odds = trees.log_odds(with_gaps)
    assert log_odds[gap].min() > log_odds[~gap].max()


def test_inputs_that_may_only_raise_the_log_odds_do(x):
    rises = np.array([True, True, False])
    trees, _, _ = fitted(x, np.where(x[:, 0] > 1, 0.2, 0.5 + 0.2 * np.sin(x[:, 2])), increasing=rises)
    for j in np.flatnonzero(rises):
        rows = np.repeat(x[:200, None], 20, axis=1)
        rows[:, :, j] = np.linspace(-3, 3, 20)
        steps = np.diff(trees.log_odds(rows.reshape(-1, 3)).reshape(200, 20), axis=1)
        assert steps.min() >= -1e-12


def test_a_row_does_not_depend_on_the_others(x):
    trees, _, _ = fitted(x, np.where(x[:, 0] > 0, 0.8, 0.3))
    assert np.array_equal(trees.log_odds(x[:7]), trees.log_odds(x)[:7])


def test_a_weight_counts_rows(x):
    folds, correct = np.arange(N) % 5, x[:, 0] > 0
    once, _ = cross_fit_trees(x, correct, np.zeros(N), folds, np.full(N, 2.0), random_state=0)
    twice, _ = cross_fit_trees(
        *(np.concatenate([each, each]) for each in (x, correct, np.zeros(N), folds)), random_state=0
    )
    np.testing.assert_allclose(once.log_odds(x), twice.log_odds(x), atol=1e-6)
