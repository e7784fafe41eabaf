"""Small logistic regressions of Platt's kind, by Newton's method."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from auxcal._arrays import Floats

_MAX_STEPS = 100
_MAX_HALVINGS = 30
_WORTHWHILE = 1e-9  # nats for each row: what Newton's step must promise for another to follow it
_RIDGE = 1e-9  # decides only what the data leave open, for instance the slope where all scores are equal
_GROUPS = 200


class Rows(NamedTuple):
    """Features of rows, an intercept with them, of shape (d + 1, n), and the share of all that each row stands for."""

    x: Floats
    share: Floats | float


def fit_logistic(features: Floats, of_hits: Floats) -> tuple[Floats, bool]:
    """Fit a logistic regression of features that rise with one score.

    Platt's targets, (N₊ + 1) / (N₊ + 2) for hits and 1 / (N₋ + 2) for the rest, keep the optimum finite, also where
    hits and misses can be separated or one of them is missing.

    Parameters
    ----------
    features : array of shape (d, n)
        Of all rows, in the order of their scores.
    of_hits : array of shape (d, N₊)

    Returns
    -------
    coefficients : array of shape (d + 1,), the intercept last
    converged : bool
    """
    n, positive = features.shape[1], of_hits.shape[1]
    centre, scale = features.mean(axis=1, keepdims=True), features.std(axis=1, keepdims=True)
    scale[scale == 0] = 1
    x, x_hits = (_with_intercept((part - centre) / scale) for part in (features, of_hits))
    hit, miss = (positive + 1) / (positive + 2), 1 / (n - positive + 2)
    wanted = miss * x.mean(axis=1) + (hit - miss) * x_hits.sum(axis=1) / n
    start = np.zeros(len(x))
    start[-1] = np.log((positive + 1) / (n - positive + 1))
    # The hits count in `wanted` only. The rest are means over the rows, which groups of them give nearly: near enough
    # for where to start, and for the curvature.
    rows, groups = Rows(x, 1 / n), _groups(x)
    with np.errstate(over="ignore"):
        near, _ = _newton(groups, groups, wanted, start)
        theta, converged = _newton(rows, groups, wanted, near)
    slopes = theta[:-1] / scale[:, 0]
    return np.append(slopes, theta[-1] - slopes @ centre[:, 0]), converged


def unconverged(converged: Sequence[bool]) -> str | None:
    """Say how many of the regressions did not reach their optimum, if any."""
    missed = len(converged) - sum(converged)
    return f"{missed} of {len(converged)} maps did not reach their optimum." if missed else None


def _with_intercept(x: Floats) -> Floats:
    return np.concatenate([x, np.ones_like(x[:1])])


def _groups(x: Floats) -> Rows:
    """Return the means of groups of rows in order, of ever fewer towards the highest scores, where most hits are."""
    n = x.shape[1]
    begin = np.unique((n * (1 - np.linspace(1, 0, _GROUPS, endpoint=False) ** 2)).astype(int))
    sizes = np.diff(begin, append=n)
    return Rows((np.add.reduceat(x, begin, axis=1) / sizes).astype(x.dtype), (sizes / n).astype(x.dtype))


def _newton(rows: Rows, groups: Rows, wanted: Floats, theta: Floats) -> tuple[Floats, bool]:
    """Find the θ at which the mean of σ(θ · x) x is the wanted one: the root of a gradient, so a minimum."""
    ridge = _RIDGE * np.eye(len(theta))
    gradient = _mean(theta, rows) - wanted
    for _ in range(_MAX_STEPS):
        step = np.linalg.solve(_curvature(theta, groups) + ridge, gradient + _RIDGE * theta)
        promised = float(gradient @ step)
        if promised <= 2 * _WORTHWHILE:
            return theta - step, True
        for _ in range(_MAX_HALVINGS):  # a step is too long if it ends on a slope upwards that is as steep
            gradient = _mean(theta - step, rows) - wanted
            if -float(gradient @ step) <= promised / 2:
                break
            step, promised = step / 2, promised / 2
        theta = theta - step
    return theta, False


def _mean(theta: Floats, rows: Rows) -> Floats:
    return np.asarray(rows.x @ (_sigmoid(theta, rows.x) * rows.share), dtype=np.float64)


def _curvature(theta: Floats, rows: Rows) -> Floats:
    p = _sigmoid(theta, rows.x)
    return np.vecdot((rows.x * (p * (1 - p) * rows.share))[:, None], rows.x)


def _sigmoid(theta: Floats, x: Floats) -> Floats:
    """Return σ(θ · x) in the precision of x; where the exponential overflows it is 0, as it should be."""
    p = -theta.astype(x.dtype) @ x
    np.exp(p, out=p)
    p += 1
    return np.reciprocal(p, out=p)
