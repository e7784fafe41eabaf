"""Logits and true classes from a table: what `auxcal fit` and `auxcal compare` read."""

from __future__ import annotations

import os
import warnings
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from auxcal._core.arrays import NO_CLASS, Ints, as_features, as_rng
from auxcal._core.errors import InputWarning, InvalidInputError
from auxcal._core.labels import warn_of_unlabelled
from auxcal._core.sampling import KEY, Reservoir, Rows, in_order
from auxcal._core.text import some
from auxcal.predictions import Predictions
from auxcal.tables.batches import Source, check_rows
from auxcal.tables.columns import (
    USUAL_ARRAYS,
    Layout,
    check_column,
    find_layout,
    find_logits,
    find_signals,
    find_weights,
)
from auxcal.tables.readers import open_source
from auxcal.tables.rows import as_logit_matrix, kept_groups, kept_weights, parsed, usable_rows
from auxcal.tables.spec import TableSpec
from auxcal.tables.values import is_list, is_text, matrix_of, slices_of, to_numpy

FEWEST_KNOWN = 0.05
"""With a smaller share of known labels, the column of the labels is likely something else, such as an id.

A rule of thumb: no script chose it. Out-of-distribution rows are seldom more than a half of a table."""

_NAME_LABEL = "Name the column of the true classes with label (--label)."
_SAVE_LABEL = "Save y beside the logits, or name two files, logits.npy and y.npy."
_LOGITS, _FEATURES, _INDEX, _LABEL, _ID = "logits", "features", "index", "label", "id"
_GROUP, _WEIGHT = "group", "weight"
_BY, _TABLE = "by ", "table "  # how the keys of arrays begin


class Labelled(NamedTuple):
    """The rows of a file that have a label, their places in the file from 0, their ids, and the columns to slice by."""

    data: Predictions
    rows: Ints
    ids: NDArray[Any] | None
    by: dict[str, NDArray[Any]]


def read_predictions(
    *paths: str | os.PathLike[str],
    spec: TableSpec | None = None,
    sample: int | None = None,
    random_state: int | None = 0,
    **where: Any,
) -> Predictions:
    r"""Read logits and true classes from a file, and features if it has them.

    Rows without a label are left out, and an `InputWarning` says how many they are.

    Parameters
    ----------
    *paths : path
        An `.npz`, `.csv`, `.parquet`, `.jsonl`, `.safetensors`, `.pt` or `.pth` file; two `.npy` files, logits and y in
        any order; or `-` for CSV from standard input. Several files of one format, a folder of them, a pattern such as
        `logits/*/part-*.parquet`, and URLs of these are one table. Folders such as `day=2024-05-01` are a column `day`.
    label : str, optional
        The array or column of the true classes, by default `y`: an index 0..K-1 (3, 3.0 or "3"), or -1 for none of the
        classes; or the names of the classes.
    columns : str or sequence of str, optional
        Where the logits are: the name of one array, or the prefix of K columns numbered from 0, or a list of K columns
        in the order of the classes. By default the array `logits`, else the columns `logit_0` to `logit_{K-1}`, in any
        order in the file.
    probabilities : bool, optional
        The file holds probabilities instead of logits; by default the array `proba`, else the columns `prob_0` to
        `prob_{K-1}`. Every row must sum to 1 within 0.02. Probabilities are clipped at 1e-12 from below, and their
        logarithms are the logits.
    features : str or sequence of str, optional
        Where the features of each sample are, given as for `columns`, or a single column; `()` for none. By default
        the array `features` of shape (n, d), if the file has one; in a table the columns must be named.
    class_names : sequence of str, optional
        The names of the classes in order; by default those of the columns, if `columns` lists them.
    no_class : sequence of str
        Labels that mean none of the classes, besides -1.
    unknown_is_no_class : bool
        Whether all labels that are none of the classes mean that too.
    weight, group : str, optional
        The columns of how often each row counts, and of what it belongs to: see `Predictions`. By default the arrays
        `sample_weight` and `groups` of a bundle, if it has them.
    inputs : Inputs, optional
        What is known of the columns already, such as ``calibrator.inputs_``: it holds where the arguments before say
        nothing else.
    on_bad_rows : {"fail", "skip"}
        What becomes of a row whose logits or features are null, NaN, infinite, of another width, or not a distribution
        where probabilities are expected: it is an error, or it is left out, and an `InputWarning` counts such rows.
    spec : TableSpec, optional
        The arguments before, in one.
    sample : int, optional
        Read a random sample of so many rows, with every label in the share that it has, if there are more, and give an
        `InputWarning`. It is drawn in one pass, so memory does not grow with the table. By default all rows are read.
    random_state : int or None
        The source of the sample's randomness.

    Returns
    -------
    Predictions

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from auxcal.tables import read_predictions
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "logits.csv"
    ...     _ = path.write_text("id,cat,dog,y\na,2.5,0.1,cat\nb,0.3,0.9,bus\n")
    ...     read_predictions(path, columns=["cat", "dog"], no_class=["bus"])
    Predictions(n=2, K=2, accuracy=0.500, no_class=1)
    """
    return read_labelled(*paths, spec=spec, sample=sample, random_state=random_state, **where).data


