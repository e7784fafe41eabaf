"""Evidence: what Laplace's approximation gives, and how far a few nats may decide."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import norm

from auxcal.calibrators.ccac_x.evidence import (
    WIDTHS,
    log_likelihoods,
    log_marginal_likelihood,
    weights_by_evidence,
    width_by_evidence,
)


def nll(log_odds, correct):
    return np.logaddexp(0, np.where(correct, -log_odds, log_odds)).sum()


# The log marginal likelihood ------------------------------------------------------------------------------------------


def test_of_a_quadratic_loss_it_is_the_integral():
    widths = np.array([0.5, 2.0])
    curvature, best = np.array([[3.0, 1.0], [1.0, 2.0]]), np.array([0.4, -0.7])

    def loss(theta):
        return np.vecdot((theta - best) @ curvature, theta - best) / 2

    grid = np.linspace(-8, 8, 801)
    theta = np.stack(np.meshgrid(grid, grid), axis=-1)
    density = np.exp(-loss(theta)) * norm.pdf(theta, scale=widths).prod(axis=-1)
    optimum = np.linalg.solve(curvature + np.diag(widths**-2.0), curvature @ best)
    at_optimum = loss(optimum) + np.sum((optimum / widths) ** 2) / 2
    integral = density.sum() * (grid[1] - grid[0]) ** 2
    assert log_marginal_likelihood(at_optimum, curvature, widths) == pytest.approx(np.log(integral), abs=1e-6)


@pytest.mark.parametrize("width", WIDTHS)
def test_of_a_logistic_slope_it_is_the_integral_nearly(width):
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    correct = rng.random(60) < expit(1.3 * x)
    theta = minimize(lambda slope: nll(slope * x, correct) + (slope[0] / width) ** 2 / 2, [0.0]).x[0]
    p = expit(theta * x)
    loss = nll(theta * x, correct) + (theta / width) ** 2 / 2
    found = log_marginal_likelihood(loss, np.array([[np.sum(p * (1 - p) * x**2)]]), np.array([width]))
    grid = np.linspace(-8, 8, 20_001)
    likelihood = np.exp([-nll(slope * x, correct) for slope in grid])
    integral = np.sum(likelihood * norm.pdf(grid, scale=width)) * (grid[1] - grid[0])
    assert found == pytest.approx(np.log(integral), abs=0.02)


def test_blocks_count_as_the_sum_of_each_alone_and_a_diagonal_as_blocks():
    rng = np.random.default_rng(0)
    widths, diagonal = rng.uniform(0.1, 3, size=(2, 3, 4))
    blocks = np.stack([np.diag(each) for each in diagonal])
    alone = sum(log_marginal_likelihood(0, block, of_it) for block, of_it in zip(blocks, widths, strict=True))
    assert log_marginal_likelihood(0, blocks, widths) == pytest.approx(alone)
    assert log_marginal_likelihood(0, diagonal, widths) == pytest.approx(alone)


def test_directions_that_the_likelihood_can_not_see_cost_nothing():
    curvature, widths = 2 * np.eye(4), np.ones(4)
    assert log_marginal_likelihood(5, curvature, widths, share=0.75) == pytest.approx(-5 - 3 * np.log(3) / 2)
    assert log_marginal_likelihood(5, 0 * curvature, widths) == -5


def test_log_likelihoods_are_those_of_each_base_calibrator():
    p = np.array([[0.9, 0.5], [0.2, 0.5], [0.6, 0.5]])
    found = log_likelihoods(np.log(p / (1 - p)), np.array([True, False, True]))
    assert found == pytest.approx([np.log(0.9 * 0.8 * 0.6), 3 * np.log(0.5)])


# What it decides ------------------------------------------------------------------------------------------------------


def test_with_no_evidence_the_weights_are_the_prior():
    assert weights_by_evidence(np.full(3, -7.0), np.array([2.0, 3.0, 5.0])) == pytest.approx([0.2, 0.3, 0.5])
    assert weights_by_evidence(np.full(4, 7.0)) == pytest.approx(0.25)


def test_three_nats_are_worth_a_factor_of_e_and_six_its_square():
    best, less, least = weights_by_evidence(np.array([-100.0, -103.0, -106.0]))
    assert best / less == pytest.approx(np.e)
    assert best / least == pytest.approx(np.e**2)
    assert best + less + least == pytest.approx(1)


def test_the_width_is_the_geometric_mean():
    assert width_by_evidence(np.zeros(len(WIDTHS))) == pytest.approx(np.exp(np.log(WIDTHS).mean()))
    for i, width in enumerate(WIDTHS):
        assert width_by_evidence(np.where(np.arange(len(WIDTHS)) == i, 0, -1e3)) == pytest.approx(width)
    half = np.array([0.0, -1e3, 0.0, -1e3, -1e3])
    assert width_by_evidence(half) == pytest.approx(np.sqrt(WIDTHS[0] * WIDTHS[2]))
    assert width_by_evidence(half, np.array([3.0, 1, 1, 1, 1])) == pytest.approx(WIDTHS[0] ** 0.75 * WIDTHS[2] ** 0.25)
