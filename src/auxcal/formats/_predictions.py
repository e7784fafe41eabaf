"""Predictions from files."""

from __future__ import annotations

import os
from collections.abc import Sequence

from auxcal.formats._layout import as_classes, check_column, features_of, find_features, find_logits, logits_of
from auxcal.formats._sources import open_source
from auxcal.predictions import Predictions


def read_predictions(
    *paths: str | os.PathLike[str],
    label: str = "y",
    columns: str | Sequence[str] | None = None,
    probabilities: bool = False,
    features: str | Sequence[str] | None = None,
) -> Predictions:
    r"""Read logits and true classes from a file, and features if it has them.

    Parameters
    ----------
    *paths : path
        An `.npz`, `.csv`, `.parquet`, `.safetensors`, `.pt` or `.pth` file; two `.npy` files, logits and y in any
        order; or `-` for CSV from standard input.
    label : str
        The array or column of the true classes: an index 0..K-1 (3, 3.0 or "3"), or -1 for none of the classes. If
        `columns` lists names, it may hold these names instead.
    columns : str or sequence of str, optional
        Where the logits are: the name of one array, or the prefix of K columns numbered from 0, or a list of K columns
        in the order of the classes. By default the array `logits`, else the columns `logit_0` to `logit_{K-1}`, in any
        order in the file.
    probabilities : bool
        The file holds probabilities instead of logits; by default the array `proba`, else the columns `prob_0` to
        `prob_{K-1}`. Every row must sum to 1 within 0.001. Probabilities are clipped at 1e-12 from below, and their
        logarithms are the logits.
    features : str or sequence of str, optional
        Where the features of each sample are, given as for `columns`, or a single column; `()` for none. By default
        the array `features` of shape (n, d), if the file has one; in a table the columns must be named.

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
    ...     _ = path.write_text("id,logit_0,logit_1,y\na,2.5,0.1,0\nb,0.3,0.9,0\n")
    ...     read_predictions(path)
    Predictions(n=2, K=2, accuracy=0.500, no_class=0)
    """
    with open_source(*paths) as source:
        names = find_logits(source.names, columns, probabilities=probabilities)
        check_column(source.names, label, "Name the column of the true classes with label (--label).")
        further = find_features(source, features, taken=(*names, label))
        rows = source.read((*names, *further), (label,))
        class_names = None if columns is None or isinstance(columns, str) else names
        logits = logits_of(rows, names, probabilities=probabilities)
        y = as_classes(rows[label], label, class_names)
        return Predictions(logits, y, features_of(rows, further, n_rows=len(logits)))
