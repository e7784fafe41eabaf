"""Tables of logits and of scores: one description, one reader per format, one scorer. FORMATS is the registry."""

from auxcal.monitoring.timed import Timed
from auxcal.tables.chunked import TimedTable
from auxcal.tables.confidence import read_any_confidence, read_confidence, read_own_pilot
from auxcal.tables.discover import File, as_file
from auxcal.tables.evaluation import Evaluation, certify, evaluate_scored, find_thresholds
from auxcal.tables.labelled import Labelled, read_labelled, read_predictions
from auxcal.tables.new_rows import FoundFile, NewRows
from auxcal.tables.picking import pick_file
from auxcal.tables.readers import FORMATS
from auxcal.tables.readers.json_lines import AnswersFile
from auxcal.tables.scored import Scored, Tallied, read_scored, read_scored_or_tally
from auxcal.tables.scorer import Written
from auxcal.tables.scoring import read_rows, score_file, score_table
from auxcal.tables.spec import TableSpec

__all__ = [
    "FORMATS",
    "AnswersFile",
    "Evaluation",
    "File",
    "FoundFile",
    "Labelled",
    "NewRows",
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
