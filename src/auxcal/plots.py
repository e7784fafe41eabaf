"""Displays: plots of a confidence, computed first and drawn later; and the paper's figures, one panel per method."""

from auxcal.report.plots import *  # noqa: F403
from auxcal.report.plots import __all__ as __all__
