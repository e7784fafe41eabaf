"""Displays: plots of a confidence, computed first and drawn later; and the paper's figures, one panel per method.

Nothing here touches matplotlib's global state: a plot is a `matplotlib.figure.Figure` of its own, or is drawn on given
axes. matplotlib is imported only when something is drawn.
"""

from typing import TYPE_CHECKING

from auxcal._core.lazy import lazy_exports

if TYPE_CHECKING:
    from auxcal.report.plots.confidence_histogram import ConfidenceHistogramDisplay as ConfidenceHistogramDisplay
    from auxcal.report.plots.heatmap import HeatmapDisplay as HeatmapDisplay
    from auxcal.report.plots.panels import confidence_histograms as confidence_histograms
    from auxcal.report.plots.panels import heatmap_panels as heatmap_panels
    from auxcal.report.plots.panels import reliability_diagrams as reliability_diagrams
    from auxcal.report.plots.panels import risk_coverage_curves as risk_coverage_curves
    from auxcal.report.plots.panels import tsne_panels as tsne_panels
    from auxcal.report.plots.plan import PlanDisplay as PlanDisplay
    from auxcal.report.plots.reliability import ReliabilityDisplay as ReliabilityDisplay
    from auxcal.report.plots.risk_coverage import RiskCoverageDisplay as RiskCoverageDisplay
    from auxcal.report.plots.tsne import TSNEDisplay as TSNEDisplay

_EXPORTS = {
    "ConfidenceHistogramDisplay": "auxcal.report.plots.confidence_histogram",
    "HeatmapDisplay": "auxcal.report.plots.heatmap",
    "PlanDisplay": "auxcal.report.plots.plan",
    "ReliabilityDisplay": "auxcal.report.plots.reliability",
    "RiskCoverageDisplay": "auxcal.report.plots.risk_coverage",
    "TSNEDisplay": "auxcal.report.plots.tsne",
    "confidence_histograms": "auxcal.report.plots.panels",
    "heatmap_panels": "auxcal.report.plots.panels",
    "reliability_diagrams": "auxcal.report.plots.panels",
    "risk_coverage_curves": "auxcal.report.plots.panels",
    "tsne_panels": "auxcal.report.plots.panels",
}

__all__ = list(_EXPORTS)

__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
