"""The suites: the paper's experiments, each a target classifier that meets several shifts."""

from auxcal._errors import InvalidInputError
from auxcal.experiments.suites._suite import Suite
from auxcal.experiments.suites.cifar10 import CIFAR10_RESNET20, CIFAR10_RESNET56
from auxcal.experiments.suites.imagenet import IMAGENET_EFFICIENTNET
from auxcal.experiments.suites.ng18 import NG18_DAN
from auxcal.experiments.suites.paper_cifar import PAPER_CIFAR
from auxcal.experiments.suites.paper_imagenet import PAPER_IMAGENET
from auxcal.experiments.suites.r8 import R8_DAN
from auxcal.experiments.suites.tiny100 import TINY100_EFFICIENTNET

__all__ = ["SUITES", "Suite", "suite"]

SUITES: tuple[Suite, ...] = (
    CIFAR10_RESNET20,
    CIFAR10_RESNET56,
    TINY100_EFFICIENTNET,
    IMAGENET_EFFICIENTNET,
    R8_DAN,
    NG18_DAN,
    *PAPER_CIFAR,
    *PAPER_IMAGENET,
)
"""Every suite: those that stand for the paper's, in its order; then the paper's own, which need official files."""


def suite(name: str) -> Suite:
    """Return the suite with the given name.

    Examples
    --------
    >>> from auxcal.experiments.suites import suite
    >>> suite("cifar10-resnet20").shifts
    ('D0', 'D1', 'D2', 'OOD', 'AD')
    """
    for entry in SUITES:
        if entry.name == name:
            return entry
    raise InvalidInputError(f"name must be a suite, one of {', '.join(entry.name for entry in SUITES)}; got {name!r}.")
