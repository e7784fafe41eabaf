"""The prediction and the confidence of every row of a file: what `auxcal score` writes, batch by batch."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from auxcal._arrays import Floats, Ints, as_logits, look_like_probabilities
from auxcal._errors import InvalidInputError
from auxcal._files import as_path, written_whole
from auxcal._progress import Report, silent
from auxcal.calibrators import Calibrator
from auxcal.formats._format import Columns, Source
from auxcal.formats._labels import are_indices, values_of_column
from auxcal.formats._layout import features_of, find_features, find_logits, logits_of, text_of
from auxcal.formats._predictions import DEFAULT_LABEL
from auxcal.formats._scored import CONFIDENCE, PREDICTION
from auxcal.formats._sources import FORMATS, STANDARD, format_of, open_source


def score_file(
    calibrator: Calibrator,
    *paths: str | os.PathLike[str],
    out: str | os.PathLike[str],
    label: str | None = None,
    columns: str | Sequence[str] | None = None,
    probabilities: bool | None = None,
    features: str | Sequence[str] | None = None,
    report: Report = silent,
) -> int:
    """Write the prediction and the confidence of every row of a file next to its other columns, without the inputs.

    The columns, and whether they hold logits or probabilities, are those that the calibrator was fitted on. Their order
    in the file does not matter. If the calibrator knows the names of the classes, the prediction is a name, unless the
    true classes in the file are indices.

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
    label : str, optional
        The column of the true classes, if there is one; whole numbers in the text of a CSV file become numbers.
    columns, probabilities, features
        As in `read_predictions`, where they are not what the calibrator was fitted on; features are only read if it was
        fitted with features.
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
    text = target.suffix.lower() != ".safetensors"  # which holds numbers alone
    scored = _scored(calibrator, paths, label, columns, features, report, probabilities=probabilities, text=text)

    def counted() -> Iterator[Columns]:
        nonlocal n_rows
        for batch in scored:
            n_rows += len(batch[CONFIDENCE])
            yield batch

    if str(target) == STANDARD:
        write(target, counted())
    else:
        with written_whole(target) as temporary:
            write(temporary, counted())
    return n_rows


def _scored(
    calibrator: Calibrator,
    paths: Sequence[str | os.PathLike[str]],
    label: str | None,
    columns: str | Sequence[str] | None,
    features: str | Sequence[str] | None,
    report: Report,
    *,
    probabilities: bool | None,
    text: bool,
) -> Iterator[Columns]:
    known = calibrator.inputs_
    label = label or known.label_name or DEFAULT_LABEL
    as_proba = known.kind == "probabilities" if probabilities is None else probabilities
    with open_source(*paths) as source:
        names = find_logits(source.names, columns, known, probabilities=as_proba)
        further = _features_for(calibrator, source, features, taken=(*names, label))
        inputs = (*names, *further)
        others = [name for name in source.passable if name not in inputs]
        start, as_label, as_class = 0, None, None
        for batch in source.batches(inputs, others):
            with _counting_from(start):
                logits = as_logits(
                    logits_of(batch.columns, names, probabilities=as_proba), n_classes=calibrator.n_features_in_
                )
                if start == 0 and not as_proba:
                    _check_kind(calibrator, logits)
                of_rows = calibrator._as_features(
                    features_of(batch.columns, further, n_rows=len(logits)), n_rows=len(logits)
                )
                confidence = calibrator._confidence_in(logits, of_rows)
            passed = {name: batch.columns[name] for name in others}
            as_class = as_class or _class_writer(known.class_names if text else None, passed.get(label))
            if label in passed:
                as_label = as_label or _label_reader(passed[label])
                passed[label] = as_label(passed[label])
            yield passed | {PREDICTION: as_class(logits.argmax(axis=1)), CONFIDENCE: confidence}
            start += len(logits)
            if batch.done is not None:
                report(batch.done)
        if start == 0:
            raise InvalidInputError("there are no rows to score. Check where the file comes from.")


def _check_kind(calibrator: Calibrator, logits: Floats) -> None:
    """Refuse probabilities where logits were fitted on."""
    if calibrator.inputs_.kind == "logits" and look_like_probabilities(logits):
        raise InvalidInputError(
            "the calibrator was fitted on logits, and these look like probabilities: in every row none is negative, "
            "and they add up to 1. Name the columns of the logits with columns (--columns), or fit a calibrator on "
            "probabilities; if it was fitted on log-probabilities, give probabilities=True (--probabilities)."
        )


def _class_writer(class_names: Sequence[str] | None, label: Any) -> Callable[[Ints], Any]:
    """Return a function that turns class indices into names; the identity where the true classes are indices."""
    if class_names is None:
        return lambda prediction: prediction
    indices = label is not None and are_indices(values_of_column(label))
    if indices and not are_indices(np.array(class_names, dtype=object)):
        return lambda prediction: prediction
    names = np.array(class_names, dtype=object)
    return lambda prediction: names[prediction]


def _features_for(
    calibrator: Calibrator, source: Source, features: str | Sequence[str] | None, taken: Sequence[str]
) -> tuple[str, ...]:
    """Return the columns of the features that the calibrator was fitted with."""
    d = calibrator.n_further_features_
    if d == 0 and not features:
        return ()
    found = find_features(source, features, taken, calibrator.inputs_)
    if not found:
        raise InvalidInputError(
            f"{calibrator.abbreviation} was fitted with {d} features of each sample, and there is no array 'features'. "
            f"Name their columns with features (--features)."
        )
    return found


@contextmanager
def _counting_from(start: int) -> Iterator[None]:
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
