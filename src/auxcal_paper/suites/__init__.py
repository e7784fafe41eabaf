"""The suites: the paper's experiments, each a target classifier that meets several shifts."""

from auxcal._core.errors import InvalidInputError
from auxcal_paper.suites._suite import Suite
from auxcal_paper.suites.cifar import CIFAR_RESNET50, CIFAR_RESNETS, CIFAR_VGG16
from auxcal_paper.suites.imagenet import IMAGENET
from auxcal_paper.suites.ng18 import NG18_DAN
from auxcal_paper.suites.r8 import R8_DAN

__all__ = ["SUITES", "Suite", "suite"]

SUITES: tuple[Suite, ...] = (
    *CIFAR_RESNETS,
    *CIFAR_VGG16,
    *IMAGENET,
    R8_DAN,
    NG18_DAN,
    *CIFAR_RESNET50,
)
"""Every suite: those that stand for the paper's, in its order; then its ResNet-50 for CIFAR, for who has weights."""


def suite(name: str) -> Suite:
    """Return the suite with the given name.

    Examples
    --------
    >>> from auxcal_paper.suites import suite
    >>> suite("cifar10-resnet20").shifts
    ('D0', 'D1', 'D2', 'OOD', 'AD')
    """
    for entry in SUITES:
        if entry.name == name:
            return entry
    raise InvalidInputError(f"name must be a suite, one of {', '.join(entry.name for entry in SUITES)}; got {name!r}.")
