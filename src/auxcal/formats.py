"""Files of logits and of scores, and FORMATS, the registry by file extension."""

from auxcal.tables import *  # noqa: F403
from auxcal.tables import __all__ as __all__
