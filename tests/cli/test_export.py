"""auxcal export writes a calibrator as ONNX, alone or into its classifier, or says in a sentence why not."""

import json

import numpy as np
import pytest

import auxcal

pytestmark = pytest.mark.needs("experiments")


@pytest.fixture
def folder(rows, tmp_path, monkeypatch):
    import onnx

    monkeypatch.chdir(tmp_path)
    logits, y = rows
    auxcal.TemperatureScaling().fit(logits, y).save("ts.safetensors")
    text = '<ir_version: 8, opset_import: ["": 18]> net (float[n, 3] x) => (float[n, 3] z, float[n, 3] other)'
    onnx.save(onnx.parser.parse_model(text + " { z = Neg(x) other = Abs(x) }"), "classifier.onnx")
    return tmp_path


def run(path, **inputs):
    import onnxruntime

    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, inputs)


def test_a_calibrator_alone(folder, call, capsys, rows):
    assert call("export", "ts.safetensors", "-o", "ts.onnx") == 0
    assert capsys.readouterr().out == "TS as ONNX: logits → prediction, confidence. Saved: ts.onnx\n"
    logits = rows[0].astype(np.float32)
    _, confidence = run("ts.onnx", logits=logits)
    np.testing.assert_allclose(confidence, auxcal.load("ts.safetensors").predict_confidence(logits), atol=1e-5)


def test_a_calibrator_in_its_classifier(folder, call, capsys, rows):
    assert call("export", "ts.safetensors", "--into", "classifier.onnx", "--output", "z", "-o", "c.onnx", "--json") == 0
    assert json.loads(capsys.readouterr().out)["outputs"] == ["z", "other", "prediction", "confidence"]
    z, _, prediction, _ = run("c.onnx", x=rows[0].astype(np.float32))
    np.testing.assert_array_equal(prediction, z.argmax(axis=1))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["ts.safetensors", "-o", "ts.pt"], "an ONNX model is a .onnx file. Save it as ts.onnx."),
        (["none.safetensors", "-o", "ts.onnx"], "No such file or directory: none.safetensors"),
        (["ts.safetensors", "-o", "ts.onnx", "--output", "z"], "give it with --into"),
        (["ts.safetensors", "-o", "ts.onnx", "--into", "classifier.onnx"], "has 2 outputs: z, other"),
        (["ts.safetensors", "-o", "ts.onnx", "--into", "ts.safetensors"], "expected an ONNX model"),
        (["ts.safetensors", "-o", "nowhere/ts.onnx"], "the folder 'nowhere' does not exist"),
    ],
)
def test_what_can_not_be_done_is_a_sentence_and_no_file(folder, call, capsys, arguments, sentence):
    assert call("export", *arguments) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert line.startswith("auxcal: ")
    assert sentence in line
    assert sorted(path.name for path in folder.iterdir()) == ["classifier.onnx", "ts.safetensors"]
