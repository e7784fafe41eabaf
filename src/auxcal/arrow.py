"""Arrow tables in, scores out."""

from auxcal.tables.arrow_scoring import Scores, score
from auxcal.tables.arrow_tallies import tally
from auxcal.tables.rows import BadRows

__all__ = ["BadRows", "Scores", "score", "tally"]
