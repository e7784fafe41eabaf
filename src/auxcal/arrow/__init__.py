"""Arrow tables in, scores out: the one core of everything that scores tables."""

from auxcal.tables._arrow_score import Scores, score
from auxcal.tables.arrow_tallies import tally
from auxcal.tables.scores import BadRows

__all__ = ["BadRows", "Scores", "score", "tally"]
