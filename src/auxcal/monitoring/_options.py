"""What a monitor may be told."""

from __future__ import annotations

from auxcal._errors import InvalidInputError
from auxcal.calibrators import Calibrator
from auxcal.monitoring._check import as_level


def check_calibrator(calibrator: object) -> None:
    """Refuse what is no fitted calibrator."""
    if not isinstance(calibrator, Calibrator):
        raise InvalidInputError(
            f"calibrator must be a fitted one; got {type(calibrator).__name__}. Read a saved one with "
            f"auxcal.load(path)."
        )
    calibrator._check_fitted()


def check_options(level: float, tolerance: object, keep: object, random_state: object) -> None:
    """Refuse options that mean nothing."""
    as_level(level)
    if not isinstance(tolerance, int | float) or not 0 <= tolerance < 1:
        raise InvalidInputError(f"tolerance must be at least 0 and below 1, 0.02 for two points; got {tolerance!r}.")
    for name, value in (("keep", keep), ("random_state", random_state)):
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise InvalidInputError(f"{name} must be a whole number, 0 or more; got {value!r}.")
