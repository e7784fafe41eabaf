"""Tables of logits and of scores: one description, one reader per format, one scorer. FORMATS is the registry.

A batch is a `pyarrow.RecordBatch` from the file that is read to the file that is written.
"""

from auxcal.monitoring.timed import Timed
from auxcal.tables.confidence import read_any_confidence, read_confidence, read_own_pilot
from auxcal.tables.evaluation import Evaluation, certify, evaluate_scored, find_thresholds
from auxcal.tables.labelled import Labelled, read_labelled, read_predictions
from auxcal.tables.new_files import FoundFile, NewRows
from auxcal.tables.parts import File, as_file
from auxcal.tables.pick_rows import pick_file
from auxcal.tables.readers import FORMATS
from auxcal.tables.readers.json_lines import AnswersFile, AnswersFolder
from auxcal.tables.scored import Scored, read_scored
from auxcal.tables.scored_folder import Written
from auxcal.tables.spec import TableSpec
from auxcal.tables.timed_table import TimedTable
from auxcal.tables.write_scores import read_rows, score_table

__all__ = [
    "FORMATS",
    "AnswersFile",
    "AnswersFolder",
    "Evaluation",
    "File",
    "FoundFile",
    "Labelled",
    "NewRows",
    "Scored",
    "TableSpec",
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
    "score_table",
]
