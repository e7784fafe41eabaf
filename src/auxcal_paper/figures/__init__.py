"""The paper's figures: one panel for each method, and the displays of probabilities that only they need."""

from auxcal_paper.figures.heatmap import HeatmapDisplay
from auxcal_paper.figures.panels import confidence_histograms, heatmap_panels, reliability_diagrams, tsne_panels
from auxcal_paper.figures.tsne import TSNEDisplay

__all__ = [
    "HeatmapDisplay",
    "TSNEDisplay",
    "confidence_histograms",
    "heatmap_panels",
    "reliability_diagrams",
    "tsne_panels",
]
