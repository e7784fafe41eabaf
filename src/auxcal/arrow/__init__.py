"""Arrow tables in, scores out: the one core of everything that scores tables."""

from auxcal._scores import BadRows
from auxcal.arrow._score import Scores, score
from auxcal.arrow.tallies import tally

__all__ = ["BadRows", "Scores", "score", "tally"]
