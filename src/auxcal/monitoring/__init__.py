"""Does a calibrator still hold, how good is the classifier now, and what to do: with labels, without, and over time."""

from auxcal.metrics.intervals import Estimate
from auxcal.monitoring._adapt import adapt, adapt_seen
from auxcal.monitoring._check import Check, Difference, check
from auxcal.monitoring._monitor import Monitor
from auxcal.monitoring._nightly import Nightly, SeenFile, calibrator_path_of
from auxcal.monitoring._openmetrics import Metrics
from auxcal.monitoring._sample import RowSample, ScoreWatch, sampled
from auxcal.monitoring._state import Alarm, Evidence
from auxcal.monitoring._timeline import Chunk, Timeline, table_timeline, timeline
from auxcal.monitoring._two_samples import FEWEST_ROWS
from auxcal.monitoring.timed import Timed

__all__ = [
    "FEWEST_ROWS",
    "Alarm",
    "Check",
    "Chunk",
    "Difference",
    "Estimate",
    "Evidence",
    "Metrics",
    "Monitor",
    "Nightly",
    "RowSample",
    "ScoreWatch",
    "SeenFile",
    "Timed",
    "Timeline",
    "adapt",
    "adapt_seen",
    "calibrator_path_of",
    "check",
    "sampled",
    "table_timeline",
    "timeline",
]
