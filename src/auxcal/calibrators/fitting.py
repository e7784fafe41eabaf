"""What a fit learns from: accepted rows and features, the select part, hyper-parameters; what it keeps of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from auxcal._core.arrays import Bools, Floats, check_spread, check_total
from auxcal._core.errors import InvalidInputError
from auxcal._core.state import check_learned
from auxcal.inputs import LogitInputs, check_features, warn_of_probabilities
from auxcal.metrics import METRICS
from auxcal.predictions import Predictions
from auxcal.reference import Reference, confidence_of_strata, describe_groups, large_groups, repeated, sample_rows
from auxcal.splits import row_hashes

if TYPE_CHECKING:
    from auxcal.calibrators.base import Calibrator

LARGEST = 1e9
"""The largest weight of a term in a loss; far beyond it float32 overflows."""

MOST_HASHES = 16_384
"""Hashes that are kept, the lowest ones: 64 KB of a file. After a larger fit, only rows whose hash is as low can be
told to be in it or not; since hashes are as good as random, their share is that of all rows."""

MOST_REPEATED = 0.02
"""The share of rows that may be copies of others. Up to it they make no difference; above it, new rows may equal old
ones by chance, and none is recognised. No script chose it."""

SelectBy = Literal["ece", "brier", "nll"]

SelectPart: TypeAlias = tuple[ArrayLike, ArrayLike] | tuple[ArrayLike, ArrayLike, ArrayLike | None] | Predictions
"""(logits, y), or (logits, y, features), or all that Predictions have."""


def rows_to_fit(calibrator: Calibrator, data: Predictions) -> Predictions:
    """Return the rows with a weight above 0, and reject features and weights that the method can't use."""
    check_spread(data.logits)
    if data.features is not None:
        check_uses_features(calibrator)
    if data.sample_weight is not None:
        if not calibrator.uses_weights:
            raise InvalidInputError(
                f"{type(calibrator).__name__} counts every row once; got sample_weight. Leave it out, or use one of "
                f"auxcal's own methods. If this one is yours: count data.sample_weight, and set uses_weights = True."
            )
        check_total(data.sample_weight)
    return data.counted()


def check_uses_features(calibrator: Calibrator) -> None:
    """Reject features if the method uses logits only."""
    if not calibrator.uses_features:
        from auxcal.calibrators import CALIBRATORS

        others = [f"{kind.__name__} ({name})" for name, kind in CALIBRATORS.items() if kind.uses_features]
        raise InvalidInputError(
            f"{type(calibrator).__name__} reads logits alone; got features too. Leave features out, or use a method "
            f"that uses them: {', '.join(others)}."
        )


def validate_features(calibrator: Calibrator, features: ArrayLike | None, n_rows: int) -> Floats | None:
    """Check the features of rows to score: as many as in the fit, or none."""
    if features is not None:
        check_uses_features(calibrator)
    return check_features(features, n_rows=n_rows, n_features=calibrator.n_further_features_)


def features_for(calibrator: Calibrator, data: Predictions) -> Floats | None:
    """Return the features of the data if the calibrator uses them; those of a table as its fit made numbers of them."""
    if not calibrator.uses_features or data.features is None:
        return None
    table = calibrator.inputs_.feature_table
    return table.fill(data.features) if table and data.inputs.needs_numbers else data.features


def as_select(select: SelectPart, data: Predictions) -> Predictions:
    """Check the select part, which must be of the same target classifier as the fit part."""
    part = select if isinstance(select, Predictions) else _predictions(select, data)
    if part.n_classes != data.n_classes:
        raise InvalidInputError(
            f"select: the logits of the select part must have {data.n_classes} columns as those of the fit part; got "
            f"{part.n_classes}. Use the same target classifier for both."
        )
    part = part.in_order_of(data.inputs, "select")
    warn_of_probabilities(part.inputs.kind, part.logits, stacklevel=4)
    if part.inputs.raw_table and data.inputs.raw_table:
        part = part.recoded(data)
    elif part.inputs.raw_table and (table := data.inputs.feature_table):
        raw = data._with(inputs=replace(data.inputs, raw_table=table.columns))
        part = part._with(features=table.fill(np.asarray(part.recoded(raw).features)), inputs=data.inputs)
    if part.n_features != data.n_features:
        raise InvalidInputError(
            f"select: the select part must have {data.n_features} features of each sample as the fit part; got "
            f"{part.n_features}. Give features=features and select=(logits, y, features), or neither."
        )
    return part.counted()


def _predictions(select: Any, data: Predictions) -> Predictions:
    """Return the rows of the select part, of the same kind as the fit part, columns taken by name."""
    inputs = data.inputs
    if not isinstance(inputs, LogitInputs) or not isinstance(select, tuple | list) or len(select) not in (2, 3):
        raise InvalidInputError(
            f"select must be a pair (logits, y), with features a triple (logits, y, features); got "
            f"{type(select).__name__}. Give select=(select_logits, select_y)."
        )
    features = inputs.as_features(select[2]) if len(select) == 3 else None
    try:
        logits = inputs.ordered(select[0], data.n_classes)
        labels: dict[str, Any] = {"class_names": inputs.names, "no_class": inputs.no_class}
        return Predictions(logits, select[1], features, probabilities=inputs.kind == "probabilities", **labels)
    except InvalidInputError as error:
        raise InvalidInputError(f"select: {error}") from None


