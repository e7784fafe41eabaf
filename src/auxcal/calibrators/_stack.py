"""A stack: the log-odds of several methods weighed into one, with weights that few rows hardly move."""

from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from auxcal._arrays import Bools, Floats

_DOUBT = 5.0  # nats over all rows by which a method must be better to get e times the weight


def stack(log_odds: Floats, correct: Bools, start: Floats, hold: Floats) -> Floats:
    """Return weights of at least 0 for the columns, and last an offset, of least log-loss with a ridge around `start`.

    Parameters
    ----------
    log_odds : array of shape (n, m)
        What each method says of rows that it has not seen.
    correct : array of shape (n,)
    start : array of shape (m + 1,)
        The weights and the offset with no rows at all.
    hold : array of shape (m + 1,)
        How firmly each is held there: hold / 2 nats, over all rows, for a change of 1.
    """
    x = np.column_stack([log_odds, np.ones(len(log_odds))]).astype(np.float64)
    sign = np.where(correct, -1.0, 1.0)

    def loss(weights: Floats) -> tuple[float, Floats]:
        away = weights - start
        score = sign * (x @ weights)
        total = np.logaddexp(0, score).sum() + away @ (hold * away) / 2
        slope = x.T @ (sign * expit(score)) + hold * away
        return total / len(x), slope / len(x)

    bounds = [(0, None)] * (len(start) - 1) + [(None, None)]
    return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x)


def by_evidence(losses: Floats, prior: Sequence[float] = (1.0,)) -> Floats:
    """Return weights that add up to 1: the prior, and less of it for what has a larger loss, in nats over all rows.

    They would be the posterior but for the doubt, which keeps a few rows from deciding.
    """
    weights = np.multiply(prior, np.exp((losses.min() - losses) / _DOUBT))
    return np.asarray(weights / weights.sum())


def log_losses(log_odds: Floats, correct: Bools) -> Floats:
    """Return the log-loss of "the prediction is right" of each column, summed over the rows."""
    return np.asarray(np.logaddexp(0, np.where(correct, -1, 1)[:, None] * log_odds).sum(axis=0, dtype=np.float64))
