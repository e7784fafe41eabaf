"""Scores and evaluation of Ray's data sets: Ray moves, retries and writes; a task scores Arrow batches."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack

from auxcal._core.extras import needs
from auxcal.calibrators import Calibrator

with needs("ray"):
    import pyarrow as pa
    import ray.data  # noqa: F401  so that its absence is known here

    from auxcal.tables.arrow_tables import ColumnNames, PackedScorer, TallyColumns, evaluated, tally_table

if TYPE_CHECKING:
    from ray.data import Dataset

__all__ = ["Score", "evaluate"]

_ROWS = 2**20  # of a tally


class Score:
    """Adds the columns `prediction` and `confidence` to Arrow batches; they are null for a row that can't be scored.

    Where the calibrator takes signals, there is no prediction, and a gap is no reason for null.

    Use it as ``ds.map_batches(Score(calibrator), batch_format="pyarrow")``.

    Parameters
    ----------
    calibrator : Calibrator or path
        A fitted one, or its file.
    columns, features, probabilities, names
        As in `auxcal.arrow.score`.
    keep_inputs : bool
        Keep the columns of the logits and the features. Without them there is less to move.
    """

    def __init__(
        self,
        calibrator: Calibrator | str | os.PathLike[str],
        *,
        columns: str | Sequence[str] | None = None,
        features: str | Sequence[str] | None = None,
        probabilities: bool | None = None,
        names: bool = True,
        keep_inputs: bool = True,
    ) -> None:
        options = {"probabilities": probabilities, "names": names, "keep_inputs": keep_inputs}
        self._scorer = PackedScorer.of(calibrator, columns, features, **options)

    def __call__(self, batch: pa.Table) -> pa.Table:
        """Score a batch."""
        return self._scorer.add_to(batch)


def evaluate(ds: Dataset, *, metrics: Sequence[str] | None = None, **columns: Unpack[ColumnNames]) -> dict[Any, Any]:
    """Return every metric of a scored data set, or of each group, on tallies that tasks make and the driver adds up.

    Parameters
    ----------
    ds : Dataset
        The scored rows; those without a confidence or a label are left out.
    metrics : sequence of str, optional
        The names of the metrics; all by default.
    **columns : str
        The columns, as in `auxcal.arrow.tally`: confidence, label, prediction, correct, sample_weight, by.

    Returns
    -------
    dict of str to float, or dict of group to such
        As `Tally.evaluate` gives it.
    """
    named = TallyColumns(**columns)
    used = named.used  # which refuses columns that don't go together

    def tallied(batch: pa.Table) -> pa.Table:
        return tally_table(batch, named, pa.null() if named.by is None else batch.schema.field(named.by).type)

    chosen = ds.select_columns(used)
    rows = chosen.map_batches(tallied, batch_format="pyarrow", batch_size=_ROWS).iter_rows()
    return evaluated(rows, named, metrics)
