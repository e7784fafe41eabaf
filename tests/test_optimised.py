"""Python's -OO takes away docstrings and assertions: neither words nor checks may depend on them."""

import subprocess
import sys

SCRIPT = """
import auxcal
calibrator = auxcal.PlattScaling().fit([[2.0, 0.0], [0.0, 1.0], [3.0, 0.0]] * 10, [0, 1, 1] * 10)
entry = auxcal.compare(auxcal.Predictions([[2.0, 0.0], [0.0, 1.0]] * 60, [0, 1] * 60), methods=["platt"]).entries[0]
print(calibrator._repr_html_(), entry.full_name)
"""


def test_words_are_those_of_the_method_or_its_abbreviation():
    command = [sys.executable, "-OO", "-W", "ignore", "-c", SCRIPT]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "Helper class" not in said
    assert "Platt" in said
