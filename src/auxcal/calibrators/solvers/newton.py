"""Newton's method: a damped one for small convex problems, and one for the softmax of linear scores.

`damped_newton` solves with the full Hessian, for a few dozen parameters. `minimise` needs Hessian-vector products
alone, for any number of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import NamedTuple, Protocol, Self, TypeVar

import numpy as np

from auxcal._core.arrays import Floats, Ints, Weight
from auxcal.calibrators.solvers.targets_and_weights import add_targets, expected, size, times, total

MAX_STEPS = 200  # a safeguard: a fit that reaches it warns
_CHUNK = 2**19  # numbers: 2 MB of float32, which stay in the processor's cache
_MAX_INNER_STEPS = 250  # a safeguard: what conjugate gradients have found by then is taken
WORTHWHILE = 1e-5  # nats over all rows for each number of θ; a sample's noise alone brings half a nat
_MOST_WORTHWHILE = 1e-3  # nats for each row, however many numbers there are
_NEGLIGIBLE = 1e-2  # of the mean curvature of a row, below which a row is left out of a step; not of the gradient
_DAMPING = 1e-5  # where the search begins; it adapts by itself
_LEAST_DAMPING = 1e-13  # decides only what the data leave open


class HasGradient(Protocol):
    """What a point of `damped_newton` has at least."""

    @property
    def gradient(self) -> Floats:
        """Return the gradient of the loss."""


P = TypeVar("P", bound=HasGradient)


def damped_newton(
    theta: Floats,
    evaluate: Callable[[Floats], P],
    solve: Callable[[Floats, P], Floats],
    overshoots: Callable[[P, P, Floats], bool],
    *,
    worthwhile: float,
    max_steps: int,
) -> tuple[Floats, bool]:
    """Return the minimum of a smooth convex loss, and whether it was reached.

    ``evaluate(theta)`` gives a point: the gradient there, and what the other two read. ``solve(theta, point)`` gives
    Newton's step, to be subtracted. ``overshoots(before, after, step)`` is whether the step was too long, and must be
    halved. `worthwhile` is the gain that a step must promise, by the quadratic model, for another to follow it.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import numpy as np
    >>> from auxcal.calibrators.solvers.newton import damped_newton
    >>> cosh = lambda x: SimpleNamespace(gradient=np.sinh(x), loss=np.cosh(x))
    >>> solve, overshoots = lambda x, at: at.gradient / np.cosh(x), lambda before, after, step: after.loss > before.loss
    >>> theta, converged = damped_newton(np.array([2.0]), cosh, solve, overshoots, worthwhile=1e-9, max_steps=20)
    >>> theta.round(6), converged
    (array([0.]), True)
    """
    here = evaluate(theta)
    for _ in range(max_steps):
        step = solve(theta, here)
        promised = float(here.gradient @ step) / 2
        if promised <= worthwhile:
            return theta - step, True
        while overshoots(here, there := evaluate(theta - step), step) and promised > worthwhile:
            step, promised = step / 2, promised / 2
        theta, here = theta - step, there
    return theta, False


@dataclass(frozen=True)
class Blocks:
    """A matrix for each class, or one that all share; of shape (K or 1, d, d).

    With `own`, of shape (K or 1,), the first number of each class is apart from the others, and has a curvature of its
    own: many classes then need one small matrix in the place of one for each.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal.calibrators.solvers.newton import Blocks
    >>> blocks = Blocks(2 * np.eye(2)[None], own=np.array([4.0, 8.0]))
    >>> blocks.inverse() @ np.ones((2, 3))
    array([[0.25 , 0.5  , 0.5  ],
           [0.125, 0.5  , 0.5  ]])
    """

    matrices: Floats
    own: Floats | None = None

    def definite(self) -> Blocks:
        """Add as much as rounding can have taken away, which may have made them indefinite."""
        traces, eye = np.trace(self.matrices, axis1=1, axis2=2), np.eye(self.matrices.shape[1])
        own = None
        if self.own is not None:
            own = self.own + np.finfo(np.float32).eps * (self.own + traces)
            traces = traces + self.own.mean()
        return Blocks(self.matrices + np.finfo(np.float32).eps * traces[:, None, None] * eye, own)

    def plus_diagonal(self, diagonal: Floats) -> Blocks:
        """Add a number for each column of θ."""
        if self.own is None:
            return Blocks(self.matrices + np.diag(diagonal))
        return Blocks(self.matrices + np.diag(diagonal[1:]), self.own + diagonal[0])

    def inverse(self) -> Blocks:
        """Return the inverses."""
        return Blocks(np.linalg.inv(self.matrices), None if self.own is None else 1 / self.own)

    def __add__(self, other: Blocks) -> Blocks:
        """Add another of the same kind."""
        own = None if self.own is None or other.own is None else self.own + other.own
        return Blocks(self.matrices + other.matrices, own)

    def __mul__(self, factor: float) -> Blocks:
        """Multiply all by a number."""
        return Blocks(self.matrices * factor, None if self.own is None else self.own * factor)

    def __truediv__(self, divisor: float) -> Blocks:
        """Divide all by a number."""
        return Blocks(self.matrices / divisor, None if self.own is None else self.own / divisor)

    def __matmul__(self, theta: Floats) -> Floats:
        """Multiply every row of θ by its class' matrix."""
        if self.own is not None:
            return np.column_stack([self.own * theta[:, 0], theta[:, 1:] @ self.matrices[0]])
        if len(self.matrices) == 1:
            return theta @ self.matrices[0]
        return np.asarray(np.matmul(self.matrices, theta[:, :, None])[:, :, 0])


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

    def curvature(self, weight: Floats, sample_weight: Weight | None = None) -> Blocks:
        """Return Σ_n weight_nk φ_nk φ_nkᵀ, one matrix for each class, or the mean of all where these are too many.

        `weight` includes `sample_weight`, which is given too: a row that counts often need not matter.
        """


