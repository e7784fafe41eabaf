"""Scores and evaluation of Ray's data sets."""

from auxcal.integrations.ray_data import *  # noqa: F403
from auxcal.integrations.ray_data import __all__ as __all__
