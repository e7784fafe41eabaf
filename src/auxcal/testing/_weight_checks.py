"""Weights: every method uses them, or rejects them."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from auxcal._arrays import Floats
from auxcal._errors import InvalidInputError
from auxcal.calibrators import Calibrator
from auxcal.predictions import Predictions
from auxcal.testing._assertions import demand, demand_error
from auxcal.testing._trials import fit, sample

_TOLERANCE = 1e-3  # of the mean difference: what is left where a search ends short of the last digit


def weights_are_counted_or_refused(calibrator: Calibrator) -> None:
    """A row of weight 2 is the same as two rows that stay together, and one of weight 0 as none.

    Networks are trained on the same loss, but in other batches. They only need to be closer to the fit on repeated rows
    than a fit without weights.
    """
    data = sample()
    weight = np.random.default_rng(1).integers(4, size=len(data))
    if not calibrator.uses_weights:
        message = demand_error(
            InvalidInputError,
            lambda: clone(calibrator).fit(data.logits, data.y, sample_weight=weight),
            "weights were taken by a method that does not use them",
        )
        demand("Leave it out" in message, f"the error for weights must say what to do: {message!r}")
        return
    rows = np.repeat(np.arange(len(data)), weight)
    weighted, repeated, plain = (
        fit(calibrator, part).predict_confidence(data.logits)
        for part in (
            Predictions(data.logits, data.y, sample_weight=weight),
            Predictions(data.logits[rows], data.y[rows], groups=rows),
            data,
        )
    )
    allowed = _TOLERANCE if calibrator.fit_extra is None else _distance(plain, repeated)
    demand(
        _distance(weighted, repeated) <= allowed,
        f"a row of weight w must count like w rows: confidences differ by {_distance(weighted, repeated):.2g}",
    )


def _distance(one: Floats, other: Floats) -> float:
    return float(np.mean(np.abs(one - other), dtype=np.float64))
