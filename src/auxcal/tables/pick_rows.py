"""Rows to label, from a file of logits to a file that a person fills in."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from auxcal._core.arrays import Floats
from auxcal._core.errors import InvalidInputError
from auxcal._core.extras import needs
from auxcal._core.files import STANDARD, as_path, atomic_write, check_apart
from auxcal._core.labels import has_number
from auxcal.calibrators import Calibrator
from auxcal.inputs import refuse_wrong_kind, warn_of_probabilities
from auxcal.monitoring import timeline
from auxcal.monitoring.timed import chunk_names
from auxcal.tables.columns import check_column, find_layout
from auxcal.tables.parts import LocalFile
from auxcal.tables.readers import open_source, writable
from auxcal.tables.readers.json_lines import LINE
from auxcal.tables.rows import as_logit_matrix, own_confidence, usable_rows
from auxcal.tables.scored import MAX_WEIGHT
from auxcal.tables.scorer import are_index_labels, as_classes
from auxcal.tables.spec import CONFIDENCE, PREDICTION, TableSpec, optional_scores
from auxcal.tables.values import from_numpy, matrix_of, to_numpy

with needs("tables"):
    import pyarrow as pa

if TYPE_CHECKING:
    from auxcal.labelling import Picks

WEIGHT, ROW = "weight", "row"


def pick_file(
    calibrator: Calibrator | None,
    *paths: str | os.PathLike[str],
    out: str | os.PathLike[str],
    n: int,
    by: str | None = None,
    spec: TableSpec | None = None,
    random_state: int | None = 0,
    **where: Any,
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
        The column of a slice, such as day: more rows are picked where `auxcal.check` finds that the confidence may be
        off more. This needs a calibrator.
    spec, **where
        As in `read_predictions`, where they are not what the calibrator was fitted on.
    random_state : int or None
        The source of randomness.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from auxcal.tables import pick_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file, out = Path(folder) / "rest.csv", Path(folder) / "to-label.csv"
    ...     _ = file.write_text("id,logit_0,logit_1\na,2.5,0.1\nb,0.3,0.9\nc,4.1,0.2\n")
    ...     _ = pick_file(None, file, out=out, n=2)
    ...     out.read_text().splitlines()[0]
    'row,id,logit_0,logit_1,y,prediction,confidence,weight,max_weight'
    """
    from auxcal.labelling import pick  # here, since scoring needs no SciPy

    spec = TableSpec.of(spec, where)
    spec = replace(spec, features=()) if calibrator is None else spec.known_to(calibrator.inputs_)
    spec.check_bad_rows()
    check_apart(as_path(out), map(Path, paths))
    kind = writable(LocalFile(as_path(out)))
    with open_source(*paths) as source:
        layout = find_layout(source.names, source.matrices, spec, calibrator)
        others = [name for name in source.passable if name not in (*layout.numbers, LINE)]
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
    features = None if batches[0].features is None else np.concatenate([batch.features for batch in batches])
    confidence, none = _scores(calibrator, logits, features)
    table = pa.Table.from_batches([batch.columns for batch in batches])
    harm = None if by is None else _harm(calibrator, logits, features, table, by)
    picks = pick(confidence, n, none=none, harm=harm, calibrated=calibrator is not None, random_state=random_state)
    picked = table.take(from_numpy(picks.rows)).combine_chunks()
    index = np.concatenate([batch.index for batch in batches])
    chosen: dict[str, pa.Array] = {ROW: from_numpy(index[picks.rows])}
    old = {*optional_scores(others, spec.inputs.names)} - {*layout.signals, spec.label_name}
    for name in (*others, *layout.numbers):
        if name not in old:
            chosen |= _flat(name, _array(picked[name]), "prob" if layout.probabilities else "logit", layout.numbers)
    labels = chosen.setdefault(spec.label_name, pa.nulls(n, pa.string()))
    indices = are_index_labels(labels, spec.none_labels)
    if layout.known is None:
        names = None if indices and not has_number(spec.inputs.class_names) else spec.inputs.class_names
        chosen[PREDICTION] = as_classes(logits.argmax(axis=1)[picks.rows], names)
    chosen |= {
        CONFIDENCE: from_numpy(confidence[picks.rows]),
        WEIGHT: from_numpy(np.asarray(picks.sample_weight)),
        MAX_WEIGHT: from_numpy(np.full(n, picks.max_weight)),
    }
    standard = str(out) == STANDARD
    with nullcontext(Path(STANDARD)) if standard else atomic_write(as_path(out)) as temporary:
        kind.write(temporary, iter([pa.RecordBatch.from_pydict(chosen)]))  # type: ignore[misc]
    return picks


def _array(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _flat(name: str, column: pa.Array, kind: str, numbers: Sequence[str]) -> dict[str, pa.Array]:
    """Return lists of logits as a column for each class; other columns as they are."""
    if name not in numbers:
        return {name: column}
    values, _ = matrix_of(column, name)
    return {name: column} if values.ndim == 1 else {f"{kind}_{k}": from_numpy(part) for k, part in enumerate(values.T)}


def _scores(calibrator: Calibrator | None, logits: Floats, features: Floats | None) -> tuple[Floats, Floats | None]:
    """Return the confidence, and the probability of none of the classes where the calibrator tells it."""
    if calibrator is None:
        return own_confidence(logits), None
    confidence = calibrator.score_validated(logits, features)
    if not calibrator.has_ood_column:
        return confidence, None
    return confidence, calibrator.proba_validated(logits, features)[:, -1]


def _harm(calibrator: Calibrator | None, logits: Floats, features: Floats | None, table: pa.Table, by: str) -> Floats:
    """Return how far the confidence may be off in each row's slice; small slices have the mean of the others."""
    if calibrator is None:
        raise InvalidInputError("by (--by) asks a calibrator how far its confidence is off in each slice; give one.")
    check_column(tuple(table.column_names), by, "Name the column of the slices with by (--by).")
    names = chunk_names(to_numpy(_array(table[by])))
    chunks = timeline(calibrator, logits, names, features=features).chunks
    harms = {chunk.name: chunk.check.harm.value for chunk in chunks if chunk.check is not None}
    usual = float(np.mean(list(harms.values()))) if harms else 1.0
    return np.array([harms.get(name, usual) for name in names])
