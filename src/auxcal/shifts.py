"""Shifts for your own data, which live in `auxcal_paper.shifts`."""

import sys
from importlib import import_module

from auxcal._core.lazy import Moved

_paper = import_module("auxcal_paper.shifts")
__path__: list[str] = []  # so that modules below are looked for, and found by the line after
sys.meta_path.insert(0, Moved(__name__, "auxcal_paper.shifts"))

__all__ = list(_paper.__all__)

__getattr__, __dir__ = _paper.__getattr__, _paper.__dir__
