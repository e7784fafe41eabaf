"""Scores and evaluation of Ray's data sets."""

from auxcal.integrations.ray_datasets import *  # noqa: F403
from auxcal.integrations.ray_datasets import __all__ as __all__
