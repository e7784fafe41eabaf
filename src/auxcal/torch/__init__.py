"""Where classifiers are torch modules: from a module to `Predictions`."""

from auxcal.torch._collect import collect

__all__ = ["collect"]
