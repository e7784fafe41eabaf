"""Files of scores: what `auxcal evaluate` reads, be it from `auxcal score` or from another tool."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Unpack

import numpy as np

from auxcal._core.arrays import Bools, Floats, Groups, Ints, Weight, as_confidence, as_floats
from auxcal._core.errors import InputWarning, InvalidInputError
from auxcal._core.labels import names_in
from auxcal._core.text import percent
from auxcal.inputs import Inputs
from auxcal.tables._classes import Classes
from auxcal.tables._column_values import values_of_column
from auxcal.tables._format import Source
from auxcal.tables._layout import logits_of, own_confidence
from auxcal.tables._predictions import read_predictions
from auxcal.tables._sample import as_sample_size, even_sample
from auxcal.tables._scored_rows import MOST_IN_FIT, ScoredRows, scored_reader
from auxcal.tables._sources import open_source
from auxcal.tables._usable import LEAVE_OUT, UsableRows
from auxcal.tables.columns import check_column, find_logits
from auxcal.tables.scores import CONFIDENCE
from auxcal.tables.spec import DEFAULT_LABEL, OnBadRows, PilotOptions, ScoreOptions, TableSpec

_SCORE_IT = "Score the file first, or name the column with confidence (--confidence)."
_NAME_LOGITS = "the columns of the logits in the order of the classes with columns (--columns)"


class Scored(NamedTuple):
    """The rows of a scored file: what the metrics take, and the prediction and true class behind it.

    Where the file has names, `prediction` and `y` are places among the `class_names`. `share_in_fit` is the share of
    the rows that `score_file` marked as rows of the fit, and `max_weight` what `pick_file` wrote beside the weights.
    """

    confidence: Floats
    correct: Bools
    prediction: Ints
    y: Ints
    class_names: tuple[str, ...] | None = None
    sample_weight: Weight | None = None
    groups: Groups | None = None
    by: Groups | None = None
    share_in_fit: float = 0.0
    max_weight: float | None = None

    def check_apart_from_fit(self) -> None:
        """Refuse rows of the fit, which promise nothing."""
        if self.share_in_fit > MOST_IN_FIT:
            raise InvalidInputError(
                f"{percent(self.share_in_fit, decimals=0)} of these rows were in the fit of the calibrator: no promise."
                " On its own rows a calibrator looks better than on new ones. Find the threshold on other labelled "
                "rows."
            )


def read_scored(
    path: str | os.PathLike[str],
    label: str | None = None,
    *,
    by: str | None = None,
    spec: TableSpec | None = None,
    sample: int | None = None,
    random_state: int | None = 0,
    **where: Unpack[ScoreOptions],
) -> Scored:
    """Read a file of `score_file`, or of another tool, that has the true classes next to the scores.

    Rows without a score or a label are left out, and an `InputWarning` says how many they are. A name that is never
    predicted counts as wrong, and an `InputWarning` says so, unless it is known to be one of the classes or none of
    them.

    Parameters
    ----------
    path : path
        A file, folder, pattern or URL with the columns or arrays `prediction`, `confidence` and `label`; `-` for CSV
        from standard input.
    label : str
        The column of the true classes: indices where the predictions are indices, names where they are names.
    prediction, confidence : str
        The columns of the predictions and of the confidence.
    class_names : sequence of str, optional
        The names of the classes in order; by default all that are predicted.
    no_class : sequence of str
        Labels that mean none of the classes, besides -1.
    unknown_is_no_class : bool
        Whether all labels that are none of the classes mean that too.
    weight, group, by : str, optional
        The columns of how often each row counts, of what it belongs to, and of the slice that it is in.
    on_bad_rows : {"fail", "skip"}
        What becomes of a row whose score is damaged, with a prediction and no confidence or the other way round, or
        with a confidence that is not from 0 to 1: it is an error, or it is left out, and an `InputWarning` counts such
        rows.
    spec : TableSpec, optional
        The arguments before, but for `by`, in one.
    sample : int, optional
        Keep a random sample of so many rows, if there are more, and give an `InputWarning`. It is drawn in one pass, so
        memory does not grow with the table. By default all rows are kept.
    random_state : int or None
        The source of the sample's randomness.

    Returns
    -------
    Scored
        `confidence`, `correct`, `prediction`, `y`, the `class_names`, and the last three if they were asked for.
    """
    reader, classes = scored_reader(scored_spec(where, spec, label), by)
    with open_source(path) as source:
        batches = reader.batches(source)
        rows = joined_rows(batches) if sample is None else _sample_of(batches, sample, random_state)
        return as_scored(rows, classes)._replace(share_in_fit=reader.share_in_fit, max_weight=reader.max_weight)


def scored_spec(where: Any, spec: TableSpec | None, label: str | None) -> TableSpec:
    """Return where things are in a scored table, of which no calibrator knows the columns."""
    found = TableSpec.of(ScoreOptions, where, spec)
    return found if label is None else replace(found, label=label)


def as_scored(rows: ScoredRows, classes: Classes) -> Scored:
    """Return the rows of a table that is read."""
    names = classes.settle()
    prediction, y = (classes.settled(codes, names) for codes in (rows.prediction, rows.y))
    return Scored(rows.confidence, rows.correct, prediction, y, names, rows.sample_weight, rows.groups, rows.by)


def joined_rows(parts: Iterable[ScoredRows]) -> ScoredRows:
    """Return the rows of all parts."""
    columns = zip(*parts, strict=True)
    return ScoredRows(*(None if column[0] is None else np.concatenate(column) for column in columns))  # type: ignore[arg-type]


def _sample_of(parts: Iterable[ScoredRows], n: int, random_state: int | None) -> ScoredRows:
    """Return a sample of the rows; say so if it is not all of them."""
    known = ({name: each for name, each in part._asdict().items() if each is not None} for part in parts)
    drawn = even_sample(known, as_sample_size(n), random_state)
    if len(drawn.columns["y"]) < drawn.n_rows:
        warnings.warn(
            f"{n:,} of {drawn.n_rows:,} rows are used, a random sample. Its size is set with sample (--sample).",
            InputWarning,
            stacklevel=3,
        )
    return ScoredRows(*(drawn.columns.get(name) for name in ScoredRows._fields))  # type: ignore[arg-type]


def read_confidence(
    path: str | os.PathLike[str], confidence: str = CONFIDENCE, *, on_bad_rows: OnBadRows = "fail"
) -> Floats:
    """Read the confidence of every row of a scored file that has one, labelled or not.

    Parameters
    ----------
    path : path
        The file.
    confidence : str
        The column of the confidence.
    on_bad_rows : {"fail", "skip"}
        What becomes of a row whose confidence is not from 0 to 1: an error, or no row.
    """
    with open_source(path) as source:
        return _confidence_of(source, confidence, _SCORE_IT, on_bad_rows)


def read_any_confidence(
    path: str | os.PathLike[str],
    confidence: str = CONFIDENCE,
    *,
    columns: str | Sequence[str] | None = None,
    probabilities: bool = False,
) -> tuple[Floats, bool]:
    """Read the confidence of a scored file; of one with logits alone the classifier's own, with a warning.

    Return it, and whether it is of a scored file. Bad rows are left out.

    Parameters
    ----------
    path : path
        The file.
    confidence : str
        The column of the confidence.
    columns, probabilities
        Where the logits are, as in `read_predictions`.
    """
    with open_source(path) as source:
        names = () if confidence in source.names else _logits_among(source, columns, probabilities=probabilities)
        if not names:
            return _confidence_of(source, confidence, f"{_SCORE_IT[:-1]}, or {_NAME_LOGITS}.", "skip"), True
        warnings.warn(
            f"there is no column {confidence!r}: the classifier's own confidence is taken, which is often too high. "
            f"Score the file with a calibrator first, if there is one.",
            InputWarning,
            stacklevel=2,
        )
        usable = UsableRows(names, (), probabilities=probabilities, on_bad_rows="skip")
        return own_confidence(logits_of(usable.read(source, names, ()), names, probabilities=probabilities)), False


def read_own_pilot(
    path: str | os.PathLike[str], label: str | None = None, *, spec: TableSpec | None = None, **where: Any
) -> tuple[Floats, Bools] | None:
    """Read the confidence in the rows of a file that have labels, and whether each is right; None if none has.

    The arguments are those of `read_scored` and, for a file of logits alone, of `read_predictions`. A label that is
    named must be there; by default it is `y`, if there is such a column.
    """
    spec = replace(TableSpec.of(PilotOptions, where, spec), on_bad_rows="skip", features=())
    label = label or spec.label
    name = label or DEFAULT_LABEL
    with open_source(path) as source:
        if label is None and name not in source.names:
            return None
        check_column(source.names, name, "Name the column of the true classes (--label).")
        if not names_in(values_of_column(source.read((), (name,))[name])):
            return None
        is_scored = spec.confidence in source.names
    if is_scored:
        rows = read_scored(path, name, spec=spec)
        return rows.confidence, rows.correct
    found = read_predictions(path, spec=replace(spec, label=name))
    return own_confidence(found.logits), found.correct


def _logits_among(source: Source, columns: str | Sequence[str] | None, *, probabilities: bool) -> tuple[str, ...]:
    """Return the columns of the logits; none where there are none and none were asked for."""
    try:
        return tuple(find_logits(source.names, columns, Inputs(), probabilities=probabilities))
    except InvalidInputError:
        if columns is not None or probabilities:
            raise
        return ()


def _confidence_of(source: Source, name: str, advice: str, on_bad_rows: OnBadRows) -> Floats:
    check_column(source.names, name, advice)
    read = as_floats(values_of_column(source.read((name,), ())[name]), "confidence")
    missing, outside = np.isnan(read), (read < 0) | (read > 1)
    if missing.any() and not missing.all():
        warnings.warn(f"{missing.sum():,} of {len(read):,} rows have no score.", InputWarning, stacklevel=3)
        read, outside = read[~missing], outside[~missing]
    if outside.any() and not outside.all():
        read = _without(outside, read, on_bad_rows)
    return as_confidence(read)


def _without(outside: Bools, confidence: Floats, on_bad_rows: OnBadRows) -> Floats:
    n, row = int(outside.sum()), int(np.argmax(outside))
    if on_bad_rows == "fail":
        raise InvalidInputError(
            f"confidence must be a probability in [0, 1]; got {confidence[row]:.6g} in row {row} ({n:,} such rows). "
            f"Repair them, or {LEAVE_OUT}."
        )
    warnings.warn(
        f"{n:,} of {len(confidence):,} rows have a damaged score and are left out.", InputWarning, stacklevel=4
    )
    return confidence[~outside]
