"""The scores of a table's batches, beside the columns that are passed through; bad rows are counted."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from auxcal._core.arrays import Bools, Floats, Ints, as_class_names, as_logits, log_of, look_like_probabilities
from auxcal._core.errors import InvalidInputError
from auxcal._core.labels import MISSING, are_indices, as_text
from auxcal.calibrators import CALIBRATORS, Calibrator, ProbaCalibrator
from auxcal.calibrators.fitting import validate_features
from auxcal.tables._column_values import values_of_column
from auxcal.tables._format import Batch, Columns, Source
from auxcal.tables._layout import features_of, logits_of, text_of
from auxcal.tables._usable import Numbers, UsableRows, bad_rows_error, numbers_of, taken, width_of
from auxcal.tables.columns import find_logits
from auxcal.tables.scores import (
    ACCEPTED,
    CONFIDENCE,
    IN_FIT,
    PREDICTION,
    PROBA,
    BadRows,
    Problem,
    RowScores,
    features_for,
    score_rows,
)
from auxcal.tables.spec import TableSpec

Watch: TypeAlias = Callable[[Floats, Floats | None], None]
"""Looks at the logits and the features of a batch."""


class Habits(NamedTuple):
    """What the first rows decide for all others, so that all parts of a table are alike.

    Parameters
    ----------
    class_names : tuple of str or None
        What predictions are written as; None for indices.
    whole_labels : bool
        Whether labels that are text become whole numbers.
    in_fit : bool
        Whether some of the rows were in the fit, so that a column says of each whether it was.
    """

    class_names: tuple[str, ...] | None
    whole_labels: bool
    in_fit: bool = False


class ScoredBatch(NamedTuple):
    """Columns to write, how many rows were read for them, what was bad, and the share of the file that is read."""

    columns: Columns
    rows: int
    bad: BadRows
    done: float | None


class TableScorer:
    """Scores the batches of one table, or of its parts.

    Parameters
    ----------
    calibrator : Calibrator
        A fitted one.
    spec : TableSpec
        Where the logits are, and what becomes of bad rows.
    proba : bool
        Give the calibrated distribution too.
    text : bool
        Whether text can be written.
    """

    def __init__(self, calibrator: Calibrator, spec: TableSpec, *, proba: bool = False, text: bool = True) -> None:
        self.calibrator, self.spec, self._proba = calibrator, spec.known_to(calibrator.inputs_), proba
        self._class_names = calibrator.inputs_.class_names if text else None
        self._label = self.spec.label_name
        self._probabilities = self.spec.as_probabilities
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
        return {name: getattr(self.spec, name) for name in names} | {"proba": self._proba}

    def habits(self, source: Source) -> Habits:
        """Look at the first rows: refuse what can't be meant, and return what they decide."""
        names, further, others = self._layout(source)
        first = next(iter(source.batches((*names, *further), others)))
        marked: list[Bools] = []
        look = partial(self._look, None, marked if self._label in others else None)
        self._check_first(first, names, further, self._score(first, names, further, watch=look))
        return self._habits(first.columns.get(self._label), marked)

    def batches(
        self, source: Source, habits: Habits | None = None, watch: Watch | None = None
    ) -> Generator[ScoredBatch, None, None]:
        """Yield the scores of each batch, and show `watch` its good rows; without habits, the first batch decides."""
        names, further, others = self._layout(source)
        before = 0
        for batch in source.batches((*names, *further), others):
            marked: list[Bools] = []
            look = partial(self._look, watch, marked if self._label in others else None)
            found = self._score(batch, names, further, before, look)
            if habits is None:
                self._check_first(batch, names, further, found)
            habits = habits or self._habits(batch.columns.get(self._label), marked)
            passed = {name: batch.columns[name] for name in others}
            if habits.whole_labels and self._label in passed:
                passed[self._label] = _whole_numbers(passed[self._label])
            columns = self._beside(passed, found, habits, marked[0] if marked else None)
            yield ScoredBatch(columns, len(batch), BadRows.among(found.problems), batch.done)
            before += len(batch)

    def _look(self, watch: Watch | None, marked: list[Bools] | None, logits: Floats, features: Floats | None) -> None:
        """Show good rows to `watch`, and mark those of the fit, if that is asked for and can be told."""
        if watch is not None:
            watch(logits, features)
        if marked is not None and self.calibrator.fit_rows_ is not None:
            marked.append(self.calibrator.fit_rows_.contain(logits, features))

    def _layout(self, source: Source, others: Sequence[str] = ()) -> tuple[tuple[str, ...], tuple[str, ...], list[str]]:
        """Return the columns of the logits, those of the features, which are no others, and those passed through."""
        known, spec = self.calibrator.inputs_, self.spec
        names = find_logits(source.names, spec.columns, known, probabilities=self._probabilities)
        taken = (*names, self._label, *others)
        further = features_for(self.calibrator, source.names, source.matrices, spec.features, taken)
        return names, further, [name for name in source.passable if name not in (*names, *further)]

    def _score(
        self, batch: Batch, names: Sequence[str], further: Sequence[str], before: int = 0, watch: Watch | None = None
    ) -> RowScores:
        logits, features, known, _ = self._numbers(batch, names, further)
        if len(batch):
            self._check_shape(logits, features)
        kind = {"probabilities": self._probabilities, "proba": self._proba}
        found = score_rows(self.calibrator, logits, features, known, **kind)
        if found.problems is not None and self.spec.on_bad_rows == "fail":
            raise bad_rows_error(batch, logits, features, found.problems, before, probabilities=self._probabilities)
        if watch is not None and len(batch):
            good = slice(None) if found.problems is None else found.problems == Problem.NONE
            logits = log_of(logits[good]) if self._probabilities else logits[good]
            watch(logits, None if features is None else features[good])
        return found

    def rows(
        self, source: Source, others: Sequence[str] = (), *, warn: bool = True
    ) -> Iterator[tuple[Batch, Floats, Floats | None]]:
        """Yield batches of good rows with other columns, the logits and the features; at the end, warn of the rest."""
        names, further, _ = self._layout(source, others)
        skip_or_fail: Literal["skip", "fail"] = "skip" if self.spec.on_bad_rows == "skip" else "fail"
        usable = UsableRows(names, further, probabilities=self._probabilities, on_bad_rows=skip_or_fail, warn=warn)
        for place, batch in enumerate(usable.batches(source, (*names, *further), tuple(dict.fromkeys(others)))):
            logits = logits_of(batch.columns, names, probabilities=self._probabilities)
            features = features_of(batch.columns, further, n_rows=len(logits))
            self._check_shape(logits, features)
            if place == 0:
                self._check_kind(logits)
            yield batch, logits, features

    def _numbers(self, batch: Batch, names: Sequence[str], further: Sequence[str]) -> Numbers:
        return numbers_of(batch.columns, names, further, *self._widths, probabilities=self._probabilities)

    @property
    def _widths(self) -> tuple[int, int]:
        return self.calibrator.n_features_in_, self.calibrator.n_further_features_

    def _check_shape(self, logits: Floats, features: Floats | None) -> None:
        """Refuse another number of columns than the calibrator was fitted with."""
        if (logits.shape[1], 0 if features is None else features.shape[1]) != self._widths:
            as_logits(logits[:1], n_classes=self._widths[0])
            validate_features(self.calibrator, features, n_rows=len(logits))

    def _check_first(self, batch: Batch, names: Sequence[str], further: Sequence[str], found: RowScores) -> None:
        """Refuse a table whose first rows are all bad, and probabilities where logits were fitted on."""
        if not len(batch):
            return
        logits, features, known, _ = self._numbers(batch, names, further)
        if found.problems is not None and found.problems.all():
            usual = [width_of(batch.columns, some) for some in (names, further)]
            self._check_shape(*(np.zeros((1, width), np.float32) for width in usual))
            if not known.any():
                logits_of({"": logits}, [""], probabilities=self._probabilities)
            raise bad_rows_error(batch, logits, features, found.problems, 0, probabilities=self._probabilities)
        self._check_kind(logits if found.problems is None else logits[found.problems == Problem.NONE])

    def _check_kind(self, logits: Floats) -> None:
        """Refuse probabilities where logits were fitted on."""
        if not self._probabilities and self.calibrator.inputs_.kind == "logits" and look_like_probabilities(logits):
            raise InvalidInputError(
                "the calibrator was fitted on logits, and these look like probabilities: all numbers are from "
                "0 to 1. Name the columns of the logits with columns (--columns), or fit a "
                "calibrator on probabilities; if it was fitted on log-probabilities, give probabilities=True "
                "(--probabilities)."
            )

    def _habits(self, label: Any, marked: list[Bools]) -> Habits:
        whole = label is not None and _are_whole_numbers(label)
        return Habits(prediction_names(label, self._class_names), whole, any(map(np.any, marked)))

    def _beside(self, passed: dict[str, Any], found: RowScores, habits: Habits, marked: Bools | None) -> Columns:
        """Return what is passed through, and the scores; of a bad row there are none, or it is skipped.

        `marked` says which of the good rows were in the fit.
        """
        bad = None if found.problems is None else found.problems != Problem.NONE
        in_fit = np.zeros(len(found.confidence), dtype=bool)
        if marked is not None:
            in_fit[slice(None) if bad is None else ~bad] = marked
        if bad is not None and self.spec.on_bad_rows == "skip":
            keep = ~bad
            passed = {name: taken(column, keep) for name, column in passed.items()}
            proba = None if found.proba is None else found.proba[keep]
            found, in_fit = RowScores(found.prediction[keep], found.confidence[keep], None, proba), in_fit[keep]
            bad = None
        prediction = as_classes(found.prediction, habits.class_names, bad)
        confidence = found.confidence if bad is None else np.ma.MaskedArray(found.confidence, bad)
        scores = {PREDICTION: prediction, CONFIDENCE: confidence}
        if self.calibrator.certificate_ is not None:
            accepted = self.calibrator.certificate_.accepts(found.confidence)
            scores[ACCEPTED] = accepted if bad is None else np.ma.MaskedArray(accepted, bad)
        if habits.in_fit:
            scores[IN_FIT] = in_fit
        if found.proba is not None:
            for name, column in zip(self._proba_names(), found.proba.T, strict=False):
                scores[name] = column if bad is None else np.ma.MaskedArray(column, bad)
        return passed | scores

    def _proba_names(self) -> list[str]:
        """Return the columns of the distribution: one for each class, then that of the auxiliary class, if any."""
        names = as_class_names(self.calibrator.inputs_.class_names, self.calibrator.n_features_in_)
        last = "no_class" if self.calibrator.has_ood_column else "misclassified"
        return [f"{PROBA}{name}" for name in (*names, last)]


def prediction_names(label: Any, class_names: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Return the names that predictions are written as; None for indices, where the labels beside them are such."""
    if class_names is None or label is None or are_indices(np.array(class_names, dtype=object)):
        return class_names
    values = values_of_column(label)
    return None if are_indices(values) and not MISSING.issuperset(as_text(values)) else class_names


def as_classes(prediction: Ints, class_names: Sequence[str] | None, bad: Bools | None = None) -> Any:
    """Return predictions as names or indices, none where a row is bad."""
    if class_names is None:
        return prediction if bad is None else np.ma.MaskedArray(prediction, bad)
    if not len(prediction):
        return np.empty(0, dtype="U1")  # of which can be told that it is text
    named = np.array(class_names, dtype=object)[prediction]
    if bad is not None:
        named[bad] = None
    return named


def _are_whole_numbers(label: Any) -> bool:
    try:
        return _whole_numbers(label) is not label
    except InvalidInputError:
        return False


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
