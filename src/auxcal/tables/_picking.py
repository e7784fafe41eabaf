"""Rows to label, from a file of logits to a file that a person fills in."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from auxcal._core.arrays import Floats
from auxcal._core.errors import InvalidInputError
from auxcal._core.files import STANDARD, as_path, atomic_write, check_apart
from auxcal.calibrators import Calibrator
from auxcal.inputs import Inputs
from auxcal.labelling import Picks, pick
from auxcal.tables._layout import features_of, logits_of, own_confidence
from auxcal.tables._scored_batches import as_classes, prediction_names
from auxcal.tables._sources import format_of, open_source
from auxcal.tables._usable import PLACE, UsableRows
from auxcal.tables.columns import find_logits
from auxcal.tables.scores import CONFIDENCE, MAX_WEIGHT, PREDICTION, features_for
from auxcal.tables.spec import LogitOptions, TableSpec

WEIGHT, ROW = "weight", "row"


def pick_file(
    calibrator: Calibrator | None,
    *paths: str | os.PathLike[str],
    out: str | os.PathLike[str],
    n: int,
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
    spec = TableSpec.of(LogitOptions, where, spec).known_to(Inputs() if calibrator is None else calibrator.inputs_)
    spec.check_bad_rows()
    known, as_proba = spec.inputs, spec.as_probabilities
    check_apart(as_path(out), map(Path, paths))
    with open_source(*paths) as source:
        names = find_logits(source.names, spec.columns, known, probabilities=as_proba)
        further = (
            features_for(calibrator, source.names, source.matrices, spec.features, taken=names) if calibrator else ()
        )
        others = [name for name in source.passable if name not in (*names, *further)]
        for name in (WEIGHT, MAX_WEIGHT):
            if name in (*names, *further, *others):
                raise InvalidInputError(
                    f"there is a column {name!r} already, which the weights of the picks would replace. Rename it."
                )
        usable = UsableRows(names, further, probabilities=as_proba, on_bad_rows=spec.on_bad_rows)
        table = usable.read(source, (*names, *further), others)
    logits = logits_of(table, names, probabilities=as_proba)
    of_rows = features_of(table, further, n_rows=len(logits))
    confidence, none = _scores(calibrator, logits, of_rows)
    picks = pick(confidence, n, none=none, calibrated=calibrator is not None, random_state=random_state)
    chosen = {ROW: table[PLACE][picks.rows]} | {name: _taken(table[name], picks) for name in others}
    for name in (*names, *further):
        chosen |= _flat("prob" if as_proba else "logit", name, table[name][picks.rows])
    label = spec.label_name
    class_names = prediction_names(chosen.setdefault(label, np.full(n, None)), known.class_names)
    chosen |= {
        PREDICTION: as_classes(logits.argmax(axis=1)[picks.rows], class_names),
        CONFIDENCE: confidence[picks.rows],
        WEIGHT: picks.sample_weight,
        MAX_WEIGHT: np.full(n, picks.max_weight),
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


def _taken(column: Any, picks: Picks) -> Any:
    return column[picks.rows] if isinstance(column, np.ndarray) else column.take(picks.rows)


def _flat(prefix: str, name: str, values: Any) -> dict[str, Any]:
    """Return a column as it is, and a matrix as numbered columns."""
    return {name: values} if values.ndim == 1 else {f"{prefix}_{k}": column for k, column in enumerate(values.T)}


def _write(out: str | os.PathLike[str], columns: dict[str, Any]) -> None:
    target = as_path(out)
    write = format_of(target).write
    if write is None:
        raise InvalidInputError(f"{target}: such files are only read. Write a .csv or a .parquet file.")
    if str(target) == STANDARD:
        write(target, iter([columns]))
        return
    with atomic_write(target) as temporary:
        write(temporary, iter([columns]))
