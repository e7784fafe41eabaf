"""Files of scores: what `auxcal score` writes, batch by batch, and what `auxcal evaluate` reads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from auxcal._arrays import NO_CLASS, Bools, Floats, Ints, as_confidence
from auxcal._errors import InvalidInputError
from auxcal._files import as_path, written_whole
from auxcal._progress import Report, silent
from auxcal.calibrators import Calibrator
from auxcal.formats._format import Columns, Source
from auxcal.formats._layout import (
    as_classes,
    check_column,
    features_of,
    find_features,
    find_logits,
    logits_of,
    text_of,
)
from auxcal.formats._sources import FORMATS, STANDARD, format_of, open_source

PREDICTION, CONFIDENCE = "prediction", "confidence"


class Scored(NamedTuple):
    """The rows of a scored file: what the metrics take, and the prediction and true class behind it."""

    confidence: Floats
    correct: Bools
    prediction: Ints
    y: Ints


def score_file(
    calibrator: Calibrator,
    *paths: str | os.PathLike[str],
    out: str | os.PathLike[str],
    label: str = "y",
    columns: str | Sequence[str] | None = None,
    probabilities: bool = False,
    features: str | Sequence[str] | None = None,
    report: Report = silent,
) -> int:
    """Write the prediction and the confidence of every row of a file next to its other columns, without the inputs.

    CSV, parquet and `.npy` files are read, and CSV and parquet files written, in batches: memory does not grow with the
    rows. For parquet it grows with the columns, by some 3 MB each, so hundreds of classes are better kept in one list
    column, `logits`. The output is written whole or not at all. Input columns named `prediction` or `confidence` are
    replaced.

    Parameters
    ----------
    calibrator : Calibrator
        A fitted one.
    *paths : path
        The logits, in any format that `read_predictions` takes; y may be missing.
    out : path
        The file to write, in the format of its extension; `-` for CSV to standard output.
    label : str
        The column of the true classes, if there is one; whole numbers in the text of a CSV file become numbers.
    columns, probabilities, features
        As in `read_predictions`; features are only read if the calibrator was fitted with features.
    report : callable
        Called after every batch with the share of the file that is done, if it is known.

    Returns
    -------
    int
        The number of rows.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from auxcal import Uncalibrated
    >>> from auxcal.formats import read_scored, score_file
    >>> logits, y = np.array([[2.0, 0.0], [0.0, 1.0]]), np.array([0, 0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     new, out = Path(folder) / "new.npz", Path(folder) / "scored.csv"
    ...     np.savez(new, logits=logits, y=y)
    ...     rows = score_file(Uncalibrated().fit(logits, y), new, out=out)
    ...     read_scored(out).confidence.round(2).tolist()
    [0.88, 0.73]
    """
    target = as_path(out)
    write = format_of(target).write
    if write is None:
        writable = ", ".join(ending for ending, format_ in FORMATS.items() if format_.write and ending != STANDARD)
        raise InvalidInputError(f"{target}: such files are only read. Write one of {writable}.")
    n_rows = 0

    def counted() -> Iterator[Columns]:
        nonlocal n_rows
        for batch in _scored(calibrator, paths, label, columns, features, report, probabilities=probabilities):
            n_rows += len(batch[CONFIDENCE])
            yield batch

    if str(target) == STANDARD:
        write(target, counted())
    else:
        with written_whole(target) as temporary:
            write(temporary, counted())
    return n_rows


def read_scored(path: str | os.PathLike[str], label: str = "y") -> Scored:
    """Read a file of `score_file` that has the true classes next to the scores.

    Parameters
    ----------
    path : path
        A file with the columns or arrays `prediction`, `confidence` and `label`; `-` for CSV from standard input.
    label : str
        The column of the true classes.

    Returns
    -------
    Scored
        `confidence`, `correct`, `prediction` and `y`.
    """
    with open_source(path) as source:
        for name in (PREDICTION, CONFIDENCE):
            check_column(source.names, name, "Score the file with auxcal score first.")
        check_column(source.names, label, "Name the column of the true classes with label (--label).")
        rows = source.read((CONFIDENCE,), (PREDICTION, label))
        confidence = as_confidence(rows[CONFIDENCE])
        prediction, y = as_classes(rows[PREDICTION], PREDICTION), as_classes(rows[label], label)
        if y.min() < NO_CLASS:
            raise InvalidInputError(f"{label} must be a class index, or {NO_CLASS} for no class; got {y.min()}.")
        return Scored(confidence, prediction == y, prediction, y)


def _scored(
    calibrator: Calibrator,
    paths: Sequence[str | os.PathLike[str]],
    label: str,
    columns: str | Sequence[str] | None,
    features: str | Sequence[str] | None,
    report: Report,
    *,
    probabilities: bool,
) -> Iterator[Columns]:
    with open_source(*paths) as source:
        names = find_logits(source.names, columns, probabilities=probabilities)
        further = _features_for(calibrator, source, features, taken=(*names, label))
        inputs = (*names, *further)
        others = [name for name in source.passable if name not in inputs]
        start, as_label = 0, None
        for batch in source.batches(inputs, others):
            with _errors_count_from(start):
                logits = logits_of(batch.columns, names, probabilities=probabilities)
                of_rows = features_of(batch.columns, further, n_rows=len(logits))
                confidence = calibrator.predict_confidence(logits, of_rows)
            passed = {name: batch.columns[name] for name in others}
            if label in passed:
                as_label = as_label or _label_reader(passed[label])
                passed[label] = as_label(passed[label])
            yield passed | {PREDICTION: logits.argmax(axis=1), CONFIDENCE: confidence}
            start += len(logits)
            if batch.done is not None:
                report(batch.done)
        if start == 0:
            raise InvalidInputError("there are no rows to score. Check where the file comes from.")


def _features_for(
    calibrator: Calibrator, source: Source, features: str | Sequence[str] | None, taken: Sequence[str]
) -> tuple[str, ...]:
    """Return the columns of the features that the calibrator was fitted with."""
    d = calibrator.n_further_features_
    if d == 0 and not features:
        return ()
    found = find_features(source, features, taken)
    if not found:
        raise InvalidInputError(
            f"{calibrator.abbreviation} was fitted with {d} features of each sample, and there is no array 'features'. "
            f"Name their columns with features (--features)."
        )
    return found


@contextmanager
def _errors_count_from(start: int) -> Iterator[None]:
    try:
        yield
    except InvalidInputError as error:
        if start == 0:
            raise
        raise InvalidInputError(f"{error} Rows are counted from row {start} of the file.") from None


def _label_reader(first: Any) -> Callable[[Any], Any]:
    """Return a function that parses labels as integers, if the first rows can be parsed; else the identity."""
    try:
        _whole_numbers(first)
    except InvalidInputError:
        return lambda column: column
    return _whole_numbers


def _whole_numbers(column: Any) -> Any:
    """Parse text as integers, with null for empty text; return other columns unchanged."""
    text = text_of(column)
    if text is None:
        return column
    try:
        numbers = np.array([int(value) if value else 0 for value in text], dtype=np.int64)
    except (ValueError, OverflowError) as error:
        raise InvalidInputError(f"the first labels are whole numbers, and then: {error}. Repair these rows.") from error
    missing = np.array([not value for value in text])
    return np.ma.MaskedArray(numbers, missing) if missing.any() else numbers
