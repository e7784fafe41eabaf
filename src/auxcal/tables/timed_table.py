"""TimedTable: the rows of a table with the name of their chunk, batch by batch: what `auxcal monitor` reads."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from auxcal._core.arrays import NO_CLASS, Bools, Ints
from auxcal._core.errors import InvalidInputError
from auxcal._core.files import STANDARD
from auxcal._core.labels import LEFT_OUT, as_y
from auxcal.calibrators import Calibrator
from auxcal.monitoring.timed import Names, Timed, check_names, chunk_names
from auxcal.tables.batches import Source
from auxcal.tables.class_codes import codes_of
from auxcal.tables.columns import check_column
from auxcal.tables.readers import open_source
from auxcal.tables.scorer import Scorer
from auxcal.tables.spec import TableSpec
from auxcal.tables.values import to_numpy

if TYPE_CHECKING:
    import pyarrow as pa


class TimedTable:
    r"""Rows for a calibrator, some of which may have labels, with the column that puts them in order.

    It reads them in batches, so that memory does not grow with the table.

    Parameters
    ----------
    calibrator : Calibrator
        A fitted one; it knows its columns.
    *paths : path
        As in `read_predictions`.
    by : str or None
        The column of the order; with None all rows are of one chunk.
    name : str
        What that chunk is called.
    label : str, optional
        The column of the true classes, empty where a row has none. By default the one of the fit, if it is there.
    spec, columns, probabilities, features, class_names, no_class, unknown_is_no_class, on_bad_rows
        As in `read_predictions`, where they are not what the calibrator was fitted on.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from auxcal import Uncalibrated
    >>> from auxcal.tables import TimedTable
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "logits.csv"
    ...     _ = path.write_text("day,logit_0,logit_1,y\nmonday,2.5,0.1,0\ntuesday,0.3,0.9,\n")
    ...     table = TimedTable(Uncalibrated().fit([[2.0, 0.0]], [0]), path, by="day")
    ...     print(dict(table.counts()), [rows.labelled.tolist() for rows in table.batches()])
    {'monday': 1, 'tuesday': 1} [[True, False]]
    """

    def __init__(
        self,
        calibrator: Calibrator,
        *paths: str | os.PathLike[str],
        by: str | None,
        name: str = "",
        spec: TableSpec | None = None,
        **where: Any,
    ) -> None:
        spec = TableSpec.of(spec, where).known_to(calibrator.inputs_)
        spec.check_bad_rows()
        self._paths, self._by, self._name, self._spec = paths, by, name, spec
        self._labels, self._n_classes = spec.labels(calibrator.n_features_in_), calibrator.n_features_in_
        self._scorer = Scorer(calibrator, spec)

    def counts(self) -> Counter[str] | None:
        """Return how many rows each chunk has; None for one chunk, and for standard input, which can be read only once.

        Where bad rows are an error, this reads the column of the order alone, which costs little in a parquet file.
        """
        if self._by is None or any(str(path) == STANDARD for path in self._paths):
            return None
        counts: Counter[str] = Counter()
        with open_source(*self._paths) as source:
            self._check_columns(source)
            skip = self._spec.on_bad_rows == "skip"
            for names in self._good_names(source, self._by) if skip else self._all_names(source, self._by):
                counts.update(names.tolist())
        return counts

    def batches(self) -> Iterator[Timed]:
        """Yield all good rows; at the end, an `InputWarning` counts the others."""
        with open_source(*self._paths) as source:
            self._check_columns(source)
            truth = self._labels.name if self._labels.name in source.names else None
            for rows, logits, features in self._scorer.rows(source, [name for name in (self._by, truth) if name]):
                if self._by is None:
                    names = np.full(len(logits), self._name, dtype=object)
                else:
                    names = _names(rows.columns[self._by], rows.index)
                y, labelled = self._known(rows.columns[truth], rows.index) if truth else (None, None)
                yield Timed(logits, features, y, labelled, names, rows.done)

    def _check_columns(self, source: Source) -> None:
        if self._by is not None:
            check_column(source.names, self._by, "Name the column that puts the rows in order with --by.")
        if self._spec.label is not None:
            check_column(source.names, self._spec.label, "Name the column of the true classes with label (--label).")

    @staticmethod
    def _all_names(source: Source, by: str) -> Iterator[Names]:
        """Yield the chunk of every row."""
        before = 0
        for batch in source.batches((), (by,)):
            start, part = (before, "") if batch.part is None else (batch.part.before, f"{batch.part.name}: ")
            yield _names(batch[by], range(start, start + len(batch)), part)
            before += len(batch)

    def _good_names(self, source: Source, by: str) -> Iterator[Names]:
        """Yield the chunk of every good row, for which the logits must be read."""
        for rows, _, _ in self._scorer.rows(source, (by,), warn=False):
            yield _names(rows.columns[by], rows.index)

    def _known(self, column: pa.Array, rows: Ints) -> tuple[Ints, Bools]:
        """Return the true classes, `NO_CLASS` where a row has no label, and which rows have one."""
        y = codes_of(column, replace(self._labels, rows=rows), self._n_classes)
        labelled = y != LEFT_OUT
        try:
            return as_y(np.where(labelled, y, NO_CLASS), n_rows=len(y), n_classes=self._n_classes), labelled
        except InvalidInputError as error:
            where = f" Rows are counted from row {rows[0]:,}." if rows[0] else ""
            raise InvalidInputError(f"{error}{where}") from None


def _names(column: pa.Array, rows: Sequence[int] | Ints, part: str = "") -> Names:
    names = chunk_names(to_numpy(column))
    check_names(names, rows, part)
    return names
