"""The rows that a calibrator was fitted on, and when."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import UTC, datetime

from auxcal._core.arrays import NO_CLASS, Ints
from auxcal._core.errors import InvalidInputError


@dataclass(frozen=True)
class FittedOn:
    """The rows that a calibrator was fitted on; None if not known.

    Parameters
    ----------
    n_rows : int or None
        The number of rows, including the select part.
    n_no_class : int or None
        The number of rows of no class.
    date : str or None
        When the fit ended, in UTC. The environment variable SOURCE_DATE_EPOCH overrides it, so that the same fit gives
        the same file. The date is ignored in comparisons.

    Examples
    --------
    >>> import auxcal
    >>> fitted = auxcal.PlattScaling().fit([[2.0, 0.0], [0.0, 1.0], [3.0, 0.0]], [0, 1, auxcal.NO_CLASS])
    >>> fitted.fitted_on_.n_rows, fitted.fitted_on_.n_no_class
    (3, 1)
    """

    n_rows: int | None = None
    n_no_class: int | None = None
    date: str | None = field(default=None, compare=False)

    def check(self) -> None:
        """Reject counts that no fit can have."""
        rows, no_class = self.n_rows, self.n_no_class
        if (rows, no_class) != (None, None) and not (type(rows) is type(no_class) is int and 0 <= no_class <= rows > 0):
            raise InvalidInputError(f"n_rows and n_no_class must be counts of rows; got {rows!r} and {no_class!r}.")
        if not isinstance(self.date, str | None):
            raise InvalidInputError(f"date must be text; got {self.date!r}.")

    @classmethod
    def now(cls, *parts: Ints) -> FittedOn:
        """Count the rows of the parts of a fit that has just ended."""
        return cls(sum(map(len, parts)), sum(int((y == NO_CLASS).sum()) for y in parts), time_now())


def time_now() -> str:
    """Return the time in UTC, or that of SOURCE_DATE_EPOCH, to the second."""
    fixed = os.environ.get("SOURCE_DATE_EPOCH")
    try:
        time = datetime.fromtimestamp(int(fixed), UTC) if fixed else datetime.now(UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise InvalidInputError(
            f"the environment variable SOURCE_DATE_EPOCH must be a time in whole seconds since 1970; got {fixed!r}. "
            f"Set it as in SOURCE_DATE_EPOCH=$(date +%s), or unset it."
        ) from error
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")
