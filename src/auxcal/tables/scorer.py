"""The one scorer of batches, for files, folders, Arrow tables, Spark and Ray; and what is written beside the scores."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from auxcal._core.arrays import (
    Bools,
    Floats,
    Ints,
    as_class_names,
    as_logits,
    log_of,
)
from auxcal._core.errors import InputWarning, InvalidInputError
from auxcal._core.float_errors import ignore_float_errors
from auxcal._core.labels import MISSING, are_indices, as_text
from auxcal.calibrators import CALIBRATORS, Calibrator, ProbaCalibrator
from auxcal.calibrators.fitting import validate_features
from auxcal.inputs import refuse_wrong_kind
from auxcal.tables.columns import Layout, find_layout
from auxcal.tables.numpy_columns import Column, Columns, NumpyColumn, Problem
from auxcal.tables.readers.json_lines import LINE
from auxcal.tables.rows import (
    BadRows,
    RowBatch,
    as_logit_matrix,
    bad_rows_error,
    check_meant,
    convert,
    usable_rows,
)
from auxcal.tables.sources import Batch, Source
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

Watch: TypeAlias = Callable[[Floats, Floats, Floats | None], None]
"""Looks at the logits, the confidence and the features of the good rows of a batch."""


class OutputFormat(NamedTuple):
    """What the first rows decide for all others, so that all parts of a table are alike.

    The names that predictions are written as, None for indices; and whether labels that are text become whole numbers.
    Which columns there are is decided by the calibrator and the names of the columns, before any row is read.
    """

    class_names: tuple[str, ...] | None
    whole_labels: bool

    @classmethod
    def restored(cls, recorded: Any) -> OutputFormat | None:
        """Return what was recorded as JSON; None where nothing was."""
        if recorded is None:
            return None
        names, whole = recorded
        if not isinstance(names, list | None) or not isinstance(whole, bool):
            raise TypeError("output must be the names of the classes and whether labels are whole numbers")
        return cls(None if names is None else tuple(map(str, names)), whole)


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

    columns: Columns
    rows: int
    bad: BadRows
    done: float | None


class Written(NamedTuple):
    """What `score_table` wrote.

    Parameters
    ----------
    rows : int
        How many rows were read, in this run and in those before that it went on from.
    bad : BadRows
        How many of them could not be scored, by what is wrong with them.
    parts, resumed : int
        How many files the output has, and how many of them were there already.
    withdrawn : bool
        Whether nothing is accepted, since the promise does not hold for these rows.
    resumed_rows, resumed_bad : int
        How many of the rows, and of the bad ones, are in parts that were there already.
    """

    rows: int
    bad: BadRows
    parts: int = 1
    resumed: int = 0
    withdrawn: bool = False
    resumed_rows: int = 0
    resumed_bad: int = 0


class Scorer:
    """Scores the batches of one table, or of its parts; `text` says whether text can be written beside the scores."""

    def __init__(self, calibrator: Calibrator, spec: TableSpec, *, proba: bool = False, text: bool = True) -> None:
        self.calibrator, self.spec, self._proba = calibrator, spec.known_to(calibrator.inputs_), proba
        self._class_names = calibrator.inputs_.class_names if text else None
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
        names = "label", "columns", "probabilities", "features", "on_bad_rows"
        given = {name: value for name in ("signals", "correct") if (value := getattr(self.spec, name)) is not None}
        return {name: getattr(self.spec, name) for name in names} | given | {"proba": self._proba}

    def layout(self, names: Sequence[str], matrices: Sequence[str], taken: Sequence[str] = ()) -> Layout:
        """Return the columns of the logits, and those of the features, which are no others."""
        return find_layout(names, matrices, self.spec, self.calibrator, taken)._replace(widths=self._widths)

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
        if rows.problems is None:
            return RowScores(prediction, confidence, None, proba, logits, features)
        bad = rows.problems != Problem.NONE
        spread = partial(_spread, good=~bad)
        given = None if proba is None else spread(proba, np.nan)
        return RowScores(spread(prediction, 0), spread(confidence, np.nan), bad, given, logits, features)

    # Tables in files --------------------------------------------------------------------------------------------------

    def output_format(self, source: Source) -> OutputFormat:
        """Look at the first rows: refuse what can't be meant, and return what they decide."""
        layout, others = self._layout(source)
        self._check_columns(source, layout, others)
        batch = next(iter(source.batches(layout.numbers, list(dict.fromkeys((*others, *layout.signals))))))
        rows = convert(batch, layout, others)
        self._check_first(batch, rows, layout)
        return self._format(rows)

    def batches(
        self, source: Source, output: OutputFormat | None = None, watch: Watch | None = None
    ) -> Generator[ScoredBatch, None, None]:
        """Yield the scores of each batch, and show `watch` its good rows; by default the first batch decides."""
        layout, others = self._layout(source)
        marks, before = self.marks(source), 0
        if output is None:
            self._check_columns(source, layout, others)
        for batch in source.batches(layout.numbers, list(dict.fromkeys((*others, *layout.signals)))):
            given = convert(batch, layout, others)
            if output is None:
                self._check_first(batch, given, layout)
            if given.problems is not None and self.spec.on_bad_rows == "fail":
                raise bad_rows_error(batch, given, layout, before)
            rows = given.without_bad() if self.spec.on_bad_rows == "skip" else given
            scores = self.score(rows)
            if watch is not None and len(batch):
                watch(scores.logits, scores.good_confidence, scores.features)
            output = output or self._format(given)
            columns = self._columns(rows, scores, output, self._marked(scores) if marks else None)
            yield ScoredBatch(columns, len(batch), BadRows.among(given.problems), batch.done)
            before += len(batch)

    def rows(
        self, source: Source, others: Sequence[str] = (), *, warn: bool = True
    ) -> Iterator[tuple[RowBatch, Floats, Floats | None]]:
        """Yield batches of good rows with other columns, the logits and the features; at the end, warn of the rest."""
        layout, _ = self._layout(source, others)
        usable = usable_rows(
            source, layout._replace(widths=None), others, skip=self.spec.on_bad_rows == "skip", warn=warn
        )
        for place, rows in enumerate(usable):
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
        read = (*layout.numbers, *layout.signals, self._label)
        return [name for name in optional_scores(names, self.calibrator.inputs_.names) if name not in read]

    def marks(self, source: Source) -> bool:
        """Whether a column says of each row if it was in the fit: where rows may have labels, and it can be told."""
        may_have_labels = self._label in source.passable or LINE in source.passable  # which carries all that a line has
        return may_have_labels and self.calibrator.fit_rows_ is not None

    def _check_columns(self, source: Source, layout: Layout, others: Sequence[str]) -> None:
        """Refuse labels that scores would replace; warn of columns that are left out, and of rows not to be told."""
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
                f"{IN_FIT} is not written, because many rows of the fit are equal or its file is of an earlier version:"
                f" find thresholds only on rows that were not in the fit.",
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
            self._check_shape(*(np.zeros((1, width), np.float32) for width in layout.widths_in(batch.columns)))
            check_meant(rows, layout)
            raise bad_rows_error(batch, rows, layout, 0)
        self._check_shape(rows.numbers, rows.features)
        self._refuse_wrong_kind(rows.numbers[rows.good])

    def _refuse_wrong_kind(self, logits: Floats) -> None:
        if not self._probabilities:
            refuse_wrong_kind(self.calibrator.inputs_.kind, logits)

    def _marked(self, scores: RowScores) -> Column | None:
        """Return which rows were in the fit, if it can be told; nothing in those of which it can't."""
        if self.calibrator.fit_rows_ is None:
            return None
        marked, known = self.calibrator.fit_rows_.contain(scores.logits, scores.features)
        if scores.bad is not None:
            marked, known = _spread(marked, False, ~scores.bad), _spread(known, True, ~scores.bad)
        return NumpyColumn(marked, None if known.all() else ~known)

    def _format(self, rows: RowBatch) -> OutputFormat:
        label = rows.others.get(self._label)
        whole = False
        if label is not None:
            with contextlib.suppress(InvalidInputError):
                whole = _whole_numbers(label) is not label
        names = prediction_names(label, self._class_names)
        return OutputFormat(names, whole)

    def _columns(self, rows: RowBatch, scores: RowScores, output: OutputFormat, marked: Column | None) -> Columns:
        """Return what is passed through, and the scores; of a bad row there are none."""
        found: dict[str, Column] = dict(rows.others)
        if output.whole_labels and self._label in found:
            found[self._label] = _whole_numbers(found[self._label])
        bad = scores.bad
        scored: dict[str, Column] = {CONFIDENCE: NumpyColumn(scores.confidence, bad)}
        if not self.calibrator.takes_signals:
            scored = {PREDICTION: as_classes(scores.prediction, output.class_names, bad), **scored}
        if self.calibrator.certificate_ is not None:
            scored[ACCEPTED] = NumpyColumn(self.calibrator.certificate_.accepts(scores.confidence), bad)
        if marked is not None:
            scored[IN_FIT] = marked
        if scores.proba is not None:
            for name, column in zip(self._proba_names(), scores.proba.T, strict=False):
                scored[name] = NumpyColumn(column, bad)
        return found | scored

    def _proba_names(self) -> list[str]:
        """Return the names of the columns of the probabilities, of which the last is not there for every method."""
        names = as_class_names(self.calibrator.inputs_.class_names, self._widths[0])
        last = NO_CLASS_COLUMN if self.calibrator.has_ood_column else MISCLASSIFIED_COLUMN
        return [f"{PROBA}{name}" for name in (*names, last)]


