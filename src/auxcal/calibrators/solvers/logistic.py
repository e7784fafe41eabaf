"""Small logistic regressions of Platt's kind, by Newton's method."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from auxcal._core.arrays import Floats, Weight
from auxcal.calibrators.solvers.newton import damped_newton
from auxcal.calibrators.solvers.targets_and_weights import deviation, mean, size

_MAX_STEPS = 100  # a safeguard: a fit that reaches it warns
_WORTHWHILE = 1e-12  # nats for each row: what Newton's step must promise for another to follow it
_RIDGE = 1e-8  # decides only what the data leave open, for instance the slope where all scores are equal
_BLOCKS = 200  # of rows, for where to start and for the curvature; the gradient is that of all rows


class Rows(NamedTuple):
    """Features of rows with an intercept, of shape (d + 1, n), and the share of the total weight of each row."""

    x: Floats
    share: Floats | float


def fit_logistic(
    features: Floats, of_hits: Floats, weight: Weight | None = None, weight_of_hits: Weight | None = None
) -> tuple[Floats, bool]:
    """Fit a logistic regression of features that rise with a score; return θ, intercept last, and if it converged.

    Platt's targets, (N₊ + 1) / (N₊ + 2) for hits and 1 / (N₋ + 2) for the rest, keep the optimum finite, even if
    hits and misses are separable or one of them is missing. The features (d, n) of all rows are in the order of their
    scores; `of_hits` (d, N₊) are those of the hits. With weights, N₊ and N₋ are their sums.
    """
    n, positive = size(features.shape[1], weight), size(of_hits.shape[1], weight_of_hits)
    if weight is None:
        centre, scale = features.mean(axis=1, keepdims=True), features.std(axis=1, keepdims=True)
    else:
        moments = mean(features, weight, axis=1), deviation(features, weight, axis=1)
        centre, scale = (moment[:, None].astype(features.dtype) for moment in moments)
    scale = scale.max() or scale.dtype.type(1)  # one for all: what barely varies can't have a slope made of rounding
    x, x_hits = (_with_intercept((part - centre) / scale) for part in (features, of_hits))
    hit, miss = (positive + 1) / (positive + 2), 1 / (n - positive + 2)
    if weight is None or weight_of_hits is None:
        wanted = miss * x.mean(axis=1) + (hit - miss) * x_hits.sum(axis=1) / n
    else:
        wanted = (miss * x @ weight + (hit - miss) * x_hits @ weight_of_hits) / n
    start = np.zeros(len(x))
    start[-1] = np.log((positive + 1) / (n - positive + 1))
    # The hits count in `wanted` only. The rest are means over the rows, which blocks of them give nearly: near enough
    # for where to start, and for the curvature.
    rows, blocks = Rows(x, 1 / n if weight is None else weight / n), _blocks(x, weight)
    with np.errstate(over="ignore"):
        near, _ = _fit(blocks, blocks, wanted, start)
        theta, converged = _fit(rows, blocks, wanted, near)
    slopes = theta[:-1] / scale
    return np.append(slopes, theta[-1] - slopes @ centre[:, 0]), converged


def unconverged(converged: Sequence[bool]) -> str | None:
    """Return how many of the regressions did not converge, as a message, if any."""
    missed = len(converged) - sum(converged)
    return f"{missed} of {len(converged)} maps did not reach their optimum." if missed else None


def _with_intercept(x: Floats) -> Floats:
    return np.concatenate([x, np.ones_like(x[:1])])


def _blocks(x: Floats, weight: Weight | None) -> Rows:
    """Return the means of consecutive blocks of rows, smaller ones towards the highest scores, where most hits are."""
    n = x.shape[1]
    begin = np.unique((n * (1 - np.linspace(1, 0, _BLOCKS, endpoint=False) ** 2)).astype(int))
    if weight is not None:
        shares = np.add.reduceat(weight, begin)
        return Rows((np.add.reduceat(x * weight, begin, axis=1) / shares).astype(x.dtype), shares / weight.sum())
    sizes = np.diff(begin, append=n)
    return Rows((np.add.reduceat(x, begin, axis=1) / sizes).astype(x.dtype), (sizes / n).astype(x.dtype))


class _Gradient(NamedTuple):
    gradient: Floats


def _fit(rows: Rows, blocks: Rows, wanted: Floats, theta: Floats) -> tuple[Floats, bool]:
    """Find the θ at which the mean of σ(θ · x) x equals the target: a root of the gradient."""
    ridge = _RIDGE * np.eye(len(theta))

    def evaluate(theta: Floats) -> _Gradient:
        return _Gradient(_mean(theta, rows) - wanted)

    def solve(theta: Floats, point: _Gradient) -> Floats:
        return np.asarray(np.linalg.solve(_curvature(theta, blocks) + ridge, point.gradient + _RIDGE * theta))

    def overshoots(before: _Gradient, after: _Gradient, step: Floats) -> bool:
        """Whether the step ends on a slope upwards that is half as steep as the one downwards, or steeper."""
        return -float(after.gradient @ step) > float(before.gradient @ step) / 2

    return damped_newton(theta, evaluate, solve, overshoots, worthwhile=_WORTHWHILE, max_steps=_MAX_STEPS)


def _mean(theta: Floats, rows: Rows) -> Floats:
    return np.asarray(rows.x @ (_sigmoid(theta, rows.x) * rows.share), dtype=np.float64)


def _curvature(theta: Floats, rows: Rows) -> Floats:
    p = _sigmoid(theta, rows.x)
    return np.vecdot((rows.x * (p * (1 - p) * rows.share))[:, None], rows.x)


def _sigmoid(theta: Floats, x: Floats) -> Floats:
    """Return σ(θ · x) in the precision of x; where the exponential overflows, it is correctly 0."""
    p = -theta.astype(x.dtype) @ x
    np.exp(p, out=p)
    p += 1
    return np.reciprocal(p, out=p)
