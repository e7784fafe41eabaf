"""Shifts: pure, seeded changes of the data that a classifier meets.

A shift takes a batch and a random state, and returns a new batch. It does not modify its input.
"""

from typing import TYPE_CHECKING

from auxcal._core.lazy import lazy_exports

if TYPE_CHECKING:
    from auxcal_paper.shifts.adversarial import DeepFool as DeepFool
    from auxcal_paper.shifts.images import Augment as Augment
    from auxcal_paper.shifts.mixtures import Mixture as Mixture
    from auxcal_paper.shifts.text import TextNoise as TextNoise

_EXPORTS = {
    "Augment": "auxcal_paper.shifts.images",
    "DeepFool": "auxcal_paper.shifts.adversarial",
    "Mixture": "auxcal_paper.shifts.mixtures",
    "TextNoise": "auxcal_paper.shifts.text",
}

__all__ = list(_EXPORTS)

__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
