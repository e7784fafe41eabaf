"""Shifts: pure, seeded changes of the data that a classifier meets.

A shift is called with a batch and a random state, gives a new batch and leaves the old one as it was.
"""

from typing import TYPE_CHECKING, Any

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

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Import a shift when it is first used: the attacks and the text noise need nothing of each other."""
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module 'auxcal.shifts' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
