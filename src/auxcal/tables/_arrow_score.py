"""The prediction and the confidence of every row of an Arrow array, batch or table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, NamedTuple, TypeVar

import numpy as np

from auxcal._core.arrays import both_classes
from auxcal._core.errors import InvalidInputError
from auxcal._core.extras import needs
from auxcal._core.float_errors import ignore_float_errors
from auxcal.calibrators import Calibrator
from auxcal.inputs import warn_of_wrong_kind
from auxcal.tables._buffers import from_numpy, from_text
from auxcal.tables.columns import find_logits
from auxcal.tables.matrix import Matrix, holds_numbers, is_list, matrix_of
from auxcal.tables.scores import CONFIDENCE, PREDICTION, BadRows, Problem, features_for, score_rows

with needs("tables"):
    import pyarrow as pa

_Table = TypeVar("_Table", pa.RecordBatch, pa.Table)


@dataclass(frozen=True, eq=False)
class Scores:
    """The scores of an Arrow array, batch or table.

    Parameters
    ----------
    prediction : pyarrow.Array or pyarrow.ChunkedArray
        The class of each row: its name where the calibrator knows names, else its index; null for a bad row.
    confidence : pyarrow.Array or pyarrow.ChunkedArray
        The probability that the prediction is correct, as precise as the logits; null for a bad row.
    bad : BadRows
        How many rows are bad, by what is wrong with them.
    """

    prediction: Any
    confidence: Any
    bad: BadRows

    def as_structs(self) -> Any:
        """Return one array of structs with `prediction` and `confidence`, as functions of SQL engines give it."""
        arrays, names = [self.prediction, self.confidence], [PREDICTION, CONFIDENCE]
        if isinstance(self.confidence, pa.ChunkedArray):
            return pa.table(arrays, names).to_struct_array()
        return pa.StructArray.from_arrays(arrays, names)

    def beside(self, table: _Table) -> _Table:
        """Return a batch or a table with the columns `prediction` and `confidence`; such that it has are replaced."""
        others = table.select([name for name in table.schema.names if name not in (PREDICTION, CONFIDENCE)])
        return others.append_column(PREDICTION, self.prediction).append_column(CONFIDENCE, self.confidence)


def score(
    rows: Any,
    calibrator: Calibrator,
    *,
    columns: str | Sequence[str] | None = None,
    features: Any = None,
    probabilities: bool | None = None,
    names: bool = True,
) -> Scores:
    """Score the rows of an Arrow array, batch or table; a bad row gets null, and none of them raises.

    A row is bad if it is null or has a null, has another number of values than the calibrator was fitted with, holds
    NaN, infinity or numbers beyond ±1e15, or is not a probability distribution where one is expected. Lists are read
    in place where all rows are good.

    Parameters
    ----------
    rows : pyarrow.Array, ChunkedArray, RecordBatch or Table
        Lists of logits; or a table in which they are found as in a file: a list column `logits`, or the columns that
        the calibrator was fitted on.
    calibrator : Calibrator
        A fitted one.
    columns : str or sequence of str, optional
        The columns of a table that hold the logits, where they are not those that the calibrator was fitted on.
    features : str, sequence of str or pyarrow.Array, optional
        The columns that hold the features, if the calibrator was fitted with features; beside an array, an array of
        lists.
    probabilities : bool, optional
        Whether the rows hold probabilities; by default, whether the calibrator was fitted on such.
    names : bool
        Give the names of the predicted classes where the calibrator knows them; else their indices.

    Returns
    -------
    Scores
        Arrays for an array or a batch, chunked arrays for a chunked array or a table.

    Examples
    --------
    >>> import auxcal, pyarrow as pa
    >>> fitted = auxcal.Uncalibrated().fit([[2.0, 0.0], [0.0, 1.0]], [0, 1], class_names=["cat", "dog"])
    >>> scores = auxcal.arrow.score(pa.array([[2.0, 0.0], None, [0.0, 1.0], [1.0]]), fitted)
    >>> scores.prediction.to_pylist(), scores.confidence.to_numpy(zero_copy_only=False).round(2)
    (['cat', None, 'dog', None], array([0.88,  nan, 0.73,  nan]))
    >>> print(scores.bad)
    2 bad rows (1 null, 1 of another width)
    """
    calibrator = calibrator._now()
    if isinstance(rows, pa.Array | pa.ChunkedArray):
        rows, columns, features = _as_table(rows, features)
    if not isinstance(rows, pa.RecordBatch | pa.Table):
        raise InvalidInputError(
            f"rows must be an array, a chunked array, a batch or a table of pyarrow; got {type(rows).__name__}. "
            f"pyarrow.table(rows) makes a table of most data frames."
        )
    options = _Options(columns, features, calibrator.inputs_.as_proba(probabilities), names)
    if isinstance(rows, pa.RecordBatch):
        return _scores_of(rows, calibrator, options)
    batches = rows.to_batches() or [pa.RecordBatch.from_pylist([], schema=rows.schema)]
    return _joined([_scores_of(batch, calibrator, options) for batch in batches])


def find_inputs(
    schema: pa.Schema,
    calibrator: Calibrator,
    columns: str | Sequence[str] | None,
    features: str | Sequence[str] | None,
    probabilities: bool | None,
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the columns of the logits, and those of the features."""
    as_proba = calibrator.inputs_.as_proba(probabilities)
    logits = find_logits(schema.names, columns, calibrator.inputs_, probabilities=as_proba)
    matrices = [field.name for field in schema if is_list(field.type)]
    return logits, features_for(calibrator, schema.names, matrices, features, taken=logits)


