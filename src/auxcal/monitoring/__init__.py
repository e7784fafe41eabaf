"""Does a calibrator still hold, how good is the classifier now, and what to do: with labels, without, and over time."""

from auxcal.monitoring._adapt import adapt, adapt_seen
from auxcal.monitoring._alarm import Alarm, Evidence
from auxcal.monitoring._check import FEWEST_ROWS, Check, check
from auxcal.monitoring._differences import Difference
from auxcal.monitoring._estimates import Estimate
from auxcal.monitoring._monitor import Monitor
from auxcal.monitoring._promise_sample import PromiseSample
from auxcal.monitoring._sample import RowSample, sampled
from auxcal.monitoring._timeline import Chunk, Timeline
from auxcal.monitoring._watching import table_timeline, timeline

__all__ = [
    "FEWEST_ROWS",
    "Alarm",
    "Check",
    "Chunk",
    "Difference",
    "Estimate",
    "Evidence",
    "Monitor",
    "PromiseSample",
    "RowSample",
    "Timeline",
    "adapt",
    "adapt_seen",
    "check",
    "sampled",
    "table_timeline",
    "timeline",
]
