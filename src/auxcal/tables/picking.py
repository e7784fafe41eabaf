"""Rows to label, from a file of logits to a file that a person fills in."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Unpack

import numpy as np

from auxcal._core.arrays import Floats
from auxcal._core.errors import InvalidInputError
from auxcal._core.files import STANDARD, as_path, atomic_write, check_apart
from auxcal.calibrators import Calibrator
from auxcal.inputs import refuse_wrong_kind, warn_of_probabilities
from auxcal.labelling import Picks, pick
from auxcal.monitoring import timeline
from auxcal.monitoring.timed import chunk_names
from auxcal.tables.columns import check_column, find_layout
from auxcal.tables.discover import LocalFile
from auxcal.tables.numpy_columns import Column, NumpyColumn, joined_columns
from auxcal.tables.readers import format_of, open_source
from auxcal.tables.rows import as_logit_matrix, own_confidence, usable_rows
from auxcal.tables.scored import MAX_WEIGHT
from auxcal.tables.scorer import as_classes, prediction_names
from auxcal.tables.spec import CONFIDENCE, PREDICTION, LogitOptions, TableSpec, optional_scores

WEIGHT, ROW = "weight", "row"


def pick_file(
    calibrator: Calibrator | None,
    *paths: str | os.PathLike[str],
    out: str | os.PathLike[str],
    n: int,
    by: str | None = None,
    spec: TableSpec | None = None,
    random_state: int | None = 0,
    **where: Unpack[LogitOptions],
) -> Picks:
    r"""Pick rows of a file to label, and write them with all their columns, prediction, confidence and `weight`.

    The file begins with `row`, the place of each row in the input from 0, unless the input has such a column; an empty
    column for the labels is added where there is none. The prediction is the name of the class, if the calibrator knows
    it, as in what `score_table` writes. Beside the weights, `max_weight` is the largest that a row could have had, the
    same in every row: a promise needs it.

    Parameters
    ----------
    calibrator : Calibrator or None
        A fitted one; None for the classifier's own confidence, its largest softmax probability.
    *paths : path
        The unlabelled logits, in any format that `read_predictions` takes.
    out : path
        The file to write, in the format of its extension.
    n : int
        How many rows to pick.
    by : str, optional
        The column of a slice, such as day: `auxcal.check` says of each how far the confidence may be off, and more rows
        are picked where it is more. This needs a calibrator.
    spec, **where
        As in `read_predictions`, where they are not what the calibrator was fitted on.
    random_state : int or None
        The source of randomness.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from auxcal.formats import pick_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file, out = Path(folder) / "rest.csv", Path(folder) / "to-label.csv"
    ...     _ = file.write_text("id,logit_0,logit_1\na,2.5,0.1\nb,0.3,0.9\nc,4.1,0.2\n")
    ...     _ = pick_file(None, file, out=out, n=2)
    ...     out.read_text().splitlines()[0]
    'row,id,logit_0,logit_1,y,prediction,confidence,weight,max_weight'
    """
    spec = TableSpec.of(LogitOptions, where, spec)
    spec = replace(spec, features=()) if calibrator is None else spec.known_to(calibrator.inputs_)
    spec.check_bad_rows()
    check_apart(as_path(out), map(Path, paths))
    with open_source(*paths) as source:
        layout = find_layout(source.names, source.matrices, spec, calibrator)
        others = [name for name in source.passable if name not in layout.numbers]
        for name in (WEIGHT, MAX_WEIGHT):
            if name in (*layout.numbers, *others):
                raise InvalidInputError(
                    f"there is a column {name!r} already, which the weights of the picks would replace. Rename it."
                )
        batches = list(usable_rows(source, layout, others, skip=spec.on_bad_rows == "skip"))
        if not layout.probabilities and calibrator is not None:
            refuse_wrong_kind(calibrator.inputs_.kind, batches[0].numbers)
    logits = np.concatenate([batch.numbers for batch in batches])
    if layout.known is None:
        logits = as_logit_matrix(logits, probabilities=layout.probabilities)
    if calibrator is None:
        warn_of_probabilities(None if layout.probabilities else "logits", logits, stacklevel=2)
    features = np.concatenate([batch.features for batch in batches]) if layout.features or layout.known else None
    confidence, none = _scores(calibrator, logits, features)
    passed = joined_columns([batch.others for batch in batches])
    harm = None if by is None else _harm(calibrator, logits, features, passed, by)
    picks = pick(confidence, n, none=none, harm=harm, calibrated=calibrator is not None, random_state=random_state)
    chosen: dict[str, Column] = {ROW: NumpyColumn(np.concatenate([batch.index for batch in batches])[picks.rows])}
    kept = *layout.signals, spec.label_name
    old = set(optional_scores(passed, spec.inputs.names)) - set(kept)
    chosen |= {name: column.take(picks.rows) for name, column in passed.items() if name not in old}
    for name in layout.numbers:
        values = np.concatenate([batch.inputs[name] for batch in batches])[picks.rows]
        kind = "prob" if layout.probabilities else "logit"
        flat = {name: values} if values.ndim == 1 else {f"{kind}_{k}": column for k, column in enumerate(values.T)}
        chosen |= {each: NumpyColumn(column) for each, column in flat.items()}
    unlabelled = NumpyColumn(np.full(n, None))
    class_names = prediction_names(chosen.setdefault(spec.label_name, unlabelled), spec.inputs.class_names)
    if layout.known is None:
        chosen[PREDICTION] = as_classes(logits.argmax(axis=1)[picks.rows], class_names)
    chosen |= {
        CONFIDENCE: NumpyColumn(confidence[picks.rows]),
        WEIGHT: NumpyColumn(picks.sample_weight),
        MAX_WEIGHT: NumpyColumn(np.full(n, picks.max_weight)),
    }
    _write(out, chosen)
    return picks


def _scores(calibrator: Calibrator | None, logits: Floats, features: Floats | None) -> tuple[Floats, Floats | None]:
    """Return the confidence, and the probability of none of the classes where the calibrator tells it."""
    if calibrator is None:
        return own_confidence(logits), None
    confidence = calibrator.score_validated(logits, features)
    if not calibrator.has_ood_column:
        return confidence, None
    return confidence, calibrator.proba_validated(logits, features)[:, -1]


def _harm(
    calibrator: Calibrator | None, logits: Floats, features: Floats | None, columns: dict[str, Column], by: str
) -> Floats:
    """Return how far the confidence may be off in each row's slice; small slices have the mean of the others."""
    if calibrator is None:
        raise InvalidInputError("by (--by) asks a calibrator how far its confidence is off in each slice; give one.")
    check_column(tuple(columns), by, "Name the column of the slices with by (--by).")
    names = chunk_names(columns[by].values())
    found = timeline(calibrator, logits, names, features=features)
    each = {chunk.name: chunk.check.harm.value for chunk in found.chunks if chunk.check is not None}
    usual = float(np.mean(list(each.values()))) if each else 1.0
    return np.array([each.get(name, usual) for name in names])


def _write(out: str | os.PathLike[str], columns: dict[str, Column]) -> None:
    target = as_path(out)
    write = format_of(LocalFile(target)).write
    if write is None:
        raise InvalidInputError(f"{target}: such files are only read. Write a .csv or a .parquet file.")
    if str(target) == STANDARD:
        write(target, iter([columns]))
        return
    with atomic_write(target) as temporary:
        write(temporary, iter([columns]))
