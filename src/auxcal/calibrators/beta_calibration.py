"""Beta calibration: a logistic map of log p and log(1 − p)."""

import numpy as np

from auxcal._core.arrays import Floats, Ints
from auxcal._core.logits import expit, logit, softplus
from auxcal.calibrators.binary import BinaryCalibrator, Sample, Scheme
from auxcal.calibrators.solvers.logistic import fit_logistic, unconverged
from auxcal.calibrators.solvers.targets_and_weights import size
from auxcal.programs import Operations, Value, of_map


class BetaCalibration(BinaryCalibrator):
    """Beta calibration: σ(a log p − b log(1 − p) + c) of the predicted class's probability p, with a, b ≥ 0.

    Parameters
    ----------
    scheme : {"top-label", "per-class"}
        One map for all predictions, or one for each class.

    Attributes
    ----------
    coefficients_ : array of shape (m, 3)
        a, b and c of each map.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal import BetaCalibration
    >>> rng = np.random.default_rng(0)
    >>> logits = rng.normal(size=(20000, 2), scale=2)
    >>> y = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    >>> BetaCalibration().fit(logits, y).predict_confidence([[0.0, 2.0]]).round(2)  # softmax gives 0.88
    array([0.88])
    """

    abbreviation = "Beta"
    reference = "Kull et al., EJS 2017"
    learned = {"coefficients_": ("m", 3)}  # noqa: RUF012
    uses_weights = True

    def __init__(self, scheme: Scheme = "top-label") -> None:
        self.scheme = scheme

    def _fit_maps(self, samples: list[Sample]) -> str | None:
        fits = [fit_beta(sample) for sample in samples]
        self.coefficients_ = np.stack([coefficients for coefficients, _ in fits])
        return unconverged([converged for _, converged in fits])

    def _apply_maps(self, scores: Floats, maps: Ints) -> Floats:
        return np.asarray(expit(beta_log_odds(scores, self.coefficients_[maps])))

    def _maps_program(self, ops: Operations, score: Value, maps: Value | None) -> Value:
        return ops.sigmoid(beta_program(ops, score, self.coefficients_, maps))


def beta_log_odds(scores: Floats, coefficients: Floats) -> Floats:
    """Return a log p − b log(1 − p) + c, with coefficients for all scores or for each."""
    a, b, c = coefficients.T
    miss = softplus(scores)
    return np.asarray(a * (scores - miss) + b * miss + c)


def beta_program(ops: Operations, score: Value, coefficients: Floats, maps: Value | None) -> Value:
    """Write `beta_log_odds` as a program, with a row of coefficients for each map."""
    a, b, c = (of_map(ops, coefficients[:, [column]], maps, name) for column, name in enumerate("abc"))
    miss = ops.softplus(score)
    return a * (score - miss) + b * miss + c


def fit_beta(sample: Sample) -> tuple[Floats, bool]:
    """Return a, b and c, and whether they are the optimum."""
    features, of_hits = (beta_features(scores.astype(np.float64)) for scores in (sample.ordered, sample.hits))
    weights = sample.weight, sample.weight_of_hits
    coefficients, converged = fit_logistic(features, of_hits, *weights)
    negative = np.flatnonzero(coefficients[:2] < 0)
    if not len(negative):
        return coefficients, converged
    # Where a or b would be negative the map would not be monotone: the optimum then has a zero there.
    kept = 1 - negative[0]
    (slope, intercept), converged = fit_logistic(features[[kept]], of_hits[[kept]], *weights)
    if slope < 0:
        slope, intercept = (
            0.0,
            logit((size(len(sample.hits), weights[1]) + 1) / (size(len(sample.ordered), weights[0]) + 2)),
        )
    coefficients = np.array([0.0, 0.0, intercept])
    coefficients[kept] = slope
    return coefficients, converged


def beta_features(scores: Floats) -> Floats:
    """Return the features of the logistic regression, log p and −log(1 − p), of shape (2, n)."""
    miss = softplus(scores)
    return np.stack([scores - miss, miss])
