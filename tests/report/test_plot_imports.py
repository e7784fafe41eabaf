"""What `auxcal.plots` gives, and what importing it and drawing costs the rest of the program."""

import subprocess
import sys

import pytest

from auxcal import plots


def test_every_public_name_is_there():
    assert plots.__all__ == ["ConfidenceHistogramDisplay", "ReliabilityDisplay", "RiskCoverageDisplay"]
    assert all(getattr(plots, name).__name__ == name for name in plots.__all__)
    assert set(plots.__all__) <= set(dir(plots))
    with pytest.raises(AttributeError, match="ViolinDisplay"):
        _ = plots.ViolinDisplay


def test_computing_imports_no_matplotlib_and_drawing_no_pyplot():
    code = """
import sys
from io import BytesIO
from auxcal.plots import *

displays = [
    display.from_predictions([0.9, 0.4], [True, False])
    for display in (ReliabilityDisplay, ConfidenceHistogramDisplay, RiskCoverageDisplay)
]
print({"matplotlib", "torch"} & set(sys.modules))

for display in displays:
    display.plot().figure_.savefig(BytesIO(), dpi=50)
print({"matplotlib.figure", "matplotlib.pyplot"} & set(sys.modules))
"""
    program = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert program.stdout.splitlines() == ["set()", "{'matplotlib.figure'}"]
