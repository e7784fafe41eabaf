"""What the suites of documents share: one trained classifier, asked for the logits of any documents."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path

from auxcal.experiments.classifiers.dan import TextClassifier

Report = Callable[[int, int], None]
Train = Callable[[Path, Report], TextClassifier]


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
