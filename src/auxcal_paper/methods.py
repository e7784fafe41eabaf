"""The methods that are compared: every calibrator, variants of some, and CCAC-T, a transfer from D1."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from auxcal.calibrators import CALIBRATORS, Calibrator, SimplifiedCCAC, seeded

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
        Parameters of the calibrator other than by default.
    variant_of : str or None
        The method that these parameters make a variant of.
    """

    name: str
    label: str
    calibrator: type[Calibrator]
    source: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    variant_of: str | None = None

    @property
    def is_by_paper_recipe(self) -> bool:
        """Whether its network is trained by the paper's recipe and not by ours."""
        return self.options.get("recipe") == "paper"

    @property
    def label_in_paper(self) -> str:
        """The label of its row in the paper's tables, if it has one there."""
        return METHODS[self.variant_of].label if self.variant_of and self.is_by_paper_recipe else self.label

    def applies_to(self, shift: str) -> bool:
        """Whether the method has a result on the shift of its own; there is no transfer from D1 to itself."""
        return shift == OOD if "no_class" in self.options else self.source is None or shift != SOURCE_SHIFT

    def make(self, random_state: int) -> Calibrator:
        """Return the unfitted calibrator.

        Examples
        --------
        >>> from auxcal_paper.methods import METHODS
        >>> METHODS["ccac-t"].make(random_state=3)
        SimplifiedCCAC(random_state=3)
        """
        calibrator = seeded(self.calibrator, random_state)
        calibrator.set_params(**self.options)
        return calibrator


def _methods() -> Iterator[Method]:
    for name, kind in CALIBRATORS.items():
        yield from _with_variants(Method(name, kind.abbreviation, kind))
        if kind is SimplifiedCCAC:
            yield from _with_variants(Method("ccac-t", "CCAC-T", kind, source=name))


def _with_variants(method: Method) -> Iterator[Method]:
    yield method
    for parameter, value, words in (("recipe", "paper", "paper's recipe"), ("no_class", "uniform", "NULL uniform")):
        if parameter in method.calibrator().get_params():
            yield replace(
                method,
                name=f"{method.name}-{value}",
                label=f"{method.label} ({words})",
                source=method.source and f"{method.source}-{value}",
                options={parameter: value},
                variant_of=method.name,
            )


METHODS: dict[str, Method] = {method.name: method for method in _methods()}
"""Every method, in the order of the paper's tables, then the others.

Methods that leave rows of no class out of their fit have a variant whose target for them is uniform, and those that
train a network one by the paper's recipe, which takes ten to fifty times as long.
"""


def with_paper_recipe(names: Iterable[str] | None = None) -> list[str]:
    """Return some methods, by default all, and those of them by the paper's recipe that train a network.

    Examples
    --------
    >>> from auxcal_paper.methods import with_paper_recipe
    >>> with_paper_recipe(["temperature", "ccac-s", "ccac-t"])
    ['temperature', 'ccac-s', 'ccac-s-paper', 'ccac-t', 'ccac-t-paper']
    """
    wanted = set(METHODS if names is None else names)
    return [
        name for name, method in METHODS.items()
        if name in wanted or (method.is_by_paper_recipe and method.variant_of in wanted)
    ]  # fmt: skip
