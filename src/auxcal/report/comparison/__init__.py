"""Every method on your own data: which one to use, and what it gains."""

from auxcal.report.comparison._agreement import Agreement
from auxcal.report.comparison._answer import Answer
from auxcal.report.comparison._compare import compare
from auxcal.report.comparison._comparison import Comparison, Entry
from auxcal.report.comparison._sliced import Sliced

__all__ = ["Agreement", "Answer", "Comparison", "Entry", "Sliced", "compare"]
