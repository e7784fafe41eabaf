"""What `auxcal.plots` gives, and what importing it and drawing costs the rest of the program."""

import subprocess
import sys

import pytest

from auxcal import plots


def test_every_public_name_is_there():
    assert plots.__all__ == [
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
    assert all(getattr(plots, name).__name__ == name for name in plots.__all__)
    assert set(plots.__all__) <= set(dir(plots))
    with pytest.raises(AttributeError, match="ViolinDisplay"):
        _ = plots.ViolinDisplay


def test_computing_imports_no_matplotlib_and_drawing_no_pyplot():
    code = """
import sys
from io import BytesIO
from auxcal.plots import *

scored = {"MP": ([0.9, 0.4], [True, False])}
probas, logits, y = {"MP": [[0.9, 0.1], [0.4, 0.6]]}, [[2.0, 0.0], [0.0, 0.4]], [0, 0]
for display in (ReliabilityDisplay, ConfidenceHistogramDisplay, RiskCoverageDisplay):
    display.from_predictions(*scored["MP"])
for display in (HeatmapDisplay, TSNEDisplay):
    display.from_predictions(probas["MP"], logits, y)
print({"matplotlib", "torch"} & set(sys.modules))

figures = [make(scored) for make in (reliability_diagrams, confidence_histograms, risk_coverage_curves)]
figures += [make(probas, logits, y) for make in (heatmap_panels, tsne_panels)]
for figure in figures:
    figure.savefig(BytesIO(), dpi=50)
print({"matplotlib.figure", "matplotlib.pyplot"} & set(sys.modules))
"""
    program = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert program.stdout.splitlines() == ["set()", "{'matplotlib.figure'}"]
