"""Evidence: how well the data support each candidate, tempered so that a few rows never decide alone."""

from __future__ import annotations

import numpy as np

from auxcal._core.arrays import Bools, Floats, Weight

WIDTHS = np.array([0.1, 0.3, 1.0, 3.0, 10.0])
"""The candidates for the standard deviation of a prior, from "next to nothing is added" to "the rows alone decide".

Half a decade apart; the width that is used is a mean of them.
"""

# Chosen on other random states than those reported (docs/evidence/design.md); benchmarks/evidence/ablation.py
# tries 1.
_DOUBT = 3.0  # nats by which a candidate must be better to get e times the weight; 1 would be Bayes' rule


def weights_by_evidence(evidence: Floats, prior: Floats | float = 1.0, doubt: float | None = None) -> Floats:
    """Return weights that add up to 1, in proportion to prior · exp(evidence / doubt).

    The evidence is in nats over all rows: log marginal likelihoods, or out-of-fold log-likelihoods. The prior is the
    weights without any rows, up to a factor. `doubt` nats multiply a weight by e; 1 is Bayes' rule.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal.calibrators.ccac_x.evidence import weights_by_evidence
    >>> weights_by_evidence(np.array([-100.0, -103.0])).round(2)
    array([0.73, 0.27])
    """
    weights = prior * np.exp((evidence - evidence.max()) / (_DOUBT if doubt is None else doubt))
    return np.asarray(weights / weights.sum())


def width_by_evidence(evidence: Floats, prior: Floats | float = 1.0, doubt: float | None = None) -> float:
    """Return one width, the geometric mean of `WIDTHS` weighed by their evidence: it moves smoothly with the rows."""
    return float(np.exp(weights_by_evidence(evidence, prior, doubt) @ np.log(WIDTHS)))


def log_likelihoods(log_odds: Floats, correct: Bools, weight: Weight | None = None) -> Floats:
    """Return the log-likelihood of "the prediction is right" under each column of log-odds, summed over the rows."""
    losses = np.logaddexp(0, np.where(correct, -1, 1)[:, None] * log_odds)
    return -(losses.sum(axis=0, dtype=np.float64) if weight is None else weight @ losses)


def log_marginal_likelihood(loss: float, curvature: Floats, widths: Floats, share: float = 1.0) -> float:
    """Return Laplace's approximation of the evidence for a Gaussian prior of these widths, at the optimum.

    The loss is the negative log-likelihood of all rows plus half the squared distance from the prior's centre, in
    widths; the curvature is the Hessian of the former, its diagonal blocks, or its diagonal; and the share is that of
    the directions that the likelihood can see.
    """
    if curvature.shape == widths.shape:
        log_determinant = float(np.log1p(curvature * widths**2).sum())
    else:
        scaled = curvature * widths[..., :, None] * widths[..., None, :]
        log_determinant = float(np.linalg.slogdet(scaled + np.eye(widths.shape[-1]))[1].sum())
    return -loss - share * log_determinant / 2
