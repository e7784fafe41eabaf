"""The way of someone who has a torch module: collect, fit, a module with confidence, a saved program, one ONNX file."""

import io
import subprocess
import sys
import warnings

import numpy as np
import onnx
import onnxruntime
import torch
from torch import nn

from auxcal import CCACX, NO_CLASS
from auxcal.onnx import attach
from auxcal.torch import collect, with_confidence


def a_classifier():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5)).eval()


def labelled_batches(classifier):
    generator = torch.Generator().manual_seed(0)
    for _ in range(5):
        images = 3 * torch.randn(100, 3, 8, 8, generator=generator)
        y = classifier(images).argmax(dim=1)
        y[:30] = NO_CLASS
        y[30:40] = 0
        yield images, y


def as_onnx(classifier):
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # this exporter needs no further package, and torch calls it old
        torch.onnx.export(
            classifier,
            (torch.zeros(2, 3, 8, 8),),
            file,
            input_names=["images"],
            output_names=["logits"],
            dynamic_axes={"images": {0: "n"}},
            dynamo=False,
        )
    return onnx.load_from_string(file.getvalue())


def test_from_a_module_to_a_program_and_to_one_onnx_file(tmp_path):
    classifier = a_classifier()
    predictions = collect(classifier, list(labelled_batches(classifier)), features="2")
    calibrator = CCACX(random_state=0).fit(predictions.logits, predictions.y, features=predictions.features)

    confident = with_confidence(classifier, calibrator, features="2")
    images = torch.randn(7, 3, 8, 8)
    with torch.no_grad():
        scored = confident(images)
    new = collect(classifier, [(images, torch.zeros(7, dtype=torch.int64))], features="2")
    expected = calibrator.predict_confidence(new.logits, new.features)
    np.testing.assert_allclose(scored.confidence, expected, atol=1e-5)

    n = torch.export.Dim("n")
    program = torch.export.export(confident, (images,), dynamic_shapes=({0: n},))
    torch.export.save(program, tmp_path / "confident.pt2")
    torch.save(images, tmp_path / "images.pt")
    served = run_without_auxcal(tmp_path)
    np.testing.assert_allclose(served, expected, atol=1e-5)

    model = attach(as_onnx(classifier), calibrator, features=tensor_of(as_onnx(classifier), "GlobalAveragePool"))
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    logits, prediction, confidence = session.run(None, {"images": images.numpy()})
    np.testing.assert_allclose(logits, scored.logits, atol=1e-5)
    np.testing.assert_array_equal(prediction, scored.prediction)
    np.testing.assert_allclose(confidence, expected, atol=1e-4)  # another engine's logits differ in the last bits


def run_without_auxcal(folder):
    """Load the program in a process that has never seen the library, and return the confidences."""
    code = (
        "import sys, torch\n"
        "program = torch.export.load('confident.pt2').module()\n"
        "logits, prediction, confidence = program(torch.load('images.pt'))\n"
        "torch.save(confidence.detach(), 'confidence.pt')\n"
        "assert not any(name.startswith('auxcal') for name in sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=folder, check=True)
    return torch.load(folder / "confidence.pt")


def tensor_of(model, operator):
    return next(node.output[0] for node in model.graph.node if node.op_type == operator)
