"""What the suites of documents share: one trained classifier for all shifts, and documents with errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from auxcal._core.arrays import Ints
from auxcal._core.errors import InvalidInputError
from auxcal._core.progress import Report
from auxcal.predictions import Predictions
from auxcal_paper.datasets._documents import Documents, class_map
from auxcal_paper.shifts.mixtures import Mixture
from auxcal_paper.shifts.text import TextNoise

if TYPE_CHECKING:  # torch is imported when a bundle must be built, not to name the suites
    from auxcal_paper.classifiers.dan import TextClassifier

Train: TypeAlias = "Callable[[Path, Report], TextClassifier]"
Labelled: TypeAlias = tuple[list[str], Ints]


def clean(test: Documents, classes: Sequence[str]) -> Labelled:
    """Return the test documents as they are, and the class of each."""
    return list(test.texts), test.y(classes)


def noisy(
    train: Documents,
    test: Documents,
    classes: Sequence[str],
    sizes: tuple[int, int],
    rng: np.random.Generator,
) -> Labelled:
    """Draw training and test documents, add errors to them, and return the class of each."""
    index = class_map(classes)
    mixed = Mixture(sizes, (index, index))((train.topics, test.topics), rng)
    return TextNoise()(mixed.take(train.texts, test.texts), rng), mixed.y


def builder(
    shifts: Mapping[str, Callable[[Path], Labelled]], classifier: Train
) -> Callable[[str, Path, Report], Predictions]:
    """Return a suite's `build`: the logits of the classifier on the documents of a shift."""

    def build(shift: str, data_dir: Path, report: Report) -> Predictions:
        if shift not in shifts:
            raise InvalidInputError(f"shift must be one of {', '.join(shifts)}; got {shift!r}.")
        texts, y = shifts[shift](data_dir)
        return Predictions(classifier(data_dir, report).logits(texts), y)

    return build


def trained_once(train: Train) -> Train:
    """Remember the classifier of each data folder, so that the shifts of a suite share one training."""
    known: dict[Path, TextClassifier] = {}

    @wraps(train)
    def remembering(data_dir: Path, report: Report) -> TextClassifier:
        key = Path(data_dir).resolve()
        if key not in known:
            known[key] = train(data_dir, report)
        return known[key]

    return remembering
