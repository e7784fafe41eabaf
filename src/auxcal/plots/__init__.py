"""Displays: plots of a confidence, computed first and drawn later; and the paper's figures, one panel per method.

Nothing here touches matplotlib's global state: a plot is a `matplotlib.figure.Figure` of its own, or is drawn on given
axes. matplotlib is imported only when something is drawn.
"""

from typing import TYPE_CHECKING

from auxcal._lazy import lazy_exports

if TYPE_CHECKING:
    from auxcal.plots.confidence_histogram import ConfidenceHistogramDisplay as ConfidenceHistogramDisplay
    from auxcal.plots.heatmap import HeatmapDisplay as HeatmapDisplay
    from auxcal.plots.panels import confidence_histograms as confidence_histograms
    from auxcal.plots.panels import heatmap_panels as heatmap_panels
    from auxcal.plots.panels import reliability_diagrams as reliability_diagrams
    from auxcal.plots.panels import risk_coverage_curves as risk_coverage_curves
    from auxcal.plots.panels import tsne_panels as tsne_panels
    from auxcal.plots.plan import PlanDisplay as PlanDisplay
    from auxcal.plots.reliability import ReliabilityDisplay as ReliabilityDisplay
    from auxcal.plots.risk_coverage import RiskCoverageDisplay as RiskCoverageDisplay
    from auxcal.plots.tsne import TSNEDisplay as TSNEDisplay

_HOMES = {
    "ConfidenceHistogramDisplay": "auxcal.plots.confidence_histogram",
    "HeatmapDisplay": "auxcal.plots.heatmap",
    "PlanDisplay": "auxcal.plots.plan",
    "ReliabilityDisplay": "auxcal.plots.reliability",
    "RiskCoverageDisplay": "auxcal.plots.risk_coverage",
    "TSNEDisplay": "auxcal.plots.tsne",
    "confidence_histograms": "auxcal.plots.panels",
    "heatmap_panels": "auxcal.plots.panels",
    "reliability_diagrams": "auxcal.plots.panels",
    "risk_coverage_curves": "auxcal.plots.panels",
    "tsne_panels": "auxcal.plots.panels",
}

__all__ = list(_HOMES)

__getattr__, __dir__ = lazy_exports(__name__, _HOMES)
