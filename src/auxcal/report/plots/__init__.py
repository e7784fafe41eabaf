"""Displays: plots of a confidence, computed first and drawn later; and the paper's figures, one panel per method.

Nothing here touches matplotlib's global state: a plot is a `matplotlib.figure.Figure` of its own, or is drawn on given
axes. matplotlib is imported only when something is drawn.
"""

from auxcal.report.plots.label_plan import PlanDisplay
from auxcal.report.plots.of_confidence import ConfidenceHistogramDisplay, ReliabilityDisplay, RiskCoverageDisplay
from auxcal.report.plots.of_probabilities import HeatmapDisplay, TSNEDisplay
from auxcal.report.plots.panels import (
    confidence_histograms,
    heatmap_panels,
    reliability_diagrams,
    risk_coverage_curves,
    tsne_panels,
)

__all__ = [
    "ConfidenceHistogramDisplay",
    "HeatmapDisplay",
    "PlanDisplay",
    "ReliabilityDisplay",
    "RiskCoverageDisplay",
    "TSNEDisplay",
    "confidence_histograms",
    "heatmap_panels",
    "reliability_diagrams",
    "risk_coverage_curves",
    "tsne_panels",
]
