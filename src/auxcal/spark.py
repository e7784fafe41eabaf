"""Scores and evaluation of Spark's DataFrames."""

from auxcal.integrations.spark_frames import *  # noqa: F403
from auxcal.integrations.spark_frames import __all__ as __all__
