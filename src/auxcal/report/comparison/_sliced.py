"""The slices of a comparison: how the classifier itself and the best method do on each of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from auxcal._core.arrays import Groups, Ints, as_groups
from auxcal._core.deferred_warnings import collect_warnings
from auxcal._core.text import visible
from auxcal.metrics import Slice, evaluate_by
from auxcal.predictions import Predictions
from auxcal.report.comparison._comparison import Entry


@dataclass(frozen=True)
class Sliced:
    """The slices of the test part by one column.

    Parameters
    ----------
    by : str
        The name of the column.
    before, after : tuple of Slice
        The slices with the classifier's own confidence, and with that of the best method, the largest first.
    """

    by: str
    before: tuple[Slice, ...]
    after: tuple[Slice, ...]

    @property
    def pairs(self) -> Iterator[tuple[Slice, Slice]]:
        """Each slice before and after."""
        return zip(self.before, self.after, strict=True)


def slice_columns(by: Mapping[str, ArrayLike] | None, rows: Ints, n_rows: int) -> dict[str, Groups]:
    """Check the columns to slice by, and return their values in the rows of the test part."""
    return {
        visible(str(name)): as_groups(values, n_rows=n_rows, name=name)[rows] for name, values in (by or {}).items()
    }


def sliced(
    by: str, values: Groups, test: Predictions, before: Entry, best: Entry, *, bootstrap: int, random_state: int
) -> Sliced:
    """Return every metric of the slices for the best method, and the ECE for the classifier itself."""
    kin: dict[str, Any] = {"sample_weight": test.sample_weight, "groups": test.groups, "random_state": random_state}
    with collect_warnings():  # a small slice leaves metrics undefined; a dash in the table says so
        first = evaluate_by(before.measured()[1], test.correct, values, metrics=["ece"], **kin)
        then = evaluate_by(best.measured()[1], test.correct, values, bootstrap=bootstrap, **kin)
    return Sliced(by, tuple(first), tuple(then))
