"""Shifts: pure, seeded changes of the data that a classifier meets.

A shift takes a batch and a random state, and returns a new batch. It does not modify its input.
"""

from typing import TYPE_CHECKING

from auxcal._lazy import lazy_exports

if TYPE_CHECKING:
    from auxcal.shifts.adversarial import DeepFool as DeepFool
    from auxcal.shifts.images import Augment as Augment
    from auxcal.shifts.mixtures import Mixture as Mixture
    from auxcal.shifts.text import TextNoise as TextNoise

_HOMES = {
    "Augment": "auxcal.shifts.images",
    "DeepFool": "auxcal.shifts.adversarial",
    "Mixture": "auxcal.shifts.mixtures",
    "TextNoise": "auxcal.shifts.text",
}

__all__ = list(_HOMES)

__getattr__, __dir__ = lazy_exports(__name__, _HOMES)
