"""Tallies of scored Arrow tables, batch by batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np

from auxcal._core.errors import InvalidInputError
from auxcal._core.extras import needs
from auxcal._core.labels import LEFT_OUT
from auxcal.metrics import Tally
from auxcal.tables.arrow_columns import ArrowColumn, from_numpy
from auxcal.tables.classes import Classes
from auxcal.tables.columns import check_column
from auxcal.tables.scored import add_tallies
from auxcal.tables.spec import CONFIDENCE, PREDICTION, TableSpec

with needs("tables"):
    import pyarrow as pa
    import pyarrow.compute as pc

_ROWS = 2**20  # so many at a time take the least time
_RIGHT = "auxcal right"
GROUP, TALLY = "group", "tally"
"""The columns of tallies on their way to the driver."""


def tally(
    rows: Any,
    *,
    confidence: str = CONFIDENCE,
    label: str | None = None,
    prediction: str = PREDICTION,
    correct: str | None = None,
    sample_weight: str | None = None,
    by: str | None = None,
) -> Any:
    """Return the tally of scored rows, or one for each group.

    Rows without a confidence, such as those that could not be scored, or without a label are left out.

    Parameters
    ----------
    rows : pyarrow.Table, RecordBatch or iterable of such
        The rows; of an iterable a million are in memory at a time.
    confidence : str
        The column of the confidences.
    label, prediction : str
        The columns of the true and of the predicted classes, both names or both indices.
    correct : str, optional
        The column that says whether the prediction is correct, in place of `label`.
    sample_weight : str, optional
        The column that says how often each row counts.
    by : str, optional
        The column of the groups.

    Returns
    -------
    Tally, or dict of group to Tally

    Examples
    --------
    >>> import auxcal, pyarrow as pa
    >>> scored = pa.table({"confidence": [0.9, 0.7, None], "prediction": ["a", "b", None], "y": ["a", "a", "b"]})
    >>> auxcal.arrow.tally(scored, label="y").n_rows
    2
    """
    used = TallyColumns(confidence, label, prediction, correct, sample_weight, by)
    found = tallies_of(rows, used)
    return found if by is not None else found.get(None, Tally())


class ColumnNames(TypedDict, total=False):
    """What `tally` takes besides rows."""

    confidence: str
    label: str | None
    prediction: str
    correct: str | None
    sample_weight: str | None
    by: str | None


@dataclass(frozen=True)
class TallyColumns:
    """The columns that a tally is made of; see `tally`."""

    confidence: str = CONFIDENCE
    label: str | None = None
    prediction: str = PREDICTION
    correct: str | None = None
    sample_weight: str | None = None
    by: str | None = None

    @property
    def used(self) -> list[str]:
        """Their names, each once."""
        if (self.label is None) == (self.correct is None):
            raise InvalidInputError("give either label or correct, the column that says which predictions are right.")
        right = [self.correct] if self.label is None else [self.prediction, self.label]
        given = [self.confidence, *right, self.sample_weight, self.by]
        return list(dict.fromkeys(name for name in given if name is not None))


def tallies_of(rows: Any, columns: TallyColumns) -> dict[Any, Tally]:
    """Return the tally of each group; that of all rows under None where there are no groups."""
    found: dict[Any, Tally] = {}
    for table in _gathered(rows, columns.used):
        right = _right(table, columns)
        known = pc.and_(pc.is_valid(right), pc.invert(pc.is_null(table[columns.confidence], nan_is_null=True)))
        found = add_tallies(found, _by_group(table.append_column(_RIGHT, right).filter(known), columns))
    return found


def tally_table(rows: Any, columns: TallyColumns, group: pa.DataType) -> pa.Table:
    """Return a row for each group, with its name and its tally as bytes, so that any engine can move them."""
    parts = tallies_of(rows, columns)
    contents = [part.to_bytes() for part in parts.values()]
    return pa.table({GROUP: pa.array(list(parts), group), TALLY: pa.array(contents, pa.binary())})


def evaluated(rows: Iterable[Any], columns: TallyColumns, metrics: Sequence[str] | None) -> dict[Any, Any]:
    """Add up the tallies that workers sent, and evaluate them: that of all rows, or each group."""
    whole: dict[Any, Tally] = {}
    for row in rows:
        whole = add_tallies(whole, {row[GROUP]: Tally.from_bytes(bytes(row[TALLY]))})
    if columns.by is None:
        return whole.get(None, Tally()).evaluate(metrics)
    return {group: part.evaluate(metrics) for group, part in whole.items()}


def _by_group(table: pa.Table, columns: TallyColumns) -> dict[Any, Tally]:
    confidence, right = (np.asarray(table[name].to_numpy()) for name in (columns.confidence, _RIGHT))
    weight = None if columns.sample_weight is None else np.asarray(table[columns.sample_weight].to_numpy())
    if columns.by is None or not len(table):
        return {} if columns.by else {None: Tally.of(confidence, right, weight)}
    encoded = table[columns.by].combine_chunks().dictionary_encode(null_encoding="encode")
    groups = encoded.dictionary.to_pylist()
    parts = Tally.by_group(confidence, right, encoded.indices.to_numpy(), weight)
    return {groups[place]: part for place, part in parts.items()}


def _right(table: pa.Table, columns: TallyColumns) -> pa.Array:
    """Return whether each prediction is correct; names are compared with names, and indices with indices."""
    if columns.label is None:
        return table[columns.correct].cast(pa.bool_())
    both = [table[columns.prediction], table[columns.label]]
    texts = [_is_text(column.type) for column in both]
    if texts[0] != texts[1]:
        raise InvalidInputError(
            f"predictions and true classes must both be names or both be indices; got {both[0].type} and "
            f"{both[1].type}. Score with names=False for indices."
        )
    classes = Classes(TableSpec(label=columns.label, prediction=columns.prediction))
    predicted, true = classes.codes(*(ArrowColumn(column.combine_chunks()) for column in both))
    return from_numpy(predicted == true, (predicted == LEFT_OUT) | (true == LEFT_OUT))


def _is_text(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _gathered(rows: Any, names: list[str]) -> Iterator[pa.Table]:
    """Yield tables of some columns with about a million rows each."""
    pending: list[pa.Table] = []
    for part in (rows,) if isinstance(rows, pa.Table | pa.RecordBatch) else _each(rows):
        for name in names:
            check_column(part.schema.names, name, "Name the columns of the scores and of the true classes.")
        table = pa.table({name: part.column(name) for name in names})
        pending.extend(table.slice(start, _ROWS) for start in range(0, max(len(table), 1), _ROWS))
        if sum(map(len, pending)) >= _ROWS:
            yield pa.concat_tables(pending)
            pending.clear()
    if pending:
        yield pa.concat_tables(pending)


def _each(rows: Any) -> Iterable[Any]:
    if not isinstance(rows, Iterable):
        raise InvalidInputError(f"rows must be a table or batches of pyarrow; got {type(rows).__name__}.")
    return rows
