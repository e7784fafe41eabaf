"""Newton's method for the softmax of scores that are linear in the parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol, Self

import numpy as np

from auxcal._arrays import Floats, Ints
from auxcal.calibrators.solvers.targets import add_targets, expected

MAX_STEPS = 200
_CHUNK = 2**19  # numbers that stay in the processor's cache
_MAX_INNER_STEPS = 250
WORTHWHILE = 1e-5  # nats over all rows for each number of θ; a sample's noise alone brings half a nat
_MOST_WORTHWHILE = 1e-3  # nats for each row, however many numbers there are
_NEGLIGIBLE = 1e-2  # of the mean curvature of a row
_DAMPING = 1e-5
_LEAST_DAMPING = 1e-13  # decides only what the data leave open


class Design(Protocol):
    """How the scores depend on θ, which has a row for each class: score of row n and class k = θ_k · φ_nk."""

    @property
    def sizes(self) -> Floats:
        """Return the squared length of the φ of each row."""

    def take(self, rows: Ints | slice) -> Self:
        """Return the design of some rows."""

    def scores(self, theta: Floats) -> Floats:
        """Return the scores, of shape (n, K)."""

    def adjoint(self, residual: Floats) -> Floats:
        """Return Σ_n residual_nk φ_nk, of the shape of θ."""

    def curvature(self, weight: Floats) -> Floats:
        """Return Σ_n weight_nk φ_nk φ_nkᵀ, one matrix for each class, or the mean of all where these are too many."""


class Quadratic(Protocol):
    """A penalty that is a quadratic form around some centre."""

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        """Return the penalty and its gradient."""

    def along(self, direction: Floats) -> Floats:
        """Return the change of the gradient along a direction, which is the same everywhere."""

    def strength(self, theta: Floats) -> Floats:
        """Return about how strongly each column of θ is curved."""


class Point(NamedTuple):
    """θ with all that a step needs to know of it."""

    theta: Floats
    loss: float
    gradient: Floats
    p: Floats


class Step(NamedTuple):
    """A change of θ, and what it gains by the quadratic model."""

    change: Floats
    gain: float


def minimise(
    design: Design,
    y: Ints,
    theta: Floats,
    penalty: Quadratic,
    most_steps: int = MAX_STEPS,
    worthwhile: float = WORTHWHILE,
) -> tuple[Floats, float, str | None]:
    """Return the θ of least mean −log p_y + penalty, the loss there, and what is wrong with it, if anything.

    Where y is `NO_CLASS` the mean of −log p over all classes takes the place of −log p_y.

    What is as long as the data is float32: rounding blurs the gradient, and of the loss only the square of that.

    Every step solves Newton's equation by conjugate gradients, which need the curvature along a direction only, never
    the matrix of all pairs of parameters. Rows that can be separated have their optimum at infinity, so a step is
    damped by the mean square of the scores' changes, as much as experience asks for (Levenberg and Marquardt).
    """
    point = _evaluate(design, y, theta, penalty)
    gram = design.curvature(np.full((len(y), 1), 1 / len(y), dtype=np.float32))
    freedom = theta.size / len(y)
    damping = _DAMPING * max(freedom, 1)
    worthwhile = min(worthwhile * freedom, _MOST_WORTHWHILE)
    for _ in range(most_steps):
        step = _newton_step(design, point, penalty, damping * gram)
        found = _evaluate(design, y, point.theta + step.change, penalty)
        gained = point.loss - found.loss
        if max(step.gain, abs(gained)) <= worthwhile:  # what the loss says of so small a step is rounding: take it
            return found.theta, found.loss, None
        if gained < 0.25 * step.gain:
            damping *= 8
        elif gained > 0.75 * step.gain:
            damping = max(damping / 4, _LEAST_DAMPING)
        if gained <= 0:  # a part of the step is cheaper to try than another one is to find
            found = _evaluate(design, y, point.theta + step.change / 4, penalty)
        if found.loss < point.loss:
            point = found
        if max(step.gain, gained) <= worthwhile:
            return point.theta, point.loss, None
    return point.theta, point.loss, "the fit stopped short of its optimum."


def _evaluate(design: Design, y: Ints, theta: Floats, penalty: Quadratic) -> Point:
    n = len(y)
    loss, gradient = penalty(theta)
    p = np.empty((n, len(theta)), dtype=np.float32)
    for rows in _chunks(*p.shape):
        part, here = design.take(rows), p[rows]
        scores = part.scores(theta)
        np.subtract(scores, scores.max(axis=1, keepdims=True), out=here)
        score_y = expected(here, y[rows])
        np.exp(here, out=here)
        total = here.sum(axis=1, keepdims=True)
        here /= total
        loss += float(np.sum(np.log(total[:, 0]) - score_y, dtype=np.float64)) / n
        add_targets(here, y[rows], -1)
        gradient += part.adjoint(here) / n
        add_targets(here, y[rows], 1)
    return Point(theta, loss, gradient, p)


def _chunks(n: int, k: int) -> Iterator[slice]:
    """Give n rows of k numbers in chunks."""
    size = 1 + _CHUNK // k
    return (slice(start, start + size) for start in range(0, n, size))


def _newton_step(design: Design, point: Point, penalty: Quadratic, damping: Floats) -> Step:
    n = len(point.p)
    # A row that the map is sure of has no curvature. Near an optimum that can be most of them: then leave them out.
    curved = (1 - np.vecdot(point.p, point.p)) * design.sizes
    rows = np.flatnonzero(curved > _NEGLIGIBLE * curved.mean())
    p, part = (point.p[rows], design.take(rows)) if len(rows) < n / 2 else (point.p, design)

    def curvature_along(direction: Floats) -> Floats:
        image = penalty.along(direction) + _for_each_class(damping, direction)
        for chunk in _chunks(*p.shape):
            here = part.take(chunk)
            change = here.scores(direction)
            change -= np.vecdot(change, p[chunk])[:, None]
            change *= p[chunk]
            image += here.adjoint(change) / n
        return image

    blocks = sum(part.take(chunk).curvature(p[chunk] * (1 - p[chunk])) for chunk in _chunks(*p.shape)) / n + damping
    blocks += np.diag(penalty.strength(point.theta))
    return _conjugate_gradients(curvature_along, -point.gradient, np.linalg.inv(blocks))


def _conjugate_gradients(operator: Callable[[Floats], Floats], target: Floats, inverses: Floats) -> Step:
    """Minimise ½ x · operator(x) − target · x, the more exactly the nearer the optimum is."""
    x, residual, gain = np.zeros_like(target), target.copy(), 0.0
    direction = _for_each_class(inverses, residual)
    size = first = float(np.vdot(residual, direction))
    for _ in range(_MAX_INNER_STEPS):
        image = operator(direction)
        curvature = float(np.vdot(direction, image))
        if curvature <= 0:  # flat to the last digit: what came so far is as good as any
            break
        stride = size / curvature
        x += stride * direction
        gain += stride * size / 2
        residual -= stride * image
        solution = _for_each_class(inverses, residual)
        before, size = size, float(np.vdot(residual, solution))
        if size <= min(0.01, np.sqrt(first)) * first:
            break
        direction = solution + size / before * direction
    return Step(x, gain)


def _for_each_class(matrices: Floats, theta: Floats) -> Floats:
    """Multiply every row of θ by its class' matrix, or by the one that all share."""
    if len(matrices) == 1:
        return theta @ matrices[0]
    return np.matmul(matrices, theta[:, :, None])[:, :, 0]