def read_labelled(
    *paths: str | os.PathLike[str],
    id_column: str | None = None,
    by: Sequence[str] = (),
    spec: TableSpec | None = None,
    sample: int | None = None,
    random_state: int | None = 0,
    **where: Any,
) -> Labelled:
    r"""Read what `read_predictions` reads, and which rows of the file these are.

    Parameters
    ----------
    *paths
        As in `read_predictions`.
    id_column : str, optional
        The column of the rows' own ids.
    by : sequence of str
        Columns to slice by.
    spec, sample, random_state, **where
        As in `read_predictions`.

    Returns
    -------
    Labelled
        `data`, `rows`, `ids` and `by`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from auxcal.tables import read_labelled
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "logits.csv"
    ...     _ = path.write_text("id,logit_0,logit_1,y\na,2.5,0.1,0\nb,0.3,0.9,0\n")
    ...     read_labelled(path, id_column="id").ids.tolist()
    ['a', 'b']
    """
    spec = TableSpec.of(spec, where)
    spec.check_bad_rows()
    with open_source(*paths) as source:
        reader = (_Answers if spec.signals is not None else _Logits)(source, spec, id_column, by)
        rows, n_read, without = reader.rows(sample, random_state)
        y, kept = _labels(rows, spec, reader.n_classes, n_read, without)
        data = reader.predictions(rows, y, kept)
        ids = rows[_ID][kept] if id_column else None
        slices = {name: rows[f"{_BY}{name}"][kept] for name in by}
        return Labelled(data, rows[_INDEX][kept], ids, slices)


class _Reader(ABC):
    """Reads the columns of a labelled table as arrays: all rows, or a sample."""

    n_classes = 1
    table: tuple[str, ...] = ()
    """The columns of signals, or of features with categories and gaps."""

    def __init__(self, source: Source, spec: TableSpec, id_column: str | None, by: Sequence[str]) -> None:
        self.source, self.spec, self.id, self.by = source, spec, id_column, by
        self.weight, self.group = find_weights(source, spec)
        self.others = [name for name in (spec.label_name, id_column, self.group, *by) if name]
        self._text: set[str] = set()
        for name in self.others:
            what = "of the slices with --by" if name in by else "of the ids with --id"
            check_column(source.names, name, f"Name the column {what}.")

    @abstractmethod
    def predictions(self, rows: Rows, y: Ints, kept: NDArray[np.bool_]) -> Predictions:
        """Return the rows that have a label."""

    @abstractmethod
    def parts(self) -> Iterator[Rows]:
        """Yield the columns of each batch."""

    def beside(self, columns: Any) -> Rows:
        """Return the columns beside the inputs as arrays."""
        label = columns[self.spec.label_name]
        read = {_LABEL: matrix_of(label, "y")[0] if is_list(label.type) else to_numpy(label)}
        read |= {place: to_numpy(columns[name]) for place, name in ((_ID, self.id), (_GROUP, self.group)) if name}
        read |= {f"{_BY}{name}": slices_of(columns[name]) for name in self.by}
        read |= {f"{_TABLE}{name}": to_numpy(columns[name]) for name in self.table}
        self._text.update(name for name in self.table if is_text(columns[name].type))
        return read | ({_WEIGHT: to_numpy(columns[self.weight])} if self.weight else {})

    def table_of(self, rows: Rows) -> dict[str, NDArray[Any]]:
        """Return the columns of the table, those of text as numbers where all of their values are numbers."""
        columns = {name: rows[f"{_TABLE}{name}"] for name in self.table}
        return {name: parsed(values) if name in self._text else values for name, values in columns.items()}

    def rows(self, sample: int | None, random_state: int | None) -> tuple[Rows, int, int]:
        """Return all rows, or a sample of those with a label; how many were read, and left out without a label."""
        if sample is None:
            parts = list(self.parts())
            rows = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
            return rows, len(rows[_LABEL]), 0
        n_read = 0

        def labelled() -> Iterator[Rows]:
            nonlocal n_read
            for part in self.parts():
                known = self.spec.labels(self.n_classes).are_there(part[_LABEL])
                n_read += len(known)
                yield {name: column[known] for name, column in part.items()}

        drawn, n_rows = labelled_sample(labelled(), _LABEL, sample, random_state)
        if not n_rows:
            warn_of_unlabelled(n_read, n_read, self.spec.label_name)
        if len(drawn[_INDEX]) < n_rows:
            warnings.warn(
                f"{len(drawn[_INDEX]):,} of {n_rows:,} rows are used, a random sample with every label in its share. "
                f"Its size is set with sample (--sample).",
                InputWarning,
                stacklevel=4,
            )
        return drawn, n_read, n_read - n_rows


