"""Every method on your own data: which one to use, and what it gains."""

from auxcal.comparison._agreement import Agreement
from auxcal.comparison._answer import Answer
from auxcal.comparison._compare import compare
from auxcal.comparison._comparison import Comparison, Entry
from auxcal.comparison._sliced import Sliced

__all__ = ["Agreement", "Answer", "Comparison", "Entry", "Sliced", "compare"]
