"""Arrow tables in, scores out."""

from auxcal.tables.arrow_tables import Scores, score, tally
from auxcal.tables.rows import BadRows

__all__ = ["BadRows", "Scores", "score", "tally"]