class _Logits(_Reader):
    """Logits and true classes, with features if there are any."""

    def __init__(self, source: Source, spec: TableSpec, id_column: str | None, by: Sequence[str]) -> None:
        label = spec.label_name
        find_logits(source.names, spec)  # if they are absent too, that is the error
        check_column(source.names, label, _SAVE_LABEL if source.arrays else _NAME_LABEL)
        layout = find_layout(source.names, source.matrices, spec, taken=(label,))
        if set(layout.signals) & set(source.lists):  # numbers, as those of an array are
            layout = layout._replace(features=layout.signals, signals=())
        super().__init__(source, spec, id_column, by)
        self.layout: Layout = layout
        self.table = layout.signals if layout.table is None else ()

    def parts(self) -> Iterator[Rows]:
        numbers, skip = [self.weight] if self.weight else [], self.spec.on_bad_rows == "skip"
        for batch in usable_rows(self.source, self.layout, (*self.others, *self.table), numbers=numbers, skip=skip):
            self.n_classes = batch.numbers.shape[1]
            arrays = {_LOGITS: batch.numbers, _INDEX: batch.index}
            arrays |= {} if batch.features is None else {_FEATURES: batch.features}
            yield arrays | self.beside(batch.columns)

    def predictions(self, rows: Rows, y: Ints, kept: NDArray[np.bool_]) -> Predictions:
        spec, layout = self.spec, self.layout
        logits = as_logit_matrix(rows[_LOGITS], probabilities=layout.probabilities)
        one = set(self.source.lists)
        array = layout.logits[0] if layout.logits[0] in one else None
        described = replace(
            spec.inputs,
            kind="probabilities" if layout.probabilities else "logits",
            class_names=spec.classes(logits.shape[1]),
            column_names=spec.inputs.column_names if array else layout.logits,
            array_name=array if array and array not in USUAL_ARRAYS else spec.inputs.array_name,
            feature_names=None if layout.features[:1] and layout.features[0] in one else layout.features or None,
            label_name=spec.label_name,
            no_class=spec.none_labels or None,
        )
        described = replace(described, feature_names=described.feature_names or spec.inputs.feature_names)
        data = Predictions(
            logits,
            np.where(kept, y, 0),
            as_features(rows[_FEATURES], n_rows=len(logits)) if _FEATURES in rows else None,
            sample_weight=kept_weights(rows[_WEIGHT], kept) if self.weight else None,
            groups=kept_groups(rows[_GROUP], kept) if self.group else None,
        )._with(inputs=described)
        if self.table:
            data = _with_features(data, self.table_of(rows))
        return data if kept.all() else data.take(kept)


