"""Files of logits and of scores: one module per format, and FORMATS, the registry by file extension."""

from auxcal.monitoring.timed import Timed
from auxcal.tables._evaluation import Evaluation, certify, evaluate_scored, find_thresholds
from auxcal.tables._picking import pick_file
from auxcal.tables._predictions import Labelled, read_labelled, read_predictions
from auxcal.tables._scored import Scored, read_any_confidence, read_confidence, read_own_pilot, read_scored
from auxcal.tables._scoring import Written, read_rows, score_file, score_table
from auxcal.tables._sources import FORMATS
from auxcal.tables._stores import File, as_file
from auxcal.tables._tallied import Tallied, read_scored_or_tally
from auxcal.tables._timed import TimedTable
from auxcal.tables.spec import TableSpec

__all__ = [
    "FORMATS",
    "Evaluation",
    "File",
    "Labelled",
    "Scored",
    "TableSpec",
    "Tallied",
    "Timed",
    "TimedTable",
    "Written",
    "as_file",
    "certify",
    "evaluate_scored",
    "find_thresholds",
    "pick_file",
    "read_any_confidence",
    "read_confidence",
    "read_labelled",
    "read_own_pilot",
    "read_predictions",
    "read_rows",
    "read_scored",
    "read_scored_or_tally",
    "score_file",
    "score_table",
]
