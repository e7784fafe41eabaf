"""What the file of a fitted calibrator holds: a header and tensors; `auxcal.persistence` says what each entry means."""

from __future__ import annotations

import copy
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from auxcal._core.errors import InvalidInputError
from auxcal._core.state import Header, Tensors, to_json
from auxcal.inputs import FittedOn, Inputs

if TYPE_CHECKING:
    from auxcal.calibrators._base import Calibrator

FORMAT = 2
"""That of an adapted calibrator, which versions before would score as if it were not; all others have format 1."""

# Not learned, and so no part of the state.
_KNOWN = (
    "inputs_",
    "fitted_on_",
    "reference_",
    "fit_rows_",
    "adaptation_",
    "certificate_",
)


def described(calibrator: Calibrator) -> tuple[Header, Tensors]:
    """Return the header and the tensors of the file of a fitted calibrator."""
    calibrator = copy.copy(calibrator)  # which another thread may be fitting
    _check(calibrator)
    tensors: Tensors = {}
    written = FORMAT if calibrator.adaptation_ is not None else 1
    header = learned(calibrator, tensors) | {"format": written, "fitted_on": _known(calibrator.fitted_on_)}
    if calibrator.reference_ is not None:
        header["reference"] = to_json(calibrator.reference_._asdict(), "reference", tensors)
    if calibrator.fit_rows_ is not None:
        header["fit_rows"] = to_json(calibrator.fit_rows_._asdict(), "fit_rows", tensors)
    return header, tensors


def learned(calibrator: Calibrator, tensors: Tensors) -> Header:
    """Return what makes the scores of a calibrator, and add its arrays to the tensors."""
    header = {
        "class": type(calibrator).__name__,
        "params": to_json(calibrator.get_params(deep=False), "params", tensors),
        "state": {name: to_json(value, name, tensors) for name, value in state_of(calibrator).items()},
        "inputs": _known(calibrator.inputs_),
    }
    if calibrator.adaptation_ is not None:
        header["adaptation"] = to_json(calibrator.adaptation_._asdict(), "adaptation", tensors)
    if calibrator.certificate_ is not None:
        found_on = calibrator.certificate_.found_on
        kept = {} if found_on is None else {"found_on": found_on._asdict()}
        header["certificate"] = to_json(calibrator.certificate_.as_json() | kept, "certificate", tensors)
    return header


def _check(calibrator: Calibrator) -> None:
    """Refuse to save what is not fitted, and a class of the user's own that a file would take for one of auxcal's."""
    from auxcal.calibrators import CALIBRATORS

    kind = type(calibrator)
    if not calibrator.__sklearn_is_fitted__():
        from auxcal._core.errors import NotFittedError

        raise NotFittedError(f"this {kind.__name__} is not fitted, so there is nothing to save. Fit it first.")
    if {each.__name__: each for each in CALIBRATORS.values()}.get(kind.__name__, kind) is not kind:
        raise InvalidInputError(
            f"this {kind.__name__} is not the one of auxcal, which a file would be taken for. Give your class another "
            f"name."
        )


def state_of(calibrator: Calibrator) -> dict[str, Any]:
    """Return the fitted attributes that make the scores."""
    return {name: value for name, value in vars(calibrator).items() if name.endswith("_") and name not in _KNOWN}


def _known(facts: Inputs | FittedOn) -> dict[str, Any]:
    return {name: value for name, value in asdict(facts).items() if value is not None}
