"""Computing a display imports no matplotlib, and drawing one no pyplot."""

import subprocess
import sys

CODE = """
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


def test_imports():
    program = subprocess.run([sys.executable, "-W", "error", "-c", CODE], capture_output=True, text=True, check=True)
    assert program.stdout.splitlines() == ["set()", "{'matplotlib.figure'}"]