class Quadratic(Protocol):
    """A penalty that is a quadratic form around some centre."""

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        """Return the penalty and its gradient."""

    def along(self, direction: Floats) -> Floats:
        """Return the change of the gradient along a direction, which is the same everywhere."""

    def strength(self, theta: Floats) -> Floats:
        """Return the approximate curvature of each column of θ."""


class Point(NamedTuple):
    """θ with what a step needs."""

    theta: Floats
    loss: float
    gradient: Floats
    p: Floats


class Step(NamedTuple):
    """A change of θ, and its gain under the quadratic model."""

    change: Floats
    gain: float


class _Rows(NamedTuple):
    """What is fitted, and the effective sample size."""

    design: Design
    y: Ints
    weight: Weight | None
    total: float

    def weight_of(self, rows: Ints | slice) -> Weight | None:
        return None if self.weight is None else self.weight[rows]


def minimise(
    design: Design,
    y: Ints,
    theta: Floats,
    penalty: Quadratic,
    most_steps: int = MAX_STEPS,
    worthwhile: float = WORTHWHILE,
    sample_weight: Weight | None = None,
) -> tuple[Floats, float, str | None]:
    """Return the θ of least mean −log p_y + penalty, the loss there, and what is wrong with it, if anything.

    A row of weight 2 counts twice in that mean.

    Where y is `NO_CLASS`, the mean of −log p over all classes replaces −log p_y.

    Arrays with a row for each sample are float32: rounding affects the gradient to first order, the loss to second.

    Every step solves Newton's equation by conjugate gradients, which need only Hessian-vector products, never the full
    Hessian. Separable rows have their optimum at infinity, so a step is damped by the mean square of the scores'
    changes, with a strength that adapts (Levenberg and Marquardt).
    """
    rows = _Rows(design, y, sample_weight, size(len(y), sample_weight))
    point = _evaluate(rows, theta, penalty)
    alike = np.full((len(y), 1), 1 / rows.total, dtype=np.float32)
    gram = design.curvature(times(alike, sample_weight), sample_weight)
    freedom = theta.size / rows.total
    damping = _DAMPING * max(freedom, 1)
    worthwhile = min(worthwhile * freedom, _MOST_WORTHWHILE)
    for _ in range(most_steps):
        step = _newton_step(rows, point, penalty, gram * damping)
        new = _evaluate(rows, point.theta + step.change, penalty)
        gained = point.loss - new.loss
        if max(step.gain, abs(gained)) <= worthwhile:  # so small a change of the loss is rounding: take the step
            return new.theta, new.loss, None
        if gained < 0.25 * step.gain:
            damping *= 8
        elif gained > 0.75 * step.gain:
            damping = max(damping / 4, _LEAST_DAMPING)
        if gained <= 0:  # a part of the step is cheaper to try than another one is to find
            new = _evaluate(rows, point.theta + step.change / 4, penalty)
        if new.loss < point.loss:
            point = new
        if max(step.gain, gained) <= worthwhile:
            return point.theta, point.loss, None
    return point.theta, point.loss, "the fit stopped short of its optimum."


