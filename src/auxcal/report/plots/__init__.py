"""Displays: plots of a confidence, computed first and drawn later; and the paper's figures, one panel per method.

Nothing here touches matplotlib's global state: a plot is a `matplotlib.figure.Figure` of its own, or is drawn on given
axes. matplotlib is imported only when something is drawn.
"""

from auxcal.report.plots.confidence_histogram import ConfidenceHistogramDisplay
from auxcal.report.plots.heatmap import HeatmapDisplay
from auxcal.report.plots.label_plan import PlanDisplay
from auxcal.report.plots.panels import (
    confidence_histograms,
    heatmap_panels,
    reliability_diagrams,
    risk_coverage_curves,
    tsne_panels,
)
from auxcal.report.plots.reliability import ReliabilityDisplay
from auxcal.report.plots.risk_coverage import RiskCoverageDisplay
from auxcal.report.plots.tsne import TSNEDisplay

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
