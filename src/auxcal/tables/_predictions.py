"""Predictions from files."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from auxcal._core.arrays import NO_CLASS, Ints
from auxcal._core.errors import InputWarning, InvalidInputError
from auxcal._core.text import some
from auxcal.predictions import Predictions
from auxcal.tables._column_values import groups_of_column, slices_of_column, values_of_column, weights_of_column
from auxcal.tables._format import Batch, Columns
from auxcal.tables._layout import features_of, logits_of
from auxcal.tables._sample import as_sample_size, labelled_sample
from auxcal.tables._sources import open_source
from auxcal.tables._usable import PLACE, UsableRows
from auxcal.tables.columns import check_column, find_features, find_logits
from auxcal.tables.spec import LabelOptions, TableSpec

FEWEST_KNOWN = 0.05
"""With a smaller share of known labels, what is said to be the label is likely something else, such as an id."""

_NAME_LABEL = "Name the column of the true classes with label (--label)."
_SAVE_LABEL = "Save y beside the logits, or name two files, logits.npy and y.npy."


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
        An `.npz`, `.csv`, `.parquet`, `.safetensors`, `.pt` or `.pth` file; two `.npy` files, logits and y in any
        order; or `-` for CSV from standard input. Several files of one format, a folder of them, a pattern such as
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
        `prob_{K-1}`. Every row must sum to 1 within 0.001. Probabilities are clipped at 1e-12 from below, and their
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
    known, label, probabilities = spec.inputs, spec.label_name, spec.as_probabilities
    with open_source(*paths) as source:
        names = find_logits(source.names, spec.columns, known, probabilities=probabilities)
        check_column(source.names, label, _NAME_LABEL if source.passable else _SAVE_LABEL)
        further = find_features(source.names, source.matrices, spec.features, (*names, label), known)
        weight, group = find_weights(source, spec.weight, spec.group)
        others = dict.fromkeys(name for name in (label, id_column, group, *by) if name)
        for name in others:
            advice = (
                "Name the column of the slices with --by." if name in by else "Name the column of the ids with --id."
            )
            check_column(source.names, name, advice)
        numbers = (*names, *further, *([weight] if weight else []))
        usable = UsableRows(names, further, probabilities=probabilities, on_bad_rows=spec.on_bad_rows)
        if sample is None:
            rows = usable.read(source, numbers, tuple(others))
        else:
            rows = _sample_of(usable.batches(source, numbers, tuple(others)), label, sample, random_state)
        logits = logits_of(rows, names, probabilities=probabilities)
        labels = spec.labels(logits.shape[1])
        y, kept = labels.read(values_of_column(rows[label]), logits.shape[1])
        if spec.unknown_is_no_class:
            _check_known(y[kept], label, labels.class_names)
        described = replace(
            known,
            kind="probabilities" if probabilities else "logits",
            class_names=spec.classes(logits.shape[1]),
            column_names=_names_in(rows, names) or known.column_names,
            feature_names=_names_in(rows, further) or known.feature_names,
            label_name=label,
            no_class=spec.none_labels or None,
        )
        safe = np.where(kept, y, 0)
        data = Predictions(
            logits,
            safe,
            features_of(rows, further, n_rows=len(logits)),
            sample_weight=weights_of_column(rows[weight], kept) if weight else None,
            groups=groups_of_column(rows[group], kept) if group else None,
        )._with(inputs=described)
        ids = values_of_column(rows[id_column])[kept] if id_column else None
        slices = {name: slices_of_column(rows[name])[kept] for name in by}
        return Labelled(data if kept.all() else data.take(kept), rows[PLACE][kept], ids, slices)


def _sample_of(batches: Iterable[Batch], label: str, n: int, random_state: int | None) -> Columns:
    """Return a sample of the rows; say so if it is not all of them."""
    drawn = labelled_sample(batches, label, as_sample_size(n), random_state)
    n_drawn = len(drawn.columns[PLACE])
    if n_drawn < drawn.n_rows:
        warnings.warn(
            f"{n_drawn:,} of {drawn.n_rows:,} rows are used, a random sample with every label in its share. "
            f"Its size is set with sample (--sample).",
            InputWarning,
            stacklevel=4,
        )
    return drawn.columns


def _check_known(y: Ints, label: str, classes: Sequence[str] | None) -> None:
    """Reject labels that are nearly all unknown: then they are not the true classes."""
    known = int((y != NO_CLASS).sum())
    if known < FEWEST_KNOWN * len(y):
        raise InvalidInputError(
            f"{label} must hold the true classes{'' if classes is None else f', {some(classes)}'}; {known:,} of "
            f"{len(y):,} labels are among them, so nearly all would be none of the classes. Name the column of the "
            f"true classes with label (--label), and the classes with class_names (--class-names)."
        )


def find_weights(source: Any, weight: str | None, group: str | None) -> tuple[str | None, str | None]:
    """Return the columns of the weights and of the groups; by default those of a bundle, which are whole arrays."""
    for name, option in ((weight, "weight"), (group, "group")):
        if name is not None:
            check_column(source.names, name, f"Name the column with {option} (--{option}).")
    arrays = source.names if source.matrices else ()
    return weight or ("sample_weight" if "sample_weight" in arrays else None), group or (
        "groups" if "groups" in arrays else None
    )


def _names_in(rows: Columns, names: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the names of columns; that of a whole array says nothing of its columns."""
    return names if names and rows[names[0]].ndim == 1 else None