class _Options(NamedTuple):
    columns: str | Sequence[str] | None
    features: str | Sequence[str] | None
    probabilities: bool
    names: bool


def _as_table(rows: Any, features: Any) -> tuple[Any, str, str | None]:
    """Return an array as a batch, and a chunked array as a table, with the names of the columns in it."""
    given = {"logits": rows} if features is None else {"logits": rows, "features": features}
    make = pa.RecordBatch.from_pydict if isinstance(rows, pa.Array) else pa.table
    return make(given), "logits", None if features is None else "features"


@ignore_float_errors
def _scores_of(batch: pa.RecordBatch, calibrator: Calibrator, options: _Options) -> Scores:
    known = calibrator.inputs_
    found, further = find_inputs(batch.schema, calibrator, *options[:3])
    n_classes = calibrator.n_features_in_
    one = n_classes == 2 and len(found) == 1 and holds_numbers(batch.column(found[0]).type)
    numbers, problems = _matrix(batch, found, 1 if one else n_classes, "logits")
    numbers = both_classes(numbers, probabilities=options.probabilities)
    features = None
    if further:
        features, wrong = _matrix(batch, further, calibrator.n_further_features_, "features")
        problems = np.where(problems == Problem.NONE, wrong, problems)
    if not options.probabilities:
        warn_of_wrong_kind(known.kind, numbers, stacklevel=3)
    scored = score_rows(calibrator, numbers, features, problems, probabilities=options.probabilities)
    missing = None if scored.problems is None else scored.problems != Problem.NONE
    prediction = from_numpy(scored.prediction.astype(np.int64, copy=False), missing)
    if options.names and known.class_names:
        prediction = from_text(list(known.class_names)).take(prediction)
    return Scores(prediction, from_numpy(scored.confidence, missing), BadRows.among(scored.problems))


def _matrix(batch: pa.RecordBatch, names: Sequence[str], width: int, what: str) -> Matrix:
    return matrix_of([batch.column(name) for name in names], width, what, names)


def _joined(parts: Sequence[Scores]) -> Scores:
    return Scores(
        pa.chunked_array([part.prediction for part in parts]),
        pa.chunked_array([part.confidence for part in parts]),
        reduce(add, (part.bad for part in parts)),
    )