def all_rows(calibrator: Calibrator, data: Predictions, select: Predictions | None) -> Predictions:
    """Return the rows of both parts together, for a method that holds each of them out once."""
    if select is not None:
        if (data.groups is None) != (select.groups is None):
            raise InvalidInputError(
                "the rows of the select part are used like the others, so both parts must have groups or neither; got "
                "them for one. Give select=Predictions(logits, y, groups=groups)."
            )
        data = data.joined(select)
    if data.n_units < 2:
        what = "rows" if data.groups is None else "groups"
        raise InvalidInputError(
            f"{type(calibrator).__name__} holds {what} out in turn, and so needs at least 2 {what}; got {data.n_units} "
            f"(n_samples=1). Give more rows."
        )
    return data


def reference_of(calibrator: Calibrator, data: Predictions) -> Reference:
    """Return the reference of a calibrator that has just been fitted on the data.

    On rows that it was fitted on a calibrator is a little overconfident, so out-of-fold probabilities are preferred.
    But if a row occurs several times, the final fit, which new rows meet, and those of the folds each give it one
    value: rows with this value would differ from new ones, all by the same amount, and that would pass for a change.
    """
    kept, held_out = sample_rows(data, calibrator._n_strata, calibrator.read), calibrator._held_out
    part = data.take(kept)
    hashes = row_hashes(part.logits, part.features)
    strata = np.empty((len(part), calibrator._n_strata), dtype=np.float16)
    scored = np.ones(len(part), dtype=bool)
    if held_out is not None:
        scored = repeated(hashes)
        strata[~scored] = held_out[kept[~scored]]
    if scored.any():
        features = None if part.features is None else part.features[scored]
        strata[scored] = calibrator.strata(part.logits[scored], features)
    reference = Reference.of(data, part, calibrator.read(part.logits, part.features), strata, hashes)
    groups = large_groups(data.groups)
    if not groups:
        return reference
    rows = data.logits, data.features
    if held_out is None:
        confidence, strata = calibrator.score_validated(*rows), calibrator.strata(*rows)
    else:
        confidence, strata = confidence_of_strata(held_out, data.prediction, data.n_classes), held_out
    return describe_groups(reference, groups, data, calibrator.read(*rows), confidence, strata)


def select_score(select_by: SelectBy, confidence: Floats, select: Predictions) -> float:
    """Return how good a confidence is on the select part; less is better."""
    check_select_by(select_by)
    return METRICS[select_by].function(confidence, select.correct, sample_weight=select.sample_weight)


def check_select_by(select_by: SelectBy) -> None:
    """Reject an unknown score."""
    if select_by not in get_args(SelectBy):
        raise InvalidInputError(
            f"select_by must be one of {', '.join(map(repr, get_args(SelectBy)))}; got {select_by!r}. "
            f"The paper uses 'ece'."
        )


def as_candidates(value: float | Sequence[float], name: str) -> tuple[float, ...]:
    """Return a fixed number or the numbers to search as a tuple."""
    try:
        numbers = np.atleast_1d(np.asarray(value))
    except ValueError:
        numbers = np.empty(0)
    if numbers.ndim != 1 or not len(numbers) or numbers.dtype.kind not in "iuf":
        raise InvalidInputError(
            f"{name} must be a number, which fixes it, or a sequence of numbers to choose from; got {value!r}."
        )
    if not ((numbers >= 0) & (numbers <= LARGEST)).all():
        raise InvalidInputError(f"{name} must be from 0 to {LARGEST:.0e}; got {value!r}. It weighs a term of the loss.")
    return tuple(float(number) for number in numbers)


def as_strength(value: float, name: str) -> float:
    """Return one number that is at least 0."""
    numbers = as_candidates(value, name)
    if np.ndim(value) != 0:
        raise InvalidInputError(f"{name} must be one number, since nothing is searched here; got {value!r}.")
    return numbers[0]


class FitRows(NamedTuple):
    """Hashes of the rows of a fit, in ascending order."""

    hashes: NDArray[np.uint32]

    @classmethod
    def of(cls, data: Predictions) -> FitRows | None:
        """Return the rows of a fit; None where so many repeat that equal rows are not the same ones."""
        hashes = np.unique(_row_hashes(data.logits, data.features))
        return cls(hashes[:MOST_HASHES]) if len(hashes) >= (1 - MOST_REPEATED) * len(data) else None

    def contain(self, logits: Floats, features: Floats | None) -> tuple[Bools, Bools]:
        """Return which rows were in the fit, and of which that is known: all of them, unless the fit was larger."""
        found = _row_hashes(logits, features)
        known = np.ones(len(found), bool) if len(self.hashes) < MOST_HASHES else found <= self.hashes[-1]
        return np.isin(found, self.hashes), known

    def share(self, logits: Floats, features: Floats | None) -> float | None:
        """Return the share of rows that were in the fit, of those of which that is known; None if there are none."""
        marked, known = self.contain(logits, features)
        return float(np.mean(marked[known])) if known.any() else None

    def joined(self, other: FitRows | None) -> FitRows:
        """Return the rows of both."""
        return self if other is None else FitRows(np.union1d(self.hashes, other.hashes)[:MOST_HASHES])

    def check(self) -> None:
        """Validate saved state."""
        check_learned({"hashes": ("n",)}, self._asdict(), {})


def _row_hashes(logits: Floats, features: Floats | None) -> NDArray[np.uint32]:
    """Return the upper half of the hash of each row."""
    return (row_hashes(logits, features) >> np.uint64(32)).astype(np.uint32)
