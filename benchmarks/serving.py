"""What a confidence costs where a classifier is served: in Python, torch and ONNX, and in real classifiers.

    python -m benchmarks.serving [FOLDER] [DATA]

Runs CCAC-X for ten classes by itself, then a ResNet-20 for CIFAR-10 and a ResNet-50 for ImageNet as ONNX models,
each alone and with CCAC-X attached. Every answer is compared with that of Python first. What counts is CPU time
on one thread, the least of several runs that take turns, since others may use the machine.
Writes serving-rows.csv and serving-classifiers.csv into the folder, docs/figures by default. DATA holds the weights.
Takes five minutes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch
from benchmarks.results import write_table
from benchmarks.speed.data import predictions
from benchmarks.speed.measure import in_turns
from benchmarks.speed.tables import seconds
from torch import nn

from auxcal import CCACX, Calibrator
from auxcal._core.arrays import Floats
from auxcal._core.threads import one_thread
from auxcal.onnx import attach, to_onnx
from auxcal.torch import as_module
from auxcal_paper.classifiers._image_classifier import ImageClassifier, Normalise
from auxcal_paper.classifiers._onnx import _exported
from auxcal_paper.classifiers.cifar_resnet import cifar_resnet
from auxcal_paper.classifiers.resnet50 import imagenet_resnet50
from auxcal_paper.datasets import dataset

N_FIT = 5_000
ROUNDS, SECONDS = 150, 12.0
NOISE = 0.02  # by which two measurements of the same differ

Calls = dict[str, Callable[[], Any]]


def session(model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    """Return the model, ready to run on one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def fitted(n_classes: int) -> Calibrator:
    """Return CCAC-X for some number of classes."""
    data = predictions(N_FIT, n_classes)
    return CCACX(random_state=0).fit(data.logits, data.y)


def least(calls: Calls, times: int) -> dict[str, float]:
    """Return the least CPU time of each call, of which so many are measured at once."""
    together = {name: lambda call=call: [call() for _ in range(times)] for name, call in calls.items()}
    return {name: found.cpu / times for name, found in in_turns(together, ROUNDS, SECONDS).items()}


def of_rows(calibrator: Calibrator, n_rows: int, times: int) -> list[str]:
    """Return what scoring some rows takes in each engine."""
    logits = predictions(n_rows, calibrator.n_features_in_, random_state=1).logits
    tensor, module, model = torch.from_numpy(logits), as_module(calibrator), session(to_onnx(calibrator))
    calls: Calls = {
        "Python": lambda: calibrator.predict_confidence(logits),
        "torch": lambda: module(tensor).numpy(),
        "ONNX": lambda: model.run(["confidence"], {"logits": logits})[0],
    }
    expected = calls["Python"]()
    for call in calls.values():
        np.testing.assert_allclose(call(), expected, atol=1e-5)
    found = least(calls, times)
    return [f"{n_rows:,} row{'s' if n_rows > 1 else ''}", *map(seconds, found.values())]


def of_classifier(name: str, classifier: ImageClassifier, size: int, calibrator: Calibrator, n: int) -> list[str]:
    """Return what a classifier takes for a batch of images alone and with confidence, and what that adds."""
    network = nn.Sequential(Normalise(classifier.mean, classifier.std), classifier.network).eval()
    alone = onnx.load_from_string(_exported(network, (3, size, size)))
    images: Floats = np.random.default_rng(0).random((n, 3, size, size), dtype=np.float32)
    before, after = session(alone), session(attach(alone, calibrator))
    logits, _, confidence = after.run(None, {"inputs": images})
    np.testing.assert_allclose(confidence, calibrator.predict_confidence(logits), atol=1e-5)
    found = least(
        {"alone": lambda: before.run(None, {"inputs": images}), "with": lambda: after.run(None, {"inputs": images})},
        times=max(1, 8 // n),
    )
    added, share = found["with"] - found["alone"], found["with"] / found["alone"] - 1
    more = f"{seconds(added)} ({share:.0%})".replace("%", " %") if share > NOISE else "less than the noise"
    return [f"{name}, {n} image{'s' if n > 1 else ''}", seconds(found["alone"]), seconds(found["with"]), more]


def main(folder: Path = Path("docs/figures"), data: Path = Path("data")) -> None:
    """Measure everything and write both tables."""
    torch.set_num_threads(1)
    ten, thousand = fitted(10), fitted(1000)
    with torch.no_grad(), one_thread():
        rows = [of_rows(ten, 1, 200), of_rows(ten, 100_000, 1)]
        small, large = cifar_resnet(data, 20), imagenet_resnet50(dataset("imagenet-resnet50").path(data))
        networks = [
            *(of_classifier("ResNet-20", small, 32, ten, n) for n in (1, 64)),
            *(of_classifier("ResNet-50", large, 224, thousand, n) for n in (1, 16)),
        ]
    write_table(folder / "serving-rows.csv", ["CCAC-X, 10 classes", "Python", "torch", "ONNX"], rows)
    write_table(folder / "serving-classifiers.csv", ["", "alone", "with CCAC-X", "more"], networks)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
