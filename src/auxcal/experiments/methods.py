"""The methods that are compared: every calibrator, and CCAC-T, which carries one over from D1."""

from __future__ import annotations

from dataclasses import dataclass

from auxcal.calibrators import CALIBRATORS, Calibrator, SimplifiedCCAC
from auxcal.calibrators._seeded import seeded

SOURCE_SHIFT = "D1"
"""The shift that a calibrator is fitted on before it is carried over to another one."""

TRANSFER_SIZES = (320, 200)
"""The labels of the new shift that it is carried over with, to fit and to select, as in the paper."""


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
    source : str or None
        The method that is fitted on D1 and carried over to the shift in question with a few labels, if it is such.
    """

    name: str
    label: str
    calibrator: type[Calibrator]
    source: str | None = None

    def applies_to(self, shift: str) -> bool:
        """Whether the method has a result on the shift; nothing is carried over from D1 to D1."""
        return self.source is None or shift != SOURCE_SHIFT

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
    methods = {}
    for name, kind in CALIBRATORS.items():
        methods[name] = Method(name, kind.abbreviation, kind)
        for transferred in _TRANSFERRED:
            if transferred.source == name:
                methods[transferred.name] = transferred
    return methods


_TRANSFERRED = (Method("ccac-t", "CCAC-T", SimplifiedCCAC, source="ccac-s"),)

METHODS: dict[str, Method] = _methods()
"""Every method, in the order of the paper's tables, then the others."""
