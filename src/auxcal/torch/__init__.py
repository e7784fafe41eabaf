"""Where classifiers are torch modules: from a module to `Predictions`, and from a calibrator to a module."""

from auxcal.torch._collect import collect
from auxcal.torch._module import Scored, as_module, with_confidence

__all__ = ["Scored", "as_module", "collect", "with_confidence"]
