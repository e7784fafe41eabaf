"""Rows with the value of a column by which they are put in order: what `auxcal monitor` reads."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from auxcal._arrays import NO_CLASS, Bools, Floats, Ints
from auxcal._columns import check_column, find_logits
from auxcal._labels import Labels
from auxcal._scores import features_for
from auxcal.calibrators import Calibrator
from auxcal.formats._column_values import values_of_column
from auxcal.formats._layout import features_of, logits_of
from auxcal.formats._predictions import DEFAULT_LABEL
from auxcal.formats._sources import open_source
from auxcal.formats._usable import OnBadRows, UsableRows


class Timed(NamedTuple):
    """What the calibrator takes, labels y where there are some, which rows have one, and the column of the order."""

    logits: Floats
    features: Floats | None
    y: Ints | None
    labelled: Bools | None
    by: NDArray[Any]


def read_timed(
    calibrator: Calibrator,
    *paths: str | os.PathLike[str],
    by: str,
    label: str | None = None,
    columns: str | Sequence[str] | None = None,
    probabilities: bool | None = None,
    features: str | Sequence[str] | None = None,
    no_class: Sequence[str] = (),
    unknown_is_no_class: bool = False,
    on_bad_rows: OnBadRows = "fail",
) -> Timed:
    r"""Read rows for a calibrator, some of which may have labels, with the column that puts them in order.

    Parameters
    ----------
    calibrator : Calibrator
        A fitted one; it knows its columns.
    *paths : path
        As in `read_predictions`.
    by : str
        The column of the order.
    label : str, optional
        The column of the true classes, empty where a row has none. By default the one of the fit, if it is there.
    columns, probabilities, features, no_class, unknown_is_no_class, on_bad_rows
        As in `read_predictions`, where they are not what the calibrator was fitted on.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from auxcal import Uncalibrated
    >>> from auxcal.formats import read_timed
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "logits.csv"
    ...     _ = path.write_text("day,logit_0,logit_1,y\nmonday,2.5,0.1,0\ntuesday,0.3,0.9,\n")
    ...     rows = read_timed(Uncalibrated().fit([[2.0, 0.0]], [0]), path, by="day")
    >>> rows.by.tolist(), rows.labelled.tolist()
    (['monday', 'tuesday'], [True, False])
    """
    known = calibrator.inputs_
    as_proba = known.as_proba(probabilities)
    with open_source(*paths) as source:
        names = find_logits(source.names, columns, known, probabilities=as_proba)
        check_column(source.names, by, "Name the column that puts the rows in order with --by.")
        if label is not None:
            check_column(source.names, label, "Name the column of the true classes with label (--label).")
        truth = label or known.label_name or DEFAULT_LABEL
        further = features_for(calibrator, source.names, source.matrices, features, taken=(*names, truth, by))
        others = tuple(dict.fromkeys(name for name in (by, truth) if name in source.names))
        usable = UsableRows(names, further, probabilities=as_proba, on_bad_rows=on_bad_rows)
        rows = usable.read(source, (*names, *further), others)
        logits = logits_of(rows, names, probabilities=as_proba and known.kind != "probabilities")
        of_rows = features_of(rows, further, n_rows=len(logits))
        if truth not in rows:
            return Timed(logits, of_rows, None, None, values_of_column(rows[by]))
        labels = Labels(truth, known.class_names, tuple(no_class) or known.no_class or (), unknown_is_no_class)
        y, labelled = labels.known(values_of_column(rows[truth]), logits.shape[1])
        return Timed(logits, of_rows, np.where(labelled, y, NO_CLASS), labelled, values_of_column(rows[by]))