def _spread(values: Any, fill: Any, good: Bools) -> Any:
    """Return values of the good rows at their places among all, and a filling at the others."""
    found = np.full((len(good), *values.shape[1:]), fill, values.dtype)
    found[good] = values
    return found


def prediction_names(label: Column | None, class_names: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Return the names that predictions are written as; None for indices, where the labels beside them are such."""
    if class_names is None or label is None or are_indices(np.array(class_names, dtype=object)):
        return class_names
    values = label.values()
    return None if are_indices(values) and not MISSING.issuperset(as_text(values)) else class_names


def as_classes(prediction: Ints, class_names: Sequence[str] | None, bad: Bools | None = None) -> NumpyColumn:
    """Return predictions as names or indices, none where a row is bad."""
    if class_names is None:
        return NumpyColumn(prediction, bad)
    if not len(prediction):
        return NumpyColumn(np.empty(0, dtype="U1"))  # of which can be told that it is text
    named = np.array(class_names, dtype=object)[prediction]
    if bad is not None:
        named[bad] = None
    return NumpyColumn(named)


def _whole_numbers(column: Column) -> Column:
    """Parse text as integers; return other columns unchanged."""
    try:
        return column.whole_numbers() if column.is_text else column
    except (ValueError, OverflowError) as error:
        raise InvalidInputError(f"the first labels are whole numbers, and then: {error}. Repair these rows.") from error
