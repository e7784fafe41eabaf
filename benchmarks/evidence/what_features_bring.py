"""What the classifier's penultimate features bring to CCAC-X: a ResNet-20 on CIFAR-10 under D1 and D2.

    python -m benchmarks.evidence.what_features_bring [FOLDER] [DATA] [CACHE]

The bundles are half as large as those of the suite, 15,000 training and 5,000 test images, with the 64 numbers that
the last linear layer sees. Writes features.csv and features-table.csv into the folder, docs/figures by default, and
keeps the bundles in the cache. Takes some minutes; to measure anew, delete features.csv.
"""

import sys
from functools import partial
from itertools import product
from pathlib import Path

import torch
from benchmarks.results import ResultsFile, paired, write_table
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from auxcal import CCACX, Predictions
from auxcal._core.text import write_score
from auxcal.torch import collect
from auxcal_paper import Results
from auxcal_paper.classifiers._image_classifier import ImageClassifier, Normalise
from auxcal_paper.classifiers.cifar_resnet import cifar_resnet
from auxcal_paper.datasets.cifar10 import load_cifar10
from auxcal_paper.shifts.images import D1, D2
from auxcal_paper.suites._images import augmented

SUITE = "cifar10-resnet20"
SHIFTS = {"D1": D1, "D2": D2}
IMAGES = (15_000, 5_000)
N_FIT, N_TEST = 15_000, 5_000
RANDOM_STATES = (0, 1, 2)
WITHOUT, WITH = "logits", "logits and features"


def collected(shift: str, data_dir: Path, cache: Path) -> Predictions:
    """Return logits and features of augmented images, from the cache if they are there."""
    path = cache / f"{SUITE}-{shift}-features.npz"
    if not path.exists():
        train, test = (load_cifar10(data_dir, part) for part in ("train", "test"))
        images, y = augmented(train, test, IMAGES, SHIFTS[shift], random_state=1)
        loader = DataLoader(TensorDataset(torch.from_numpy(images), torch.from_numpy(y)), batch_size=250)
        cache.mkdir(parents=True, exist_ok=True)
        collect(with_named_layers(cifar_resnet(data_dir, 20)), loader, features="pooled").save(path)
    return Predictions.load(path)


def with_named_layers(classifier: ImageClassifier) -> nn.Sequential:
    """Return the same network as a sequence whose parts have names, so that its last features can be collected."""
    network = classifier.network
    steps = nn.Sequential(Normalise(classifier.mean, classifier.std), network.conv1, network.bn1, nn.ReLU())
    steps.extend([network.layer1, network.layer2, network.layer3])
    steps.add_module("pooled", nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten()))
    steps.add_module("linear", network.linear)
    return steps


def measure(file: ResultsFile, shift: str, data: Predictions, random_state: int) -> None:
    """Measure CCAC-X with and without the features."""
    for method, whole in ((WITHOUT, Predictions(data.logits, data.y)), (WITH, data)):
        where = (SUITE, shift)
        if file.lacks(where, method, random_state, N_FIT):
            fit, test = whole.split(N_FIT, N_TEST, random_state=random_state)
            calibrator = CCACX(random_state=random_state)
            learn = partial(calibrator.fit, fit.logits, fit.y, features=fit.features)
            file.measure(where, method, random_state, N_FIT, learn, test)


def table(results: Results) -> list[list[str]]:
    """Return AUROC, Brier score and ECE with and without, and the difference."""
    rows = []
    for shift, metric in product(SHIFTS, METRICS):
        here = results.where(shift=shift)
        bare, full = here.where(method=WITHOUT), here.where(method=WITH)
        more = paired(full, bare, metric)
        values = [write_score(metric, part.spread(metric).mean) for part in (bare, full)]
        rows.append([f"{shift}: {METRICS[metric]}", *values, f"{1000 * more.mean:+.1f} ± {1000 * more.error:.1f}"])
    return rows


METRICS = {"auroc": "AUROC", "brier": "Brier score", "ece": "ECE"}


def main(folder: str = "docs/figures", data_dir: str = "data", cache: str = "auxcal-cache") -> None:
    """Measure, and write the table."""
    file = ResultsFile(Path(folder) / "features.csv")
    for shift in SHIFTS:
        data = collected(shift, Path(data_dir), Path(cache))
        for random_state in RANDOM_STATES:
            measure(file, shift, data, random_state)
    head = ["", WITHOUT, WITH, "difference × 1,000"]
    write_table(Path(folder) / "features-table.csv", head, table(file.results))


if __name__ == "__main__":
    main(*sys.argv[1:])
