"""Every method on your own data: which one to use, and what it gains.

`_compare.py` fits and measures; `outcome.py` is what comes out, and its table; `_answer.py` puts it into words;
`_signal_methods.py` has the methods for signals, and `_signal_effects.py` the effect of each signal.
"""

from auxcal.report.comparison._answer import Agreement, Answer
from auxcal.report.comparison._compare import compare
from auxcal.report.comparison._signal_effects import SignalEffect
from auxcal.report.comparison.outcome import Comparison, Entry, Sliced

__all__ = ["Agreement", "Answer", "Comparison", "Entry", "SignalEffect", "Sliced", "compare"]
