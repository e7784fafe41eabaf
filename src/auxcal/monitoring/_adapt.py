"""adapt: a calibrator for another mix of the data of its fit, without labels."""

from __future__ import annotations

import copy
import warnings
from typing import Literal, TypeVar, get_args

import numpy as np
from numpy.typing import ArrayLike

from auxcal._core.arrays import Floats, as_logits
from auxcal._core.errors import InputWarning, InvalidInputError
from auxcal._core.float_errors import ignore_float_errors, undecorated
from auxcal.adaptation import Adaptation
from auxcal.calibrators import Calibrator
from auxcal.calibrators.fitting import SelectPart
from auxcal.inputs import FittedOn, warn_of_wrong_kind
from auxcal.monitoring._mix import Representations, ShareEstimate, represent_some, shrink_shares
from auxcal.monitoring._two_samples import as_level, compare
from auxcal.predictions import Predictions
from auxcal.reference import stratum_of, stratum_of_rows

IfNew = Literal["refuse", "warn"]
AnyCalibrator = TypeVar("AnyCalibrator", bound=Calibrator)


@ignore_float_errors
def adapt(
    calibrator: AnyCalibrator,
    logits: ArrayLike,
    features: ArrayLike | None = None,
    *,
    labelled: SelectPart | None = None,
    if_new: IfNew = "refuse",
    level: float = 0.05,
) -> AnyCalibrator:
    """Return a calibrator for the mix of new rows; `Calibrator.adapt` explains."""
    if if_new not in get_args(IfNew):
        raise InvalidInputError(f"if_new must be 'refuse' or 'warn'; got {if_new!r}.")
    level = as_level(level)
    array, further = calibrator.validate_rows(logits, features)
    some = None if labelled is None else _as_predictions(calibrator, labelled)
    return adapt_seen(calibrator, represent_some(calibrator, array, further), len(array), some, if_new, level)


@ignore_float_errors
def adapt_seen(
    calibrator: AnyCalibrator, seen: Representations, n_rows: int, some: Predictions | None, if_new: IfNew, level: float
) -> AnyCalibrator:
    """Return a calibrator for the mix of rows that are represented already, as in `RowSample.seen`."""
    if some is not None:
        as_logits(some.logits, n_classes=calibrator.n_features_in_)
        some = some.in_order_of(calibrator.inputs_, "labelled")
        warn_of_wrong_kind(calibrator.inputs_.kind, some.logits, stacklevel=3)
    compared = compare(calibrator, seen)
    if compared.verdict_at(level) == "new":
        problem = "these rows contain something that the fit did not, which no mix explains; adapting can make it worse"
        if if_new == "refuse":
            raise InvalidInputError(
                f"{problem}. Label some of them and fit again, or go on with if_new='warn' (--if-new warn)."
            )
        warnings.warn(f"{problem}.", InputWarning, stacklevel=undecorated(3))
    groups = compared.estimate.groups
    ratio = (shrink_shares(groups, *_with_labels(compared.estimate, some)) / groups.shares)[groups.group]
    before = np.bincount(stratum_of(groups.reference), minlength=len(ratio)) / len(groups.of_row)
    new = copy.copy(calibrator)
    new.certificate_ = None  # it was made for the confidence before
    n_labelled = 0 if some is None else len(some)
    new.adaptation_ = Adaptation(before * ratio, before, n_rows, n_labelled, FittedOn.now().date or "")
    return new


def _as_predictions(calibrator: Calibrator, labelled: SelectPart) -> Predictions:
    """Validate the rows that have labels."""
    if isinstance(labelled, Predictions):
        return labelled
    if not isinstance(labelled, tuple | list) or len(labelled) not in (2, 3):
        raise InvalidInputError(
            f"labelled must be a pair (logits, y), with features a triple (logits, y, features), or Predictions; got "
            f"{type(labelled).__name__}. Give labelled=(labelled_logits, y)."
        )
    array, further = calibrator.validate_rows(labelled[0], labelled[2] if len(labelled) == 3 else None)
    return calibrator._labelled(array, labelled[1], further)


def _with_labels(estimate: ShareEstimate, labelled: Predictions | None) -> tuple[Floats, Floats]:
    """Return the shares and their variances, with labelled rows as further draws of the mix."""
    shares, variance = estimate.shares, np.diag(estimate.covariance)
    if labelled is None:
        return shares, variance
    groups = estimate.groups
    strata = stratum_of_rows(labelled.y, labelled.correct, labelled.n_classes, len(groups.group))
    counts = np.bincount(groups.group[strata], labelled.sample_weight, minlength=len(shares)).astype(np.float64)
    draws = 0.0  # effective sample size: as many labels would be as exact as the unlabelled rows
    if estimate.identifies_shares:
        draws = float(np.sum(shares * (1 - shares)) / max(np.sum(variance), np.finfo(float).tiny))
    total = draws + counts.sum()
    both = (draws * shares + counts) / total
    return both, variance * draws / total if draws else both * (1 - both) / total
