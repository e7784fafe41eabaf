"""Scores and evaluation of Spark's DataFrames."""

from auxcal.integrations.spark import *  # noqa: F403
from auxcal.integrations.spark import __all__ as __all__
