"""What a suite is: one target classifier that meets several shifts, with the paper's sizes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from auxcal._core.progress import Report
from auxcal.predictions import Predictions
from auxcal_paper.datasets import dataset

CLEAN = "D0"
"""No shift: the classifier on its own clean test data."""

NOT_IN_PAPER = "The paper has no such table."
"""The note on D0, the classifier on its own clean test data."""

Basis: TypeAlias = Literal["own", "layout", "network"]
"""What a suite stands on: the paper's data, with its network, its layout trained by us, or another."""


@dataclass(frozen=True)
class Suite:
    """A frozen specification of one of the paper's experiments.

    Parameters
    ----------
    name : str
        Its name on the command line, for instance ``"r8-dan"``.
    stands_for : tuple of (classifier, dataset)
        The experiments of the paper that it stands for, as the paper's results name them; none if it is our own.
    shifts : tuple of str
        Which of "D0" (no shift), "D1", "D2", "OOD" and "AD" it has.
    needs : tuple of str
        The names of the data sets that its bundles are made from.
    sizes : tuple of int
        The rows of the fit, select and test part.
    classifier : str
        How the classifier differs from the paper's, in a sentence.
    differences : dict of shift to str
        How else each shift differs from the paper's setting, in one or two sentences.
    build : callable
        ``build(shift, data_dir, report)`` makes the bundle; ``report`` is called with the share that is done.
    basis : {"own", "layout", "network"}
        What it stands on.
    left_out : dict of method to str
        The methods that are not run here, and why.
    class_names : tuple of str
        Short names of the classes for the figures, or none.
    official : Suite or None
        The suite of the same name with the paper's own files, which takes its place where they are.
    """

    name: str
    stands_for: tuple[tuple[str, str], ...]
    shifts: tuple[str, ...]
    needs: tuple[str, ...]
    sizes: tuple[int, int, int]
    differences: dict[str, str]
    build: Callable[[str, Path, Report], Predictions]
    classifier: str = ""
    basis: Basis = "network"
    left_out: dict[str, str] = field(default_factory=dict)
    class_names: tuple[str, ...] = ()
    official: "Suite | None" = None

    def at(self, data_dir: Path) -> "Suite":
        """Return the official suite if the files that it needs beyond these are in the folder, else this one.

        Examples
        --------
        >>> from pathlib import Path
        >>> from auxcal_paper.suites import suite
        >>> suite("cifar10-vgg16").at(Path("nowhere")).basis
        'layout'
        """
        if self.official is None:
            return self
        more = set(self.official.needs) - set(self.needs)
        return self.official if all(dataset(name).is_present(data_dir) for name in more) else self

    def leaves_out(self, method: str) -> bool:
        """Whether a method, or the one that it is a variant of, is not run here."""
        return method in self.left_out or method.removesuffix("-uniform").removesuffix("-paper") in self.left_out

    def parts(self, n_rows: int) -> tuple[int, int, int]:
        """Return the sizes of a bundle's parts: `sizes`, or proportionally fewer if it has fewer rows."""
        whole = sum(self.sizes)
        if n_rows >= whole:
            return self.sizes
        fit, select, test = (size * n_rows // whole for size in self.sizes)
        return fit, select, test
