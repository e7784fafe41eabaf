"""Files of logits and of scores: one module per format, and FORMATS, the registry by file extension."""

from auxcal.formats._predictions import Labelled, read_labelled, read_predictions
from auxcal.formats._scored import Scored, read_scored
from auxcal.formats._scoring import score_file
from auxcal.formats._sources import FORMATS

__all__ = ["FORMATS", "Labelled", "Scored", "read_labelled", "read_predictions", "read_scored", "score_file"]
