"""Scores and tallies of Arrow tables, batch by batch; on engines, in every worker."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from importlib import import_module
from typing import Any, TypedDict, TypeVar

import numpy as np

from auxcal._core.errors import InvalidInputError
from auxcal._core.extras import needs
from auxcal._core.labels import LEFT_OUT
from auxcal._core.threads import one_thread
from auxcal.calibrators import Calibrator
from auxcal.inputs import warn_of_wrong_kind
from auxcal.metrics import Tally
from auxcal.persistence import from_bytes, load, to_bytes
from auxcal.tables.arrow_columns import ArrowColumn, from_numpy, from_text, is_list, is_text
from auxcal.tables.classes import Classes
from auxcal.tables.columns import check_column
from auxcal.tables.rows import BadRows, convert
from auxcal.tables.scored import add_tallies
from auxcal.tables.scorer import Scorer
from auxcal.tables.sources import Batch
from auxcal.tables.spec import CONFIDENCE, PREDICTION, TableSpec, optional_scores

with needs("tables"):
    import pyarrow as pa
    import pyarrow.compute as pc

_ROWS = 2**20  # so many at a time take the least time
_RIGHT = "auxcal right"
GROUP, TALLY = "group", "tally"
"""The columns of tallies on their way to the driver."""

_Table = TypeVar("_Table", pa.RecordBatch, pa.Table)


@dataclass(frozen=True, eq=False)
class Scores:
    """The scores of an Arrow array, batch or table.

    Parameters
    ----------
    prediction : pyarrow.Array or pyarrow.ChunkedArray
        The class of each row: its name where the calibrator knows names, else its index; null for a bad row. None
        where there are signals in place of logits.
    confidence : pyarrow.Array or pyarrow.ChunkedArray
        The probability that the prediction is correct, as precise as the logits; null for a bad row.
    bad : BadRows
        How many rows are bad, by what is wrong with them.
    earlier : callable
        Gives those names of columns that are of an earlier scoring.
    """

    prediction: Any
    confidence: Any
    bad: BadRows
    earlier: Callable[[Sequence[str]], list[str]] = field(default=optional_scores, repr=False)

    def as_structs(self) -> Any:
        """Return one array of structs with `prediction` and `confidence`, as functions of SQL engines give it."""
        if isinstance(self.confidence, pa.ChunkedArray):
            return pa.table(self._columns).to_struct_array()
        return pa.StructArray.from_arrays(list(self._columns.values()), list(self._columns))

    def beside(self, table: _Table) -> _Table:
        """Return a batch or a table with the columns `prediction` and `confidence`.

        Columns of an earlier scoring, such as `accepted` and `proba_0`, are left out.
        """
        written = self._columns
        replaced = {*self._columns, *self.earlier(table.schema.names)}
        found = table.select([name for name in table.schema.names if name not in replaced])
        for name, column in written.items():
            found = found.append_column(name, column)
        return found

    @property
    def _columns(self) -> dict[str, Any]:
        of_class = {} if self.prediction is None else {PREDICTION: self.prediction}
        return of_class | {CONFIDENCE: self.confidence}


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
        the calibrator was fitted on, those of signals too.
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
        make = pa.RecordBatch.from_pydict if isinstance(rows, pa.Array) else pa.table
        rows = make({"logits": rows} if features is None else {"logits": rows, "features": features})
        columns, features = "logits", None if features is None else "features"
    if not isinstance(rows, pa.RecordBatch | pa.Table):
        raise InvalidInputError(
            f"rows must be an array, a chunked array, a batch or a table of pyarrow; got {type(rows).__name__}. "
            f"pyarrow.table(rows) makes a table of most data frames."
        )
    twice = next((name for name in rows.schema.names if len(rows.schema.get_all_field_indices(name)) > 1), None)
    if twice is not None:
        raise InvalidInputError(
            f"every column needs a name of its own; got {twice!r} more than once. Rename one of them, or leave it out."
        )
    scorer = Scorer(calibrator, TableSpec(columns=columns, features=features, probabilities=probabilities))
    if isinstance(rows, pa.RecordBatch):
        return _scores_of(rows, scorer, names=names)
    batches = rows.to_batches() or [pa.RecordBatch.from_pylist([], schema=rows.schema)]
    parts = [_scores_of(batch, scorer, names=names) for batch in batches]
    prediction = None if calibrator.takes_signals else pa.chunked_array([part.prediction for part in parts])
    confidence = pa.chunked_array([part.confidence for part in parts])
    return Scores(prediction, confidence, sum((part.bad for part in parts), BadRows()), parts[0].earlier)


def _scores_of(batch: pa.RecordBatch, scorer: Scorer, *, names: bool) -> Scores:
    columns = {name: ArrowColumn(column) for name, column in zip(batch.schema.names, batch.columns, strict=True)}
    layout = scorer.layout(batch.schema.names, _lists(batch.schema))
    rows = convert(Batch({name: columns[name] for name in (*layout.numbers, *layout.signals)}, None), layout)
    known = scorer.calibrator.inputs_
    if not layout.probabilities:
        warn_of_wrong_kind(known.kind, rows.numbers, stacklevel=2)
    scores = scorer.score(rows)
    prediction = None
    if not scorer.calibrator.takes_signals:
        prediction = from_numpy(scores.prediction.astype(np.int64, copy=False), scores.bad)
    if names and known.class_names:
        prediction = from_text(list(known.class_names)).take(prediction)
    confidence = from_numpy(scores.confidence, scores.bad)
    return Scores(prediction, confidence, BadRows.among(rows.problems), partial(scorer.earlier_scores, layout=layout))


def _lists(schema: pa.Schema) -> list[str]:
    return [field.name for field in schema if is_list(field.type)]


# On the way to the workers of an engine -------------------------------------------------------------------------------


@dataclass(frozen=True)
class PackedScorer:
    """What a worker needs to score: plain data, so that any engine can move it.

    The calibrator as in its file; the module of its class, which a worker imports first, since it can be the user's
    own; what `auxcal.arrow.score` takes; and whether the columns of the logits and the features stay in the table.
    """

    contents: bytes
    module: str
    columns: str | tuple[str, ...] | None = None
    features: str | tuple[str, ...] | None = None
    probabilities: bool | None = None
    names: bool = True
    keep_inputs: bool = True

    @classmethod
    def of(
        cls,
        calibrator: Calibrator | str | os.PathLike[str],
        columns: str | Sequence[str] | None = None,
        features: str | Sequence[str] | None = None,
        **options: Any,
    ) -> PackedScorer:
        """Pack a calibrator, or the one in a file."""
        fitted = calibrator if isinstance(calibrator, Calibrator) else load(calibrator)
        return cls(to_bytes(fitted), type(fitted).__module__, _plain(columns), _plain(features), **options)

    @property
    def calibrator(self) -> Calibrator:
        """The calibrator; every process loads it once."""
        return _loaded(self.module, self.contents)

    def score(self, rows: Any, features: Any = None) -> Scores:
        """Score an array, a batch or a table with one thread: the engine has a worker for each core."""
        with one_thread():
            return score(
                rows,
                self.calibrator,
                columns=self.columns,
                features=self.features if features is None else features,
                probabilities=self.probabilities,
                names=self.names,
            )

    def add_to(self, table: Any) -> Any:
        """Return a batch or a table with its scores."""
        scored = self.score(table).beside(table)
        if self.keep_inputs:
            return scored
        inputs = self.inputs(table.schema)
        return scored.select([name for name in scored.schema.names if name not in inputs])

    def inputs(self, schema: pa.Schema) -> tuple[str, ...]:
        """Return the columns of the logits and of the features, or of the signals."""
        spec = TableSpec(columns=self.columns, features=self.features, probabilities=self.probabilities)
        layout = Scorer(self.calibrator, spec).layout(schema.names, _lists(schema))
        return (*layout.numbers, *layout.signals)


@lru_cache(maxsize=4)
def _loaded(module: str, contents: bytes) -> Calibrator:
    import_module(module)
    return from_bytes(contents)


def _plain(names: str | Sequence[str] | None) -> str | tuple[str, ...] | None:
    return names if names is None or isinstance(names, str) else tuple(names)


# Tallies --------------------------------------------------------------------------------------------------------------


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
    kinds = [each.type.value_type if pa.types.is_dictionary(each.type) else each.type for each in both]
    if is_text(kinds[0]) != is_text(kinds[1]):
        raise InvalidInputError(
            f"predictions and true classes must both be names or both be indices; got {both[0].type} and "
            f"{both[1].type}. Score with names=False for indices."
        )
    classes = Classes(TableSpec(label=columns.label, prediction=columns.prediction))
    has_score = np.asarray(pc.invert(pc.is_null(table[columns.confidence], nan_is_null=True)).to_numpy())
    predicted, true = classes.codes(*(ArrowColumn(column.combine_chunks()) for column in both), scored=has_score)
    if classes.like_missing:  # a worker sees some of the rows alone, and others may have no such prediction
        raise InvalidInputError(
            f"the class {classes.like_missing[0]!r} reads like a missing label. Add a column of whether a prediction "
            f"is right, and name it with correct in place of label."
        )
    return from_numpy(predicted == true, (predicted == LEFT_OUT) | (true == LEFT_OUT))


def _gathered(rows: Any, names: list[str]) -> Iterator[pa.Table]:
    """Yield tables of some columns with about a million rows each."""
    pending: list[pa.Table] = []
    if isinstance(rows, pa.Table | pa.RecordBatch):
        rows = (rows,)
    if not isinstance(rows, Iterable):
        raise InvalidInputError(f"rows must be a table or batches of pyarrow; got {type(rows).__name__}.")
    for part in rows:
        for name in names:
            check_column(part.schema.names, name, "Name the columns of the scores and of the true classes.")
        table = pa.table({name: part.column(name) for name in names})
        pending.extend(table.slice(start, _ROWS) for start in range(0, max(len(table), 1), _ROWS))
        if sum(map(len, pending)) >= _ROWS:
            yield pa.concat_tables(pending)
            pending.clear()
    if pending:
        yield pa.concat_tables(pending)
