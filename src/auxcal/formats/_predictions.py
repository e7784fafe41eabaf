"""Predictions from files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from auxcal._arrays import Ints, as_class_names
from auxcal._inputs import Inputs
from auxcal.formats._format import Columns
from auxcal.formats._labels import Labels, values_of_column
from auxcal.formats._layout import check_column, features_of, find_features, find_logits, logits_of
from auxcal.formats._sources import open_source
from auxcal.predictions import Predictions

DEFAULT_LABEL = "y"


class Labelled(NamedTuple):
    """The rows of a file that have a label, the place of each in the file from 0, and its id, if there are such."""

    data: Predictions
    rows: Ints
    ids: NDArray[Any] | None


def read_predictions(
    *paths: str | os.PathLike[str],
    label: str | None = None,
    columns: str | Sequence[str] | None = None,
    probabilities: bool | None = None,
    features: str | Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    no_class: Sequence[str] = (),
    unknown_is_no_class: bool = False,
    inputs: Inputs | None = None,
) -> Predictions:
    r"""Read logits and true classes from a file, and features if it has them.

    Rows without a label are left out, and an `InputWarning` says how many they are.

    Parameters
    ----------
    *paths : path
        An `.npz`, `.csv`, `.parquet`, `.safetensors`, `.pt` or `.pth` file; two `.npy` files, logits and y in any
        order; or `-` for CSV from standard input.
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
    inputs : Inputs, optional
        What is known of the columns already, such as ``calibrator.inputs_``: it holds where the arguments before say
        nothing else.

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
    return read_labelled(
        *paths,
        label=label,
        columns=columns,
        probabilities=probabilities,
        features=features,
        class_names=class_names,
        no_class=no_class,
        unknown_is_no_class=unknown_is_no_class,
        inputs=inputs,
    ).data


def read_labelled(
    *paths: str | os.PathLike[str],
    label: str | None = None,
    columns: str | Sequence[str] | None = None,
    probabilities: bool | None = None,
    features: str | Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    no_class: Sequence[str] = (),
    unknown_is_no_class: bool = False,
    inputs: Inputs | None = None,
    id_column: str | None = None,
) -> Labelled:
    r"""Read what `read_predictions` reads, and which rows of the file these are.

    Parameters
    ----------
    *paths, label, columns, probabilities, features, class_names, no_class, unknown_is_no_class, inputs
        As in `read_predictions`.
    id_column : str, optional
        The column of the rows' own ids.

    Returns
    -------
    Labelled
        `data`, `rows` and `ids`.

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
    known = inputs or Inputs()
    label = label or known.label_name or DEFAULT_LABEL
    if probabilities is None:
        probabilities = known.kind == "probabilities"
    with open_source(*paths) as source:
        names = find_logits(source.names, columns, known, probabilities=probabilities)
        check_column(source.names, label, "Name the column of the true classes with label (--label).")
        further = find_features(source, features, (*names, label), known)
        others = dict.fromkeys((label, id_column) if id_column else (label,))
        for name in others:
            check_column(source.names, name, "Name the column of the ids with --id.")
        rows = source.read((*names, *further), tuple(others))
        logits = logits_of(rows, names, probabilities=probabilities)
        listed = None if columns is None or isinstance(columns, str) else names
        classes = class_names or known.class_names or listed
        if classes is not None:
            classes = as_class_names(classes, logits.shape[1])
        y, kept = Labels(label, classes, no_class, unknown_is_no_class).read(rows[label], logits.shape[1])
        described = replace(
            known,
            kind="probabilities" if probabilities else "logits",
            class_names=classes,
            column_names=_names_in(rows, names) or known.column_names,
            feature_names=_names_in(rows, further) or known.feature_names,
            label_name=label,
        )
        safe = np.where(kept, y, 0)
        data = Predictions(logits, safe, features_of(rows, further, n_rows=len(logits)))._described(described)
        ids = values_of_column(rows[id_column])[kept] if id_column else None
        return Labelled(data if kept.all() else data.take(kept), np.flatnonzero(kept), ids)


def _names_in(rows: Columns, names: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the names of columns; that of a whole array says nothing of its columns."""
    return names if names and rows[names[0]].ndim == 1 else None
