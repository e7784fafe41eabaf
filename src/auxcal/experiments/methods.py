"""The methods that are compared: every calibrator, and CCAC-T, which carries one over from D1."""

from __future__ import annotations

from dataclasses import dataclass

from auxcal.calibrators import CALIBRATORS, Calibrator, SimplifiedCCAC
from auxcal.calibrators._seeded import seeded

SOURCE_SHIFT = "D1"
"""The shift that CCAC-T is fitted on before it is carried over to another one."""

TRANSFER_SIZES = (320, 200)
"""The labels of the new shift that CCAC-T fits and selects with, as in the paper."""


@dataclass(frozen=True)
class Method:
    """A way to a fitted calibrator.

    Parameters
    ----------
    name : str
        What the command line calls it.
    label : str
        What the paper and the tables call it.
    calibrator : type
        The calibrator that is fitted.
    transferred : bool
        Whether it is fitted on D1 and carried over to the shift in question with a few labels.
    """

    name: str
    label: str
    calibrator: type[Calibrator]
    transferred: bool = False

    def applies_to(self, shift: str) -> bool:
        """Whether the method has a result on the shift; nothing is carried over from D1 to D1."""
        return not self.transferred or shift != SOURCE_SHIFT

    def make(self, random_state: int) -> Calibrator:
        """Return the calibrator, not yet fitted.

        Examples
        --------
        >>> from auxcal.experiments.methods import METHODS
        >>> METHODS["ccac-t"].make(random_state=3)
        SimplifiedCCAC(random_state=3)
        """
        return seeded(self.calibrator, random_state)


def _methods() -> dict[str, Method]:
    methods = [Method(name, kind.abbreviation, kind) for name, kind in CALIBRATORS.items()]
    after = 1 + next(i for i, method in enumerate(methods) if method.calibrator is SimplifiedCCAC)
    methods.insert(after, Method("ccac-t", "CCAC-T", SimplifiedCCAC, transferred=True))
    return {method.name: method for method in methods}


METHODS: dict[str, Method] = _methods()
"""Every method, in the order of the paper's tables, then the others."""
