"""The paper's own VGG16 on the clean test images of CIFAR-10, beside ours.

    python -m benchmarks.evidence.paper_vgg16 CIFAR_PROBS

CIFAR_PROBS is data/cifar_probs.dat of github.com/p-lambda/verified_calibration (MIT), at commit ee81c34: the
probabilities that the VGG16 of geifmany/cifar-vgg, which the paper names, gives on the 10,000 images, and their
classes, published by Kumar et al. with scaling-binning. Splits, methods and random states are those of D0 in
docs/results/cifar10-vgg16.csv, which has the numbers of ours. Writes docs/figures/paper-vgg16.csv; takes a minute.
"""

import pickle
import sys
from pathlib import Path

import numpy as np
from benchmarks.results import write_table

from auxcal import Predictions, evaluate
from auxcal._core.text import percent, write_score
from auxcal_paper import METHODS, Results
from auxcal_paper.pages.claims import PAPER_METHODS
from auxcal_paper.results import spread
from auxcal_paper.suites import suite

DOCS = Path(__file__).parents[2] / "docs"
NAMES = (*PAPER_METHODS[:6], "ccac-x")
SHOWN, RANDOM_STATES = ("auroc", "ece", "brier"), (0, 1, 2)


class ArraysOnly(pickle.Unpickler):
    """Reads a pickle of NumPy arrays; anything else in it is an error."""

    def find_class(self, module: str, name: str) -> object:
        """Return what makes an array."""
        if (module.replace("numpy.core", "numpy._core"), name) == ("numpy._core.multiarray", "_reconstruct"):
            return np._core.multiarray._reconstruct
        if (module, name) in (("numpy", "ndarray"), ("numpy", "dtype")):
            return getattr(np, name)
        if (module, name) == ("_codecs", "encode"):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name} is no array")


def published(path: Path) -> Predictions:
    """Return the published probabilities, as logits."""
    with path.open("rb") as file:
        probabilities, classes = ArraysOnly(file).load()
    return Predictions(np.log(np.maximum(probabilities, np.finfo(np.float32).tiny)), np.ravel(classes).astype(np.int64))


def main(path: Path) -> None:
    """Write both networks side by side."""
    whole = published(path)
    scores: dict[str, list[dict[str, float]]] = {name: [] for name in NAMES}
    for state in RANDOM_STATES:
        fit, select, test = whole.split(*suite("cifar10-vgg16").parts(len(whole)), random_state=state)
        for name in NAMES:
            fitted = METHODS[name].make(state).fit(fit.logits, fit.y, select=(select.logits, select.y))
            scores[name].append(evaluate(fitted.predict_confidence(test.logits), test.correct))
    ours = Results.read(DOCS / "results/cifar10-vgg16.csv").where(shift="D0")
    accuracy = percent(float(whole.correct.mean())), percent(spread([row.accuracy for row in ours]).mean)
    rows = []
    for name in NAMES:
        row = [METHODS[name].label]
        for metric in SHOWN:
            row.append(write_score(metric, spread([each[metric] for each in scores[name]]).mean))
            row.append(write_score(metric, ours.where(method=name).spread(metric).mean))
        rows.append(row)
    heads = [f"{head}, {whose}" for head in ("AUROC", "ECE", "Brier") for whose in ("the paper's", "ours")]
    write_table(DOCS / "figures" / "paper-vgg16.csv", [f"right in {' and '.join(accuracy)}", *heads], rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