class _Answers(_Reader):
    """Signals in place of logits, and whether each answer is right."""

    def __init__(self, source: Source, spec: TableSpec, id_column: str | None, by: Sequence[str]) -> None:
        self.table = find_signals(source.names, spec)
        advice = "Name the column of whether each answer is right with --correct."
        check_column(source.names, spec.label_name, advice)
        super().__init__(source, spec, id_column, by)

    def parts(self) -> Iterator[Rows]:
        before = 0
        for batch in self.source.batches([self.weight] if self.weight else [], [*self.table, *self.others]):
            if len(batch):
                index = before + np.arange(len(batch))
                yield {_INDEX: index} | self.beside(batch.rows)
                before += len(batch)
        check_rows(before)

    def predictions(self, rows: Rows, y: Ints, kept: NDArray[np.bool_]) -> Predictions:
        spec = self.spec
        data = Predictions.from_signals(
            {name: values[kept] for name, values in self.table_of(rows).items()},
            y[kept] == 0,
            probabilities=spec.signal_probabilities,
            groups=kept_groups(rows[_GROUP], kept)[kept] if self.group else None,
            sample_weight=kept_weights(rows[_WEIGHT], kept)[kept] if self.weight else None,
        )
        return data._with(inputs=replace(data.inputs, label_name=spec.label_name, answers=spec.inputs.answers))


def _with_features(data: Predictions, table: dict[str, NDArray[Any]]) -> Predictions:
    """Return rows with columns of features: numbers, or a table if there are categories or gaps."""
    with_table = data.with_raw_table(table)
    x = np.asarray(with_table.features)
    if not with_table.inputs.signal_columns.are_numbers.all() or np.isnan(x).any():
        return with_table
    return with_table._with(features=as_features(x, n_rows=len(x)), inputs=replace(with_table.inputs, raw_table=None))


def _labels(rows: Rows, spec: TableSpec, n_classes: int, n_read: int, without: int) -> tuple[Ints, NDArray[np.bool_]]:
    """Return the class of every row, and which rows have a label; `without` one were others."""
    labels = replace(spec.labels(n_classes), rows=rows[_INDEX])
    y, kept = labels.known(rows[_LABEL], n_classes)
    warn_of_unlabelled(int((~kept).sum()) + without, n_read, labels.name)
    known = int((y[kept] != NO_CLASS).sum())
    if spec.unknown_is_no_class and known < FEWEST_KNOWN * kept.sum():
        classes = "" if labels.class_names is None else f", {some(labels.class_names)}"
        raise InvalidInputError(
            f"{labels.name} must hold the true classes{classes}; {known:,} of {kept.sum():,} labels are among them, so "
            f"nearly all would be none of the classes. Name the column of the true classes with label (--label), and "
            f"the classes with class_names (--class-names)."
        )
    return y, kept


# A sample of the rows in one pass ------------------------------------------------------------------------------------

_SPARE = 1.25  # rows are drawn for each that is kept, so that every label has enough of them


def labelled_sample(parts: Iterable[Rows], label: str, n: int, random_state: int | None) -> tuple[Rows, int]:
    """Return `n` rows, each label in the share that it has among all, or all if there are no more; and how many."""
    counts: Counter[Any] = Counter()

    def counted() -> Iterator[Rows]:
        for rows in parts:
            counts.update(_as_keys(rows[label]))
            yield rows

    rows, total = lowest_keys(counted(), n, random_state, _SPARE)
    if total > n:
        left = {key: round(count * n / total) for key, count in counts.items()}
        kept = np.zeros(len(rows[KEY]), np.bool_)
        for row, key in enumerate(_as_keys(rows[label])):  # those with the lowest keys come first
            kept[row] = left[key] > 0
            left[key] -= 1
        rows = {name: column[kept] for name, column in rows.items()}
    return in_order(rows), total


def lowest_keys(parts: Iterable[Rows], n: int, random_state: int | None, spare: float = 1) -> tuple[Rows, int]:
    """Return the rows with the lowest random keys, by these keys, so that each is as likely; and how many there are."""
    if not isinstance(n, int) or n < 1:
        raise InvalidInputError(f"sample must be a whole number of at least 1, or None for all rows; got {n!r}.")
    # The data may have been drawn with the same random state.
    sample = Reservoir(int(spare * n), as_rng(random_state).spawn(1)[0])
    for part in parts:
        sample.add(part)
    return sample.rows, sample.n_rows


def _as_keys(labels: NDArray[Any]) -> list[Any]:
    """Return labels that are equal where they are the same; a missing number is none, and so is what is no label."""
    if labels.ndim != 1:
        return [None] * len(labels)
    return [None if value != value else value for value in labels.tolist()]