def _evaluate(sample: _Rows, theta: Floats, penalty: Quadratic) -> Point:
    n, y = sample.total, sample.y
    loss, gradient = penalty(theta)
    p = np.empty((len(y), len(theta)), dtype=np.float32)
    for rows in _chunks(*p.shape):
        part, here, weight = sample.design.take(rows), p[rows], sample.weight_of(rows)
        scores = part.scores(theta)
        np.subtract(scores, scores.max(axis=1, keepdims=True), out=here)
        score_y = expected(here, y[rows])
        np.exp(here, out=here)
        norm = here.sum(axis=1, keepdims=True)
        here /= norm
        loss += float(total(np.log(norm[:, 0]) - score_y, weight)) / n
        add_targets(here, y[rows], -1)
        gradient += part.adjoint(times(here, weight)) / n
        add_targets(here, y[rows], 1)
    return Point(theta, loss, gradient, p)


def _chunks(n: int, k: int) -> Iterator[slice]:
    """Give n rows of k numbers in chunks."""
    size = 1 + _CHUNK // k
    return (slice(start, start + size) for start in range(0, n, size))


def _newton_step(sample: _Rows, point: Point, penalty: Quadratic, damping: Blocks) -> Step:
    n, design = sample.total, sample.design
    # A row that the map is sure of has no curvature. Near an optimum that can be most of them: then leave them out.
    curved = (1 - np.vecdot(point.p, point.p)) * design.sizes
    rows = np.flatnonzero(curved > _NEGLIGIBLE * curved.mean())
    few = len(rows) < len(curved) / 2
    p, part, weight = (
        (point.p[rows], design.take(rows), sample.weight_of(rows)) if few else (point.p, design, sample.weight)
    )

    def curvature_along(direction: Floats) -> Floats:
        image = penalty.along(direction) + damping @ direction
        for chunk in _chunks(*p.shape):
            here = part.take(chunk)
            change = here.scores(direction)
            change -= np.vecdot(change, p[chunk])[:, None]
            change *= p[chunk]
            image += here.adjoint(times(change, None if weight is None else weight[chunk])) / n
        return image

    def curvature(chunk: slice) -> Blocks:
        here = None if weight is None else weight[chunk]
        return part.take(chunk).curvature(times(p[chunk] * (1 - p[chunk]), here), here)

    blocks = reduce(add, map(curvature, _chunks(*p.shape)), damping * 0) / n + damping
    inverses = blocks.plus_diagonal(penalty.strength(point.theta)).inverse()
    return _conjugate_gradients(curvature_along, -point.gradient, inverses)


def _conjugate_gradients(operator: Callable[[Floats], Floats], target: Floats, inverses: Blocks) -> Step:
    """Minimise ½ x · operator(x) − target · x, the more exactly the nearer the optimum is."""
    x, residual, gain = np.zeros_like(target), target.copy(), 0.0
    direction = inverses @ residual
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
        solution = inverses @ residual
        before, size = size, float(np.vdot(residual, solution))
        if size <= min(0.01, np.sqrt(first)) * first:
            break
        direction = solution + size / before * direction
    return Step(x, gain)
