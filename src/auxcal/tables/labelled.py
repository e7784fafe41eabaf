"""Logits and true classes from a table: what `auxcal fit` and `auxcal compare` read."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from auxcal._core.arrays import NO_CLASS, Ints, as_features, as_rng
from auxcal._core.errors import InputWarning, InvalidInputError
from auxcal._core.labels import Labels, warn_of_unlabelled
from auxcal._core.sampling import KEY, Reservoir, Rows, in_order
from auxcal._core.text import some
from auxcal.predictions import Predictions
from auxcal.tables.columns import USUAL_ARRAYS, check_column, find_layout, find_logits, find_signals, find_weights
from auxcal.tables.numpy_columns import Column, NumpyColumn, joined_columns
from auxcal.tables.readers import open_source
from auxcal.tables.rows import RowBatch, as_logit_matrix, kept_groups, kept_weights, signal_values, usable_rows
from auxcal.tables.sources import Batch
from auxcal.tables.spec import LabelOptions, TableSpec

FEWEST_KNOWN = 0.05
"""With a smaller share of known labels, what is said to be the label is likely something else, such as an id.

A rule of thumb: no script chose it. Out-of-distribution rows are seldom more than a half of a table."""

_NAME_LABEL = "Name the column of the true classes with label (--label)."
_SAVE_LABEL = "Save y beside the logits, or name two files, logits.npy and y.npy."
_LOGITS, _FEATURES, _INDEX = "\0logits", "\0features", "\0index"  # no column has such names


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
    **where: Unpack[LabelOptions],
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
    >>> from auxcal.formats import read_predictions
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
    **where: Unpack[LabelOptions],
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
    >>> from auxcal.formats import read_labelled
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "logits.csv"
    ...     _ = path.write_text("id,logit_0,logit_1,y\na,2.5,0.1,0\nb,0.3,0.9,0\n")
    ...     read_labelled(path, id_column="id").ids.tolist()
    ['a', 'b']
    """
    spec = TableSpec.of(LabelOptions, where, spec)
    spec.check_bad_rows()
    if spec.signals is not None:
        return _read_answers(paths, spec, id_column, by, sample, random_state)
    with open_source(*paths) as source:
        label, names = spec.label_name, source.names
        find_logits(names, spec)  # whose absence is said before that of the label
        check_column(names, label, _NAME_LABEL if source.passable else _SAVE_LABEL)
        layout = find_layout(names, source.matrices, spec, taken=(label,))
        if set(layout.signals) & set(source.lists):  # numbers, as those of an array are
            layout = layout._replace(features=layout.signals, signals=())
        weight, group = find_weights(source, spec)
        as_table = layout.signals if layout.table is None else ()
        others = dict.fromkeys(name for name in (label, id_column, weight, group, *by, *as_table) if name)
        for name in others:
            what = "of the slices with --by" if name in by else "of the ids with --id"
            check_column(source.names, name, f"Name the column {what}.")
        numbers, skip = [weight] if weight else [], spec.on_bad_rows == "skip"
        batches = usable_rows(source, layout, tuple(others), numbers=numbers, skip=skip)
        first = next(batches)
        n_classes = first.numbers.shape[1]
        parts = map(_columns, chain((first,), batches))
        rows, n_read, without = _joined(parts, label, spec.labels(n_classes), sample, random_state)
        logits = as_logit_matrix(rows[_LOGITS].values(), probabilities=layout.probabilities)
        y, kept = _labels(rows, spec, logits.shape[1], n_read, without)
        described = replace(
            spec.inputs,
            kind="probabilities" if layout.probabilities else "logits",
            class_names=spec.classes(logits.shape[1]),
            column_names=_names_of(first, layout.logits) or spec.inputs.column_names,
            array_name=_array_name_of(first, layout.logits) or spec.inputs.array_name,
            feature_names=_names_of(first, layout.features) or spec.inputs.feature_names,
            label_name=label,
            no_class=spec.none_labels or None,
        )
        data = Predictions(
            logits,
            np.where(kept, y, 0),
            as_features(rows[_FEATURES].values(), n_rows=len(logits)) if _FEATURES in rows else None,
            sample_weight=kept_weights(rows[weight], kept) if weight else None,
            groups=kept_groups(rows[group], kept) if group else None,
        )._with(inputs=described)
        if as_table:
            data = _with_features(data, {name: signal_values(rows[name]) for name in as_table})
        ids = rows[id_column].values()[kept] if id_column else None
        slices = {name: rows[name].slices()[kept] for name in by}
        return Labelled(data if kept.all() else data.take(kept), rows[_INDEX].values()[kept], ids, slices)


