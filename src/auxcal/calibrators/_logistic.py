"""Many small logistic regressions of one shape, fitted at once by Newton's method."""

import numpy as np
from scipy.special import expit

from auxcal._arrays import Bools, Floats

_MAX_STEPS = 100
_TOLERANCE = 1e-10
_RIDGE = 1e-9  # decides only what the data leave open, for instance the slope where all scores are equal


def fit_logistic(features: Floats, hits: Bools) -> tuple[Floats, Bools]:
    """Fit m logistic regressions of d features each.

    Platt's targets, (N₊ + 1) / (N₊ + 2) for hits and 1 / (N₋ + 2) for the rest, keep every optimum finite, also
    where hits and misses can be separated or one of them is missing.

    Parameters
    ----------
    features : array of shape (m, n, d)
    hits : array of shape (m, n)

    Returns
    -------
    coefficients : array of shape (m, d + 1), the intercept last
    converged : array of shape (m,)
    """
    centre = features.mean(axis=1, keepdims=True)
    scale = features.std(axis=1, keepdims=True)
    scale[scale == 0] = 1
    x = np.concatenate([(features - centre) / scale, np.ones((*hits.shape, 1))], axis=2)
    positive = hits.sum(axis=1, keepdims=True)
    targets = np.where(hits, (positive + 1) / (positive + 2), 1 / (hits.shape[1] - positive + 2))
    theta, converged = _newton(x, targets)
    slopes = theta[:, :-1] / scale[:, 0]
    intercept = theta[:, -1:] - np.sum(slopes * centre[:, 0], axis=1, keepdims=True)
    return np.concatenate([slopes, intercept], axis=1), converged


def unconverged(converged: Bools) -> str | None:
    """Say how many of the regressions did not reach their optimum, if any."""
    missed = int((~converged).sum())
    return f"{missed} of {len(converged)} maps did not reach their optimum." if missed else None


def _newton(x: Floats, targets: Floats) -> tuple[Floats, Bools]:
    theta = np.zeros((x.shape[0], x.shape[2]))
    converged = np.zeros(len(theta), dtype=bool)
    loss = _loss(x, targets, theta)
    for _ in range(_MAX_STEPS):
        active = np.flatnonzero(~converged)
        if not len(active):
            break
        step = _newton_step(x[active], targets[active], theta[active])
        step_size = np.ones(len(active))
        for _ in range(30):  # halve the steps that do not lower the loss
            tried = theta[active] - step_size[:, None] * step
            new_loss = _loss(x[active], targets[active], tried)
            worse = new_loss > loss[active]
            if not worse.any():
                break
            step_size[worse] /= 2
        better = ~worse
        converged[active] = (loss[active] - new_loss <= _TOLERANCE * (1 + np.abs(loss[active]))) | worse
        theta[active[better]] = tried[better]
        loss[active[better]] = new_loss[better]
    return theta, converged


def _newton_step(x: Floats, targets: Floats, theta: Floats) -> Floats:
    p = expit(np.einsum("mnd,md->mn", x, theta))
    gradient = np.einsum("mnd,mn->md", x, p - targets) / x.shape[1] + _RIDGE * theta
    curvature = np.matmul((x * (p * (1 - p))[:, :, None]).transpose(0, 2, 1), x) / x.shape[1]
    curvature += _RIDGE * np.eye(x.shape[2])
    return np.linalg.solve(curvature, gradient[:, :, None])[:, :, 0]


def _loss(x: Floats, targets: Floats, theta: Floats) -> Floats:
    score = np.einsum("mnd,md->mn", x, theta)
    return np.asarray((np.logaddexp(0, score) - targets * score).mean(axis=1) + _RIDGE / 2 * (theta**2).sum(axis=1))
