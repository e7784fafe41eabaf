"""The confidence alone, of tables that are scored or not: what `auxcal plan` and unlabelled rows need."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import Any

import numpy as np

from auxcal._core.arrays import Bools, Floats, as_confidence, as_floats
from auxcal._core.errors import InputWarning, InvalidInputError
from auxcal._core.labels import names_in
from auxcal.tables.batches import Source, check_rows
from auxcal.tables.columns import Layout, check_column, find_logits
from auxcal.tables.labelled import read_predictions
from auxcal.tables.readers import open_source
from auxcal.tables.rows import LEAVE_OUT, as_logit_matrix, own_confidence, usable_rows
from auxcal.tables.scored import read_scored
from auxcal.tables.spec import CONFIDENCE, DEFAULT_LABEL, OnBadRows, TableSpec
from auxcal.tables.values import distinct, matrix_of

_SCORE_IT = "Score the file first, or name the column with confidence (--confidence)."


def read_confidence(
    *paths: str | os.PathLike[str], confidence: str = CONFIDENCE, on_bad_rows: OnBadRows = "fail"
) -> Floats:
    """Read the confidence of every row of a scored file that has one, labelled or not.

    Parameters
    ----------
    *paths : path
        Files, folders, patterns or URLs: one table.
    confidence : str
        The column of the confidence.
    on_bad_rows : {"fail", "skip"}
        What becomes of a row whose confidence is not from 0 to 1: an error, or no row.
    """
    with open_source(*paths) as source:
        return _confidence_of(source, confidence, _SCORE_IT, skip=on_bad_rows == "skip")


def read_any_confidence(
    *paths: str | os.PathLike[str],
    confidence: str = CONFIDENCE,
    columns: str | Sequence[str] | None = None,
    probabilities: bool = False,
    percent: bool = False,
) -> tuple[Floats, bool]:
    """Read the confidence of a scored file; of one with logits alone the classifier's own, with a warning.

    Return it, and whether it is of a scored file. Bad rows are left out.

    Parameters
    ----------
    *paths : path
        Files, folders, patterns or URLs: one table.
    confidence : str
        The column of the confidence.
    columns, probabilities, percent
        Where the logits are, as in `read_predictions`.
    """
    spec = TableSpec(columns=columns, probabilities=probabilities or percent, percent=percent)
    with open_source(*paths) as source:
        names: tuple[str, ...] = ()
        with nullcontext() if columns is not None or spec.probabilities else suppress(InvalidInputError):
            if confidence not in source.names:
                names = find_logits(source.names, spec)
        if not names:
            advice = (
                f"{_SCORE_IT[:-1]}, or the columns of the logits in the order of the classes with columns (--columns)."
            )
            return _confidence_of(source, confidence, advice, skip=True), True
        warnings.warn(
            f"there is no column {confidence!r}: the classifier's own confidence is taken, which is often too high. "
            f"Score the file with a calibrator first, if there is one.",
            InputWarning,
            stacklevel=2,
        )
        layout = Layout(names, probabilities=spec.as_probabilities, percent=percent)
        numbers = np.concatenate([rows.numbers for rows in usable_rows(source, layout, skip=True)])
        return own_confidence(as_logit_matrix(numbers, probabilities=layout.probabilities)), False


def read_own_pilot(
    *paths: str | os.PathLike[str], label: str | None = None, spec: TableSpec | None = None, **where: Any
) -> tuple[Floats, Bools] | None:
    """Read the confidence in the rows of a file that have labels, and whether each is right; None if none has.

    The arguments are those of `read_scored` and, for a file of logits alone, of `read_predictions`. A label that is
    named must be there; by default it is `y`, if there is such a column.
    """
    spec = replace(TableSpec.of(spec, where), on_bad_rows="skip", features=())
    label = label or spec.correct or spec.label
    name = label or DEFAULT_LABEL
    with open_source(*paths) as source:
        if label is None and name not in source.names:
            return None
        check_column(source.names, name, "Name the column of the true classes (--label).")
        if not any(names_in(distinct(batch[name])[0]) for batch in source.column(name)):
            return None
        is_scored = spec.confidence in source.names
    if is_scored:
        rows = read_scored(*paths, label=None if spec.correct else name, spec=spec)
        return rows.confidence, rows.correct
    data = read_predictions(*paths, spec=replace(spec, label=name))
    return own_confidence(data.logits), data.correct


def _confidence_of(source: Source, name: str, advice: str, *, skip: bool) -> Floats:
    check_column(source.names, name, advice)
    parts = [matrix_of(batch[name], "confidence")[0] for batch in source.batches((name,), ()) if len(batch)]
    check_rows(len(parts))
    read = as_floats(np.concatenate(parts), "confidence")
    missing, outside = np.isnan(read), (read < 0) | (read > 1)
    if missing.any() and not missing.all():
        warnings.warn(f"{missing.sum():,} of {len(read):,} rows have no score.", InputWarning, stacklevel=3)
        read, outside = read[~missing], outside[~missing]
    if not outside.any() or outside.all():
        return as_confidence(read)
    n, row = int(outside.sum()), int(np.argmax(outside))
    if not skip:
        raise InvalidInputError(
            f"confidence must be a probability in [0, 1]; got {read[row]:.6g} in row {row} ({n:,} such rows). "
            f"Repair them, or {LEAVE_OUT}."
        )
    warnings.warn(f"{n:,} of {len(read):,} rows have a damaged score and are left out.", InputWarning, stacklevel=3)
    return as_confidence(read[~outside])
