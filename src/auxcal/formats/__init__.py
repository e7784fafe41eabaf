"""Files of logits and of scores: one file for each format, and FORMATS, the one list of them by ending."""

from auxcal.formats._predictions import read_predictions
from auxcal.formats._scored import Scored, read_scored, score_file
from auxcal.formats._sources import FORMATS

__all__ = ["FORMATS", "Scored", "read_predictions", "read_scored", "score_file"]
