"""What a monitor may be told."""

from __future__ import annotations

from numbers import Integral, Real
from typing import NamedTuple

from auxcal._core.errors import InvalidInputError
from auxcal.calibrators import Calibrator
from auxcal.monitoring._check import as_level


def as_calibrator(calibrator: object) -> Calibrator:
    """Return a fitted calibrator as it is now, whatever another thread fits it on meanwhile; refuse anything else."""
    if not isinstance(calibrator, Calibrator):
        raise InvalidInputError(
            f"calibrator must be a fitted one; got {type(calibrator).__name__}. Read a saved one with "
            f"auxcal.load(path)."
        )
    return calibrator._now()


class Options(NamedTuple):
    """What a monitor was told, as numbers of Python, which its file can keep."""

    level: float
    tolerance: float
    keep: int
    random_state: int

    @classmethod
    def of(cls, level: float, tolerance: float, keep: int, random_state: int) -> Options:
        """Refuse options that mean nothing."""
        level = as_level(level)
        if not isinstance(tolerance, Real) or not 0 <= tolerance < 1:
            raise InvalidInputError(
                f"tolerance must be at least 0 and below 1, 0.02 for two points; got {tolerance!r}."
            )
        for name, value in (("keep", keep), ("random_state", random_state)):
            if not isinstance(value, Integral) or isinstance(value, bool) or value < 0:
                raise InvalidInputError(f"{name} must be a whole number, 0 or more; got {value!r}.")
        return cls(level, float(tolerance), int(keep), int(random_state))
