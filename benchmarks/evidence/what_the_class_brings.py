"""What the true class of a wrong prediction brings, which CCAC does not look at.

    python -m benchmarks.evidence.what_the_class_brings [CACHE_DIR]

Matrix scaling is fitted twice: on the true classes, and with a random class other than the prediction for every wrong
row of the fit part, which leaves it what CCAC knows: that the prediction is wrong there.
The last two cases need the data of cifar100-resnet56, or its bundles in the cache.
"""

import sys
from pathlib import Path

import numpy as np

import auxcal
from auxcal_paper.bundles import bundle
from auxcal_paper.suites import suite

CASES = (
    ("cifar10-resnet20", "D1"),
    ("cifar10-resnet20", "D2"),
    ("r8-dan", "D1"),
    ("ng18-dan", "D1"),
    ("cifar100-resnet56", "D1"),
    ("cifar100-resnet56", "D2"),
)


def with_random_wrong_classes(part: auxcal.Predictions, random_state: int) -> np.ndarray:
    """Return the classes of a part, with a random one for every wrong prediction."""
    rng = np.random.default_rng(random_state)
    other = (part.prediction + rng.integers(1, part.n_classes, len(part))) % part.n_classes
    return np.where(part.correct, part.y, other)


def main(cache_dir: str = "auxcal-cache", random_state: int = 0) -> None:
    """Print AUROC and Brier score of both fits for each case."""
    for name, shift in CASES:
        entry = suite(name)
        data = bundle(entry, shift, Path("data"), Path(cache_dir) / "bundles")
        fit, _, test = data.split(*entry.parts(len(data)), random_state=random_state)
        for label, y in (
            ("true classes", fit.y),
            ("only that it is wrong", with_random_wrong_classes(fit, random_state)),
        ):
            calibrator = auxcal.MatrixScaling().fit(fit.logits, y)
            scores = auxcal.evaluate(calibrator.predict_confidence(test.logits), test.correct)
            print(f"{name} {shift}, {label}: AUROC {scores['auroc']:.3f}, Brier {scores['brier']:.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
