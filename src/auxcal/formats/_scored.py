"""Files of scores: what `auxcal evaluate` reads, be it from `auxcal score` or from another tool."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from numpy.typing import NDArray

from auxcal._arrays import NO_CLASS, Bools, Floats, Ints, as_confidence
from auxcal._did_you_mean import did_you_mean, some
from auxcal._errors import InputWarning, InvalidInputError
from auxcal.formats._labels import Labels, are_indices, names_in, values_of_column
from auxcal.formats._layout import check_column
from auxcal.formats._predictions import DEFAULT_LABEL
from auxcal.formats._sources import open_source

PREDICTION, CONFIDENCE = "prediction", "confidence"


class Scored(NamedTuple):
    """The rows of a scored file: what the metrics take, and the prediction and true class behind it.

    Where the file has names, `prediction` and `y` are places among the `class_names`.
    """

    confidence: Floats
    correct: Bools
    prediction: Ints
    y: Ints
    class_names: tuple[str, ...] | None = None


def read_scored(
    path: str | os.PathLike[str],
    label: str = DEFAULT_LABEL,
    *,
    prediction: str = PREDICTION,
    confidence: str = CONFIDENCE,
    class_names: Sequence[str] | None = None,
    no_class: Sequence[str] = (),
    unknown_is_no_class: bool = False,
) -> Scored:
    """Read a file of `score_file`, or of another tool, that has the true classes next to the scores.

    Rows without a label are left out, and an `InputWarning` says how many they are. A name that is never predicted
    counts as wrong, and an `InputWarning` says so, unless it is known to be one of the classes or none of them.

    Parameters
    ----------
    path : path
        A file with the columns or arrays `prediction`, `confidence` and `label`; `-` for CSV from standard input.
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

    Returns
    -------
    Scored
        `confidence`, `correct`, `prediction`, `y` and the `class_names`.
    """
    with open_source(path) as source:
        for name, option in ((prediction, "prediction"), (confidence, "confidence")):
            advice = f"Score the file with auxcal score first, or name the column with {option} (--{option})."
            check_column(source.names, name, advice)
        check_column(source.names, label, "Name the column of the true classes with label (--label).")
        rows = source.read((confidence,), tuple(dict.fromkeys((prediction, label))))
        predicted, true = (values_of_column(rows[name]) for name in (prediction, label))
        names = _classes(predicted, true, class_names, prediction, label)
        labels = Labels(label, names, no_class, unknown_is_no_class)
        if class_names is None and names is not None:
            labels = _forgiving(labels, true)
        y, kept = labels.read(true, None if names is None else len(names))
        if y[kept].min() < NO_CLASS:
            raise InvalidInputError(f"{label} must be a class index, or {NO_CLASS} for no class; got {y[kept].min()}.")
        index = Labels(prediction, names).required(predicted)[kept]
        return Scored(as_confidence(rows[confidence])[kept], index == y[kept], index, y[kept], names)


def _classes(
    predicted: NDArray[Any], true: NDArray[Any], class_names: Sequence[str] | None, prediction: str, label: str
) -> tuple[str, ...] | None:
    """Return the names of the classes, those given or those predicted; None where all are indices."""
    if class_names is not None:
        return tuple(class_names)
    indices = are_indices(predicted), are_indices(true)
    if indices[0] != indices[1]:
        which = prediction, label
        raise InvalidInputError(
            f"{which[indices[1]]} holds class indices and {which[indices[0]]} holds names, such as "
            f"{names_in((predicted, true)[indices[0]])[0]!r}. Name the classes in order with class_names "
            f"(--class-names)."
        )
    return None if indices[0] else names_in(predicted)


def _forgiving(labels: Labels, true: NDArray[Any]) -> Labels:
    """Take names that are never predicted for classes that are wrong, and warn of those not said to be no class."""
    predicted = labels.class_names or ()
    known = {*predicted, *labels.no_class, str(NO_CLASS)}
    never = [name for name in names_in(true) if name not in known]
    if len(never) == len(names_in(true)):
        raise InvalidInputError(
            f"{labels.name} must hold the names that are predicted, {some(predicted)}; got {some(never)}. Name the "
            f"column of the true classes with label (--label)."
        )
    if never and not labels.unknown_is_no_class:
        hints = [f"{name!r}{did_you_mean(name, predicted)}" for name in never]
        warnings.warn(
            f"{labels.name} has labels that are never predicted, which count as wrong: {some(hints)}. List all classes "
            f"with class_names (--class-names), or those that are none with no_class (--no-class).",
            InputWarning,
            stacklevel=2,
        )
    return replace(labels, unknown_is_no_class=True)
