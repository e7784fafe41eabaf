"""The methods that are compared: every calibrator, and CCAC-T, which transfers one from D1."""

from __future__ import annotations

from dataclasses import dataclass

from auxcal.calibrators import CALIBRATORS, Calibrator, SimplifiedCCAC, seeded

SOURCE_SHIFT = "D1"
"""The shift that a calibrator is fitted on before its transfer to another one."""

TRANSFER_SIZES = (320, 200)
"""The number of labels of the new shift in the fit and the select part of a transfer, as in the paper."""


@dataclass(frozen=True)
class Method:
    """A way to a fitted calibrator.

    Parameters
    ----------
    name : str
        Its name on the command line.
    label : str
        Its label in the paper and the tables.
    calibrator : type
        The calibrator that is fitted.
    source : str or None
        For a transfer, the method that is fitted on D1 and transferred with a few labels.
    """

    name: str
    label: str
    calibrator: type[Calibrator]
    source: str | None = None

    def applies_to(self, shift: str) -> bool:
        """Whether the method has a result on the shift; there is no transfer from D1 to itself."""
        return self.source is None or shift != SOURCE_SHIFT

    def make(self, random_state: int) -> Calibrator:
        """Return the unfitted calibrator.

        Examples
        --------
        >>> from auxcal_paper.methods import METHODS
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
