"""The labels of a scikit-learn classifier as class indices."""

from __future__ import annotations

import numpy as np

from auxcal._core.arrays import NO_CLASS, Bools, Ints
from auxcal._core.errors import InvalidInputError
from auxcal._core.labels import is_missing
from auxcal.integrations.sklearn._logits import Labels


def check_labelled(y: Labels) -> None:
    """Reject rows without a label."""
    missing = [row for row, label in enumerate(y.tolist()) if is_missing(label)] if y.dtype.kind == "O" else []
    if missing:
        raise InvalidInputError(
            f"y must have a label in every row; got nothing in row {missing[0]} ({len(missing)} such rows). Leave "
            f"those rows out."
        )


def indices_of(y: Labels, classes: Labels, has_class: Bools) -> Ints:
    """Return the index of each row's class, or `NO_CLASS`."""
    index = {label: i for i, label in enumerate(classes.tolist())}
    unknown = sorted({str(label) for label in y[has_class].tolist() if label not in index})
    if unknown:
        raise InvalidInputError(
            f"y must hold the estimator's classes, {', '.join(map(str, index))}; got {', '.join(unknown[:5])} too. If "
            f"these samples have none of the classes, give all of them one label, and that label as no_class."
        )
    return np.array([index[label] if known else NO_CLASS for label, known in zip(y.tolist(), has_class, strict=True)])
