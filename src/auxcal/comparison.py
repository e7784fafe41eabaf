"""Every method on your own data: which one to use, and what it gains."""

from auxcal.report.comparison import Agreement, Answer, Comparison, Entry, SignalEffect, Sliced, compare

__all__ = ["Agreement", "Answer", "Comparison", "Entry", "SignalEffect", "Sliced", "compare"]
