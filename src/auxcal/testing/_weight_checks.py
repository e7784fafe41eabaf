"""Weights, which every method uses or rejects, and the order of the rows, which tells it nothing."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from auxcal._core.errors import InvalidInputError
from auxcal.calibrators import Calibrator
from auxcal.predictions import Predictions
from auxcal.testing._assertions import demand, demand_error
from auxcal.testing._trials import fit, sample

_TOLERANCE = 1e-3  # of any confidence: what is left where a search ends short of the last digit


def weights_are_counted_or_refused(calibrator: Calibrator) -> None:
    """A row of weight 2 is the same as two rows that stay together, wherever they are, and one of weight 0 as none.

    Networks are trained on the same loss, but in other batches. They only need to be closer to the fit on repeated rows
    than a fit without weights, on average.
    """
    data, rng = sample(), np.random.default_rng(1)
    weight = rng.integers(4, size=len(data))
    if not calibrator.uses_weights:
        message = demand_error(
            InvalidInputError,
            lambda: clone(calibrator).fit(data.logits, data.y, sample_weight=weight),
            "weights were taken by a method that does not use them",
        )
        demand("Leave it out" in message, f"the error for weights must say what to do: {message!r}")
        return
    rows = rng.permutation(np.repeat(np.arange(len(data)), weight))
    weighted, repeated, plain = (
        fit(calibrator, part).predict_confidence(data.logits)
        for part in (
            Predictions(data.logits, data.y, sample_weight=weight),
            Predictions(data.logits[rows], data.y[rows], groups=rows),
            data,
        )
    )
    off = np.abs(weighted - repeated)
    close = off.max() <= _TOLERANCE if calibrator.fit_extra is None else off.mean() <= np.abs(plain - repeated).mean()
    demand(close, f"a row of weight w must count like w rows: confidences differ by up to {off.max():.2g}")


def the_order_of_the_rows_does_not_matter(calibrator: Calibrator) -> None:
    """A fit on the same rows in another order is the same: the rows that are set aside are those it would choose.

    Networks are trained in random batches, so they are not compared.
    """
    if calibrator.fit_extra is not None:
        return
    for n_classes in (4, 2):
        data = sample(n_classes=n_classes)
        shuffled = data.take(np.random.default_rng(1).permutation(len(data)))
        one, other = (fit(calibrator, part).predict_confidence(data.logits) for part in (data, shuffled))
        off = float(np.abs(one - other).max())
        demand(off <= _TOLERANCE, f"the order of the rows of the fit changes the confidence by up to {off:.2g}")
