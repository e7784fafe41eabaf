"""Displays: plots of a confidence, computed first and drawn later.

Nothing here touches matplotlib's global state: a plot is a `matplotlib.figure.Figure` of its own, or is drawn on given
axes. matplotlib is imported only when something is drawn.
"""

from auxcal.plots.of_confidence import ConfidenceHistogramDisplay, ReliabilityDisplay, RiskCoverageDisplay

__all__ = ["ConfidenceHistogramDisplay", "ReliabilityDisplay", "RiskCoverageDisplay"]
