"""The one scorer of batches, for files, folders, Arrow tables, Spark and Ray; and what is written beside the scores."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from auxcal._core.arrays import NO_CLASS, Bools, Floats, Ints, as_logits, log_of
from auxcal._core.errors import InputWarning, InvalidInputError
from auxcal._core.extras import needs
from auxcal._core.float_errors import ignore_float_errors
from auxcal._core.labels import MISSING, are_indices, as_class_names, has_number, names_in
from auxcal._core.text import utf8
from auxcal.calibrators import CALIBRATORS, Calibrator, ProbaCalibrator
from auxcal.calibrators.fitting import validate_features
from auxcal.inputs import refuse_wrong_kind
from auxcal.tables.batches import Batch, Source
from auxcal.tables.columns import Layout, find_layout
from auxcal.tables.readers.json_lines import LINE
from auxcal.tables.rows import BadRows, RowBatch, as_logit_matrix, bad_rows_error, check_meant, convert, usable_rows
from auxcal.tables.spec import (
    ACCEPTED,
    CONFIDENCE,
    IN_FIT,
    MISCLASSIFIED_COLUMN,
    NO_CLASS_COLUMN,
    PREDICTION,
    PROBA,
    TableSpec,
    optional_scores,
)
from auxcal.tables.values import Problem, distinct, from_numpy, from_text, is_text, whole_numbers

with needs("tables"):
    import pyarrow as pa

Watch: TypeAlias = Callable[[Floats, Floats, Floats | None], None]
"""Looks at the logits, the confidence and the features of the good rows of a batch."""


class RowScores(NamedTuple):
    """The scores of some rows: a prediction of 0 and a confidence of NaN where a row is bad.

    `logits` and `features` are those of the good rows.
    """

    prediction: Ints
    confidence: Floats
    bad: Bools | None
    proba: Floats | None
    logits: Floats
    features: Floats | None

    @property
    def good_confidence(self) -> Floats:
        """The confidence of the good rows."""
        return self.confidence if self.bad is None else self.confidence[~self.bad]


class ScoredBatch(NamedTuple):
    """Columns to write, how many rows were read for them, what was bad, and the share of the file that is read."""

    columns: pa.RecordBatch
    rows: int
    bad: BadRows
    done: float | None


class Scorer:
    """Scores the batches of one table, or of its parts; `text` is whether text can be written beside the scores."""

    def __init__(self, calibrator: Calibrator, spec: TableSpec, *, proba: bool = False, text: bool = True) -> None:
        self.calibrator, self.spec, self._proba = calibrator, spec.known_to(calibrator.inputs_), proba
        self._text, self.class_names = text, calibrator.inputs_.class_names if text else None
        self._label, self._probabilities = self.spec.label_name, self.spec.as_probabilities
        self._widths = calibrator.n_features_in_, calibrator.n_further_features_
        if proba and not isinstance(calibrator, ProbaCalibrator):
            able = [name for name, kind in CALIBRATORS.items() if issubclass(kind, ProbaCalibrator)]
            raise InvalidInputError(
                f"{calibrator.abbreviation} gives a confidence in the prediction, and no probabilities of the classes. "
                f"Leave out proba (--proba), or fit one of {', '.join(able)}."
            )

    @property
    def options(self) -> dict[str, Any]:
        """What scores depend on besides the calibrator and the rows, as the record of a folder keeps it."""
        names = "label", "columns", "probabilities", "percent", "features", "signals", "correct", "on_bad_rows"
        return {name: getattr(self.spec, name) for name in names} | {"proba": self._proba}

    def layout(self, names: Sequence[str], lists: Sequence[str], taken: Sequence[str] = ()) -> Layout:
        """Return the columns of the logits, and those of the features, which are no others."""
        return find_layout(names, lists, self.spec, self.calibrator, taken)._replace(widths=self._widths)

    @ignore_float_errors
    def score(self, rows: RowBatch) -> RowScores:
        """Score the good rows of a batch."""
        if len(rows):
            self._check_shape(rows.numbers, rows.features)
        good = rows.good
        numbers, features = rows.numbers[good], None if rows.features is None else rows.features[good]
        logits = log_of(numbers) if self._probabilities else numbers
        dtype = numbers.dtype
        confidence = self.calibrator.score_validated(logits, features) if len(logits) else logits[:, 0]
        proba = None
        if self._proba and isinstance(self.calibrator, ProbaCalibrator):
            proba = self.calibrator.proba_validated(logits, features).astype(dtype, copy=False)
        prediction, confidence = logits.argmax(axis=1), confidence.astype(dtype, copy=False)
        bad = None if rows.problems is None else rows.problems != Problem.NONE
        prediction, confidence = _spread(prediction, 0, bad), _spread(confidence, np.nan, bad)
        return RowScores(prediction, confidence, bad, _spread(proba, np.nan, bad), logits, features)

    # Tables in files --------------------------------------------------------------------------------------------------

    def prediction_names(self, source: Source) -> tuple[str, ...] | None:
        """Return the names that predictions are written as; None for indices, where the labels beside them are such.

        The labels that decide are those of the first rows that have one of a class.
        """
        names = self.class_names
        if names is None or self._label not in source.passable or has_number(names):
            return names
        for batch in source.column(self._label):
            indices = are_index_labels(batch[self._label], self.spec.none_labels)
            if indices is not None:
                return None if indices else names
        return names

    def begin(self, source: Source) -> None:
        """Refuse what can't be meant by the columns and the first rows; warn of columns that are left out."""
        layout, others = self._layout(source)
        self._check_columns(source, layout, others)
        batch = next(iter(source.batches(layout.numbers, (*others, *layout.signals))))
        self._check_first(batch, convert(batch, layout), layout)

    def batches(
        self,
        source: Source,
        class_names: Sequence[str] | None,
        watch: Watch | None = None,
        *,
        checked: bool = False,
        names_by_first: bool = False,
    ) -> Generator[ScoredBatch, None, None]:
        """Yield the scores of each batch, and show `watch` its good rows; by default the first rows are checked.

        `names_by_first`: the first rows decide the names, as they must where a table can be read only once.
        """
        layout, others = self._layout(source)
        marks, before = self.marks(source), 0
        if not checked:
            self._check_columns(source, layout, others)
        for batch in source.batches(layout.numbers, (*others, *layout.signals)):
            given = convert(batch, layout, before)
            if not checked:
                self._check_first(batch, given, layout)
                checked = True
            if names_by_first and not before and self._label in others and not has_number(class_names):
                class_names = None if are_index_labels(batch[self._label], self.spec.none_labels) else class_names
            if given.problems is not None and self.spec.on_bad_rows == "fail":
                raise bad_rows_error(batch, given, layout, before)
            rows = given.without_bad() if self.spec.on_bad_rows == "skip" else given
            scores = self.score(rows)
            if watch is not None and len(batch):
                watch(scores.logits, scores.good_confidence, scores.features)
            columns = self._columns(rows.columns.select(others), scores, class_names, marks=marks)
            yield ScoredBatch(columns, len(batch), BadRows.among(given.problems), batch.done)
            before += len(batch)

    def rows(
        self, source: Source, others: Sequence[str] = (), *, warn: bool = True
    ) -> Iterator[tuple[RowBatch, Floats, Floats | None]]:
        """Yield batches of good rows with other columns, the logits and the features; at the end, warn of the rest."""
        layout, _ = self._layout(source, others)
        skip = self.spec.on_bad_rows == "skip"
        for place, rows in enumerate(usable_rows(source, layout._replace(widths=None), others, skip=skip, warn=warn)):
            self._check_shape(rows.numbers, rows.features)
            logits = rows.numbers
            if layout.known is None:
                logits = as_logit_matrix(logits, probabilities=self._probabilities)
            if place == 0:
                self._refuse_wrong_kind(logits)
            yield rows, logits, rows.features

    def _layout(self, source: Source, others: Sequence[str] = ()) -> tuple[Layout, list[str]]:
        """Return where the numbers are, and the columns that are passed through."""
        layout = self.layout(source.names, source.matrices, (self._label, *others))
        left_out = {*layout.numbers, *self.earlier_scores(source.names, layout)}
        return layout, [name for name in source.passable if name not in left_out]

    def earlier_scores(self, names: Sequence[str], layout: Layout) -> list[str]:
        """Return the columns that are of an earlier scoring, and none that is read."""
        read = {*layout.numbers, *layout.signals, self._label}
        return [name for name in optional_scores(names, self.calibrator.inputs_.names) if name not in read]

    def marks(self, source: Source) -> bool:
        """Whether a column marks the rows of the fit: where rows may have labels, and those rows are known."""
        may_have_labels = self._label in source.passable or LINE in source.passable  # which carries all that a line has
        return may_have_labels and self.calibrator.fit_rows_ is not None

    def _check_columns(self, source: Source, layout: Layout, others: Sequence[str]) -> None:
        """Refuse labels that scores would replace; warn of columns that are left out, and where there are no marks."""
        written = {CONFIDENCE} if self.calibrator.takes_signals else {CONFIDENCE, PREDICTION}
        written |= {ACCEPTED} if self.calibrator.certificate_ is not None else set()
        written |= {IN_FIT} if self.marks(source) else set()
        written |= set(self._proba_names()) if self._proba else set()
        if self._label in others and self._label in written:
            raise InvalidInputError(
                f"the true classes are in the column {self._label!r}, which the scores would replace. Rename it, and "
                f"name it with label (--label)."
            )
        old = [name for name in self.earlier_scores(source.names, layout) if name not in written]
        if old:
            warnings.warn(
                f"columns of an earlier scoring are left out: {', '.join(old)}. Rename what is your own.",
                InputWarning,
                stacklevel=2,
            )
        if self._label in others and self.calibrator.fit_rows_ is None:
            warnings.warn(
                f"{IN_FIT} is not written, because many rows of the fit are equal: find thresholds only on rows "
                f"that were not in the fit.",
                InputWarning,
                stacklevel=2,
            )

    def _check_shape(self, logits: Floats, features: Floats | None) -> None:
        """Refuse another number of columns than the calibrator was fitted with."""
        if (logits.shape[1], 0 if features is None else features.shape[1]) != self._widths:
            as_logits(logits[:1], n_classes=self._widths[0])
            validate_features(self.calibrator, features, n_rows=len(logits))

    def _check_first(self, batch: Batch, rows: RowBatch, layout: Layout) -> None:
        """Refuse a table whose first rows are all bad, and probabilities where logits were fitted on."""
        if not len(batch):
            return
        if rows.problems is not None and rows.problems.all():
            self._check_shape(*(np.zeros((1, width), np.float32) for width in layout.widths_in(batch)))
            check_meant(rows, layout)
            raise bad_rows_error(batch, rows, layout, 0)
        self._check_shape(rows.numbers, rows.features)
        self._refuse_wrong_kind(rows.numbers[rows.good])

    def _refuse_wrong_kind(self, logits: Floats) -> None:
        if not self._probabilities:
            refuse_wrong_kind(self.calibrator.inputs_.kind, logits)

    def _columns(
        self, passed: pa.RecordBatch, scores: RowScores, class_names: Sequence[str] | None, *, marks: bool
    ) -> pa.RecordBatch:
        """Return what is passed through, and the scores; of a bad row there are none."""
        columns = dict(zip(passed.schema.names, passed.columns, strict=True))
        bad, certificate, fit_rows = scores.bad, self.calibrator.certificate_, self.calibrator.fit_rows_
        if not self._text and self._label in columns:
            columns[self._label] = _as_numbers(columns[self._label])
        if not self.calibrator.takes_signals:
            columns[PREDICTION] = as_classes(scores.prediction, class_names, bad)
        columns[CONFIDENCE] = from_numpy(scores.confidence, bad)
        if certificate is not None:
            columns[ACCEPTED] = from_numpy(certificate.accepts(scores.confidence), bad)
        if marks and fit_rows is not None:
            marked, known = fit_rows.contain(scores.logits, scores.features)
            known = _spread(known, True, bad)
            columns[IN_FIT] = from_numpy(_spread(marked, False, bad), None if known.all() else ~known)
        if scores.proba is not None:
            for name, column in zip(self._proba_names(), scores.proba.T, strict=False):
                columns[name] = from_numpy(column, bad)
        return pa.RecordBatch.from_pydict({utf8(name).decode(): column for name, column in columns.items()})

    def _proba_names(self) -> list[str]:
        """Return the names of the columns of the probabilities; the last one is not there for every method."""
        names = as_class_names(self.calibrator.inputs_.class_names, self._widths[0])
        last = NO_CLASS_COLUMN if self.calibrator.has_ood_column else MISCLASSIFIED_COLUMN
        return [f"{PROBA}{name}" for name in (*names, last)]


def _spread(values: Any, fill: Any, bad: Bools | None) -> Any:
    """Return values of the good rows, if any, at their places among all, and a filling at the bad ones."""
    if values is None or bad is None:
        return values
    spread = np.full((len(bad), *values.shape[1:]), fill, values.dtype)
    spread[~bad] = values
    return spread


def are_index_labels(labels: pa.Array, no_class: Sequence[str]) -> bool | None:
    """Whether labels are indices of classes; None if none of them is of a class."""
    values, _ = distinct(labels)
    names = [name for name in names_in(values, MISSING) if name not in (*no_class, str(NO_CLASS))]
    return are_indices(np.array(names, dtype=object)) if names else None


def as_classes(prediction: Ints, class_names: Sequence[str] | None, bad: Bools | None = None) -> pa.Array:
    """Return predictions as names or indices, none where a row is bad."""
    indices = from_numpy(prediction.astype(np.int64, copy=False), bad)
    return indices if class_names is None else from_text(class_names).take(indices)


def _as_numbers(labels: pa.Array) -> pa.Array:
    """Return labels that are text as whole numbers, for a format that has no text."""
    try:
        return whole_numbers(labels) if is_text(labels.type) else labels
    except ValueError:
        return labels
