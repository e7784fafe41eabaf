"""calibrator.adapt: a new calibrator for another mix, from rows without labels."""

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
from auxcal.inputs import FittedOn
from auxcal.monitoring._believed import believed
from auxcal.monitoring._check import as_level, compare, sampled_rows, verdict_of
from auxcal.monitoring._known import Known, Seen
from auxcal.monitoring._matching import Matching
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
    some = None if labelled is None else _labelled(calibrator, labelled)
    return adapt_seen(calibrator, sampled_rows(calibrator, array, further), len(array), some, if_new, level)


@ignore_float_errors
def adapt_seen(
    calibrator: AnyCalibrator, seen: Seen, n_rows: int, some: Predictions | None, if_new: IfNew, level: float
) -> AnyCalibrator:
    """Return a calibrator for the mix of rows that it has seen already."""
    if some is not None:
        as_logits(some.logits, n_classes=calibrator.n_features_in_)
    known, matching, seen = compare(calibrator, seen)
    if verdict_of(calibrator, matching, seen, level)[0] == "new":
        _refuse_or_warn(if_new)
    ratio = (believed(known, *_with_labels(matching, some)) / known.shares)[known.group]
    before = np.bincount(stratum_of(known.reference), minlength=len(ratio)) / len(known.at)
    new = copy.copy(calibrator)
    new.certificate_ = None  # which was about the confidence before
    n_labelled = 0 if some is None else len(some)
    new.adaptation_ = Adaptation(before * ratio, before, n_rows, n_labelled, FittedOn.now().date or "")
    return new


def _labelled(calibrator: Calibrator, labelled: SelectPart) -> Predictions:
    """Check the rows that have labels."""
    if isinstance(labelled, Predictions):
        return labelled
    if not isinstance(labelled, tuple | list) or len(labelled) not in (2, 3):
        raise InvalidInputError(
            f"labelled must be a pair (logits, y), with features a triple (logits, y, features), or Predictions; got "
            f"{type(labelled).__name__}. Give labelled=(labelled_logits, y)."
        )
    array, further = calibrator.validate_rows(labelled[0], labelled[2] if len(labelled) == 3 else None)
    return calibrator._labelled(array, labelled[1], further)


def _refuse_or_warn(if_new: IfNew) -> None:
    problem = "these rows contain something that the fit did not, which no mix explains; adapting can make it worse"
    if if_new == "refuse":
        raise InvalidInputError(
            f"{problem}. Label some of them and fit again, or go on with if_new='warn' (--if-new warn)."
        )
    warnings.warn(f"{problem}.", InputWarning, stacklevel=undecorated(4))


def _with_labels(matching: Matching, labelled: Predictions | None) -> tuple[Floats, Floats]:
    """Return the shares and their variances, with labelled rows as further draws of the mix."""
    shares, variance = matching.shares, np.diag(matching.covariance)
    if labelled is None:
        return shares, variance
    counts = _counted(matching.known, labelled)
    draws = 0.0  # as many labels would say as much
    if matching.tells_shares:
        draws = float(np.sum(shares * (1 - shares)) / max(np.sum(variance), np.finfo(float).tiny))
    total = draws + counts.sum()
    both = (draws * shares + counts) / total
    return both, variance * draws / total if draws else both * (1 - both) / total


def _counted(known: Known, rows: Predictions) -> Floats:
    """Return how many labelled rows are of each group."""
    strata = stratum_of_rows(rows.y, rows.correct, rows.n_classes, len(known.group))
    return np.bincount(known.group[strata], rows.sample_weight, minlength=len(known.shares)).astype(np.float64)