def _with_features(data: Predictions, table: dict[str, NDArray[Any]]) -> Predictions:
    """Return rows with columns of features: numbers, or a table if there are categories or gaps."""
    found = data.with_raw_table(table)
    x = np.asarray(found.features)
    if not found.inputs.signal_columns.are_numbers.all() or np.isnan(x).any():
        return found
    return found._with(features=as_features(x, n_rows=len(x)), inputs=replace(found.inputs, raw_table=None))


def _read_answers(
    paths: Sequence[str | os.PathLike[str]],
    spec: TableSpec,
    id_column: str | None,
    by: Sequence[str],
    sample: int | None,
    random_state: int | None,
) -> Labelled:
    """Read signals in place of logits, and whether each answer is right."""
    with open_source(*paths) as source:
        label, signals = spec.label_name, find_signals(source.names, spec)
        weight, group = find_weights(source, spec)
        check_column(source.names, label, "Name the column that says whether each answer is right with --correct.")
        others = [name for name in dict.fromkeys((*signals, label, id_column, group, *by)) if name]
        for name in others:
            check_column(source.names, name, "Name another column.")
        parts = source.batches([weight] if weight else [], others)
        rows, n_read, without = _joined(_numbered(parts), label, spec.labels(1), sample, random_state)
    y, kept = _labels(rows, spec, 1, n_read, without)
    table = {name: signal_values(rows[name])[kept] for name in signals}
    data = Predictions.from_signals(
        table,
        y[kept] == 0,
        probabilities=spec.signal_probabilities,
        groups=kept_groups(rows[group], kept)[kept] if group else None,
        sample_weight=kept_weights(rows[weight], kept)[kept] if weight else None,
    )
    data = data._with(inputs=replace(data.inputs, label_name=label, answers=spec.inputs.answers))
    ids = rows[id_column].values()[kept] if id_column else None
    return Labelled(data, rows[_INDEX].values()[kept], ids, {name: rows[name].slices()[kept] for name in by})


def _numbered(batches: Iterable[Batch]) -> Iterator[dict[str, Column]]:
    """Yield the columns of batches, with the place of each row in the table."""
    before = 0
    for batch in batches:
        if len(batch):
            yield {**batch.columns, _INDEX: NumpyColumn(before + np.arange(len(batch)))}
            before += len(batch)
    if not before:
        raise InvalidInputError("there are no rows. Check where the file comes from.")


def _columns(rows: RowBatch) -> dict[str, Column]:
    """Return a batch as columns."""
    arrays = {_LOGITS: rows.numbers, _FEATURES: rows.features, _INDEX: rows.index}
    return {**rows.others} | {name: NumpyColumn(array) for name, array in arrays.items() if array is not None}


def _joined(
    parts: Iterable[dict[str, Column]], label: str, labels: Labels, sample: int | None, random_state: int | None
) -> tuple[dict[str, Column], int, int]:
    """Return all rows, or a sample of those with a label; how many were read, and how many left out without one."""
    if sample is None:
        rows = joined_columns(list(parts))
        return rows, len(rows[label]), 0
    n_read = 0

    def labelled() -> Iterator[Rows]:
        nonlocal n_read
        for part in parts:
            known = labels.are_there(part[label].values())
            n_read += len(known)
            yield {name: column.values()[known] for name, column in part.items()}

    drawn, n_rows = labelled_sample(labelled(), label, sample, random_state)
    if not n_rows:
        warn_of_unlabelled(n_read, n_read, label)
    if len(drawn[_INDEX]) < n_rows:
        warnings.warn(
            f"{len(drawn[_INDEX]):,} of {n_rows:,} rows are used, a random sample with every label in its share. "
            f"Its size is set with sample (--sample).",
            InputWarning,
            stacklevel=4,
        )
    return {name: NumpyColumn(array) for name, array in drawn.items()}, n_read, n_read - n_rows


def _labels(
    rows: dict[str, Column], spec: TableSpec, n_classes: int, n_read: int, without: int
) -> tuple[Ints, NDArray[np.bool_]]:
    """Return the class of every row, and which rows have a label; `without` one were others."""
    labels = replace(spec.labels(n_classes), rows=rows[_INDEX].values())
    y, kept = labels.known(rows[labels.name].values(), n_classes)
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


def _names_of(rows: RowBatch, names: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the names of columns; that of a whole array says nothing of its columns."""
    return names if names and rows.inputs[names[0]].ndim == 1 else None


def _array_name_of(rows: RowBatch, names: tuple[str, ...]) -> str | None:
    """Return the name of the array that holds all classes, unless it is a usual one."""
    usual = not names or names[0] in USUAL_ARRAYS or rows.inputs[names[0]].ndim == 1
    return None if usual else names[0]


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
