"""The errors and warnings of the library.

Exception
└── AuxcalError
    ├── InvalidInputError      an argument can't be used (also a ValueError)
    ├── NotFittedError         a calibrator was asked before it was fitted (also scikit-learn's)
    ├── FileFormatError        a file can't be read as what it should be (also a ValueError)
    ├── FileWriteError         a file can't be written (also an OSError)
    ├── MissingDataError       a data set or a file of weights is not there (also a FileNotFoundError)
    ├── MissingExtraError      an optional package is not installed (also an ImportError)
    └── ConformanceError       `auxcal.testing` found a broken promise (also an AssertionError)

Warning
└── AuxcalWarning
    ├── InputWarning           rows are left out, or look like another kind of input
    ├── ConvergenceWarning     a fit stopped early or sits at a bound (also scikit-learn's)
    └── UndefinedMetricWarning a metric has no value on these rows, and is NaN (also scikit-learn's)

Those that are also scikit-learn's are created on first use, and imported where they are raised, because importing
scikit-learn takes several times as long as scoring.
"""

from typing import TYPE_CHECKING

from auxcal._core.lazy import lazy_exports

if TYPE_CHECKING:
    from auxcal._core.sklearn_errors import ConvergenceWarning as ConvergenceWarning
    from auxcal._core.sklearn_errors import NotFittedError as NotFittedError
    from auxcal._core.sklearn_errors import UndefinedMetricWarning as UndefinedMetricWarning


class AuxcalError(Exception):
    """Every error that the library raises on purpose."""


class InvalidInputError(AuxcalError, ValueError):
    """An argument can't be used; the message names what was expected, what was received and what to do."""


class FileFormatError(AuxcalError, ValueError):
    """A file is truncated, changed, of another kind or written by a newer version."""


class FileWriteError(AuxcalError, OSError):
    """A file can't be written: the disk is full, say, or the folder forbids it. What was there is unchanged."""


class MissingDataError(AuxcalError, FileNotFoundError):
    """A data set or a file of weights is not there; the message explains how to get it."""


class MissingExtraError(AuxcalError, ImportError):
    """An optional package is not installed; the message names the command that installs it."""


class ConformanceError(AuxcalError, AssertionError):
    """A calibrator or a metric breaks a promise that the library makes for it."""


class AuxcalWarning(UserWarning):
    """Every warning that the library gives."""


class InputWarning(AuxcalWarning):
    """Rows without a label were left out, or what was given looks like another kind of input than it should be."""


_ALSO_OF_SKLEARN = ("ConvergenceWarning", "NotFittedError", "UndefinedMetricWarning")

__getattr__, _ = lazy_exports(__name__, dict.fromkeys(_ALSO_OF_SKLEARN, "auxcal._core.sklearn_errors"))
