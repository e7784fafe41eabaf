"""What a suite is: one target classifier that meets several shifts, with the paper's sizes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from auxcal._core.progress import Report
from auxcal.predictions import Predictions

CLEAN = "D0"
"""No shift: the classifier on its own clean test data."""

NOT_IN_PAPER = "The paper has no such table."
"""What is said of D0, the classifier on its own clean test data."""


@dataclass(frozen=True)
class Suite:
    """A frozen specification of one of the paper's experiments.

    Parameters
    ----------
    name : str
        Its name on the command line, for instance ``"r8-dan"``.
    stands_for : tuple of (classifier, dataset)
        The experiments of the paper that it stands for, as they are named in the paper's results.
    shifts : tuple of str
        Which of "D0" (no shift), "D1", "D2", "OOD" and "AD" it has.
    needs : tuple of str
        The names of the data sets that its bundles are made from.
    sizes : tuple of int
        The rows of the fit, select and test part.
    differences : dict of shift to str
        How each shift differs from the paper's setting, in one or two sentences.
    build : callable
        ``build(shift, data_dir, report)`` makes the bundle; ``report`` is told the share that is done.
    left_out : dict of method to str
        The methods that are not run here, and why.
    class_names : tuple of str
        Short names of the classes for the figures, or none.
    """

    name: str
    stands_for: tuple[tuple[str, str], ...]
    shifts: tuple[str, ...]
    needs: tuple[str, ...]
    sizes: tuple[int, int, int]
    differences: dict[str, str]
    build: Callable[[str, Path, Report], Predictions]
    left_out: dict[str, str] = field(default_factory=dict)
    class_names: tuple[str, ...] = ()

    def parts(self, n_rows: int) -> tuple[int, int, int]:
        """Return the sizes of a bundle's parts: `sizes`, or proportionally fewer if it has fewer rows."""
        whole = sum(self.sizes)
        if n_rows >= whole:
            return self.sizes
        fit, select, test = (size * n_rows // whole for size in self.sizes)
        return fit, select, test
