"""The methods that are compared: every calibrator, variants for rows of no class, and CCAC-T, a transfer from D1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from auxcal.calibrators import CALIBRATORS, Calibrator, SimplifiedCCAC, seeded
from auxcal.calibrators.auxiliary import RecipeName

OOD = "OOD"
"""The shift with rows of no class."""

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
    options : mapping
        Parameters of the calibrator other than by default, which matter where rows have no class.
    """

    name: str
    label: str
    calibrator: type[Calibrator]
    source: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def applies_to(self, shift: str) -> bool:
        """Whether the method has a result on the shift of its own; there is no transfer from D1 to itself."""
        return shift == OOD if self.options else self.source is None or shift != SOURCE_SHIFT

    def make(self, random_state: int, recipe: RecipeName = "fast") -> Calibrator:
        """Return the unfitted calibrator; `recipe` is for those that train a network.

        Examples
        --------
        >>> from auxcal_paper.methods import METHODS
        >>> METHODS["ccac-t"].make(random_state=3)
        SimplifiedCCAC(random_state=3)
        """
        calibrator = seeded(self.calibrator, random_state)
        trained = {"recipe": recipe} if "recipe" in calibrator.get_params() else {}
        calibrator.set_params(**trained, **self.options)
        return calibrator


def _methods() -> Iterator[Method]:
    for name, kind in CALIBRATORS.items():
        yield Method(name, kind.abbreviation, kind)
        if "no_class" in kind().get_params():
            label = f"{kind.abbreviation}, NULL uniform"
            yield Method(f"{name}-uniform", label, kind, options={"no_class": "uniform"})
        if kind is SimplifiedCCAC:
            yield Method("ccac-t", "CCAC-T", kind, source=name)


METHODS: dict[str, Method] = {method.name: method for method in _methods()}
"""Every method, in the order of the paper's tables, then the others.

Methods that leave rows of no class out of their fit have a variant whose target for them is uniform.
"""
