"""Errors and warnings that are also scikit-learn's; `auxcal._core.errors` imports them on demand."""

from sklearn import exceptions

from auxcal._core.errors import AuxcalError, AuxcalWarning


class NotFittedError(AuxcalError, exceptions.NotFittedError):
    """A calibrator was asked for a confidence before `fit`."""


class ConvergenceWarning(AuxcalWarning, exceptions.ConvergenceWarning):
    """A fit did not reach its optimum, or a parameter sits at its bound."""


class UndefinedMetricWarning(AuxcalWarning, exceptions.UndefinedMetricWarning):
    """A metric has no value on the given rows and is returned as NaN."""
