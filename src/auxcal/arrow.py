"""Scores of Arrow arrays, batches and tables; on engines, in every worker."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from typing import Any, TypeVar

from auxcal._core.errors import InvalidInputError
from auxcal._core.extras import needs
from auxcal._core.threads import one_thread
from auxcal.calibrators import Calibrator
from auxcal.inputs import warn_of_wrong_kind
from auxcal.persistence import from_bytes, load, to_bytes

with needs("tables"):
    import pyarrow as pa

    from auxcal.tables.batches import Batch
    from auxcal.tables.rows import BadRows, convert
    from auxcal.tables.scorer import Scorer, as_classes
    from auxcal.tables.spec import CONFIDENCE, PREDICTION, TableSpec
    from auxcal.tables.values import from_numpy, is_list

__all__ = ["BadRows", "Scores", "score"]

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
    earlier : frozenset of str
        The columns of a table that are of an earlier scoring.
    """

    prediction: Any
    confidence: Any
    bad: BadRows
    earlier: frozenset[str] = field(default=frozenset(), repr=False)

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
        scored = table.select([name for name in table.schema.names if name not in written and name not in self.earlier])
        for name, column in written.items():
            scored = scored.append_column(name, column)
        return scored

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
    layout = scorer.layout(batch.schema.names, _lists(batch.schema))
    rows = convert(Batch(batch), layout)
    known = scorer.calibrator.inputs_
    if not layout.probabilities:
        warn_of_wrong_kind(known.kind, rows.numbers, stacklevel=2)
    scores = scorer.score(rows)
    prediction = None
    if not scorer.calibrator.takes_signals:
        prediction = as_classes(scores.prediction, known.class_names if names else None, scores.bad)
    confidence = from_numpy(scores.confidence, scores.bad)
    earlier = frozenset(scorer.earlier_scores(batch.schema.names, layout))
    return Scores(prediction, confidence, BadRows.among(rows.problems), earlier)


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
