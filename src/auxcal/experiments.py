"""The experiments of the paper, which live in `auxcal_paper`."""

from importlib import import_module

_paper = import_module("auxcal_paper")

__all__ = _paper.__all__

__getattr__, __dir__ = _paper.__getattr__, _paper.__dir__
