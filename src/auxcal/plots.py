"""Displays: plots of a confidence, computed first and drawn later; and the paper's figures, one panel per method."""

from auxcal.report import plots as _plots

__all__ = _plots.__all__

__getattr__, __dir__ = _plots.__getattr__, _plots.__dir__
