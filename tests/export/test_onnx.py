"""A calibrator as an ONNX model, alone or at the end of a classifier's."""

import subprocess
import sys

import numpy as np
import onnx
import pytest

from auxcal import FileFormatError, InvalidInputError, NotFittedError, PlattScaling
from auxcal._version import VERSION
from auxcal.onnx import attach, to_onnx

from .conftest import fitted, rng_features, rows, session

HEAD = '<ir_version: {ir}, opset_import: ["": {opset}]>'
LINEAR = HEAD + "linear (float[n, 5] x) => (float[n, 5] {out}) {{ {out} = Neg(x) }}"


def classifier(text=LINEAR, *, ir=8, opset=18, out="logits"):
    return onnx.parser.parse_model(text.format(ir=ir, opset=opset, out=out))


def names(values):
    return [value.name for value in values]


def test_a_model_says_what_it_is_and_passes_the_checks_of_onnx():
    model = to_onnx(fitted("ccac-x", 5, 3))
    onnx.checker.check_model(model, full_check=True)
    assert names(model.graph.input) == ["logits", "features"]
    assert {each.domain for each in model.opset_import} == {""}
    facts = {each.key: each.value for each in model.metadata_props}
    assert facts["auxcal.method"] == "CCAC-X"
    assert facts["auxcal.version"] == VERSION
    assert (facts["auxcal.classes"], facts["auxcal.features"]) == ("5", "3")


def test_ccac_x_stays_a_small_graph():
    model = to_onnx(fitted("ccac-x", 10))
    assert len(model.graph.node) <= 200
    assert model.ByteSize() < 20_000


def test_torch_is_not_needed():
    code = (
        "import sys, auxcal, auxcal.onnx\n"
        "fitted = auxcal.PlattScaling().fit([[2.0, 0.0], [0.0, 1.0], [3.0, 0.0]] * 2, [0, 1, 0, 0, 1, 1])\n"
        "auxcal.onnx.to_onnx(fitted)\n"
        "print('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"


def test_an_unfitted_one_refuses():
    with pytest.raises(NotFittedError):
        to_onnx(PlattScaling())


@pytest.mark.parametrize(("ir", "opset"), [(3, 9), (7, 13), (8, 17), (8, 18), (10, 21)])
def test_attached_to_a_classifier_of_any_opset(platt, ir, opset):
    before = classifier(ir=ir, opset=opset)
    text = before.SerializeToString()
    model = attach(before, platt)
    onnx.checker.check_model(model, full_check=True)
    x, _ = rows(20, 5, 1)
    logits, prediction, confidence = session(model).run(["logits", "prediction", "confidence"], {"x": x})
    np.testing.assert_array_equal(prediction, logits.argmax(axis=1))
    np.testing.assert_allclose(confidence, platt.predict_confidence(logits), atol=1e-5)
    assert before.SerializeToString() == text


def test_attached_to_a_file(platt, tmp_path):
    onnx.save(classifier(), tmp_path / "classifier.onnx")
    assert attach(tmp_path / "classifier.onnx", platt) == attach(classifier(), platt)


def test_names_that_are_taken_get_a_prefix(platt):
    twice = attach(attach(classifier(out="confidence"), platt), platt, output="confidence")
    assert names(twice.graph.output) == [
        "confidence",
        "prediction",
        "auxcal_confidence",
        "auxcal_prediction",
        "auxcal_auxcal_confidence",
    ]
    session(twice)


def test_logits_in_half_precision_are_scored_in_single(platt):
    half = "half (float16[n, 5] x) => (float16[n, 5] {out}) {{ {out} = Neg(x) }}"
    x = rows(20, 5, 1)[0].astype(np.float16)
    logits, prediction, confidence = session(attach(classifier(HEAD + half), platt)).run(None, {"x": x})
    np.testing.assert_array_equal(prediction, logits.argmax(axis=1))
    np.testing.assert_allclose(confidence, platt.predict_confidence(logits.astype(np.float32)), atol=1e-5)


def test_logits_before_a_softmax_are_taken_by_name(platt):
    text = HEAD + "net (float[n, 5] x) => (float[n, 5] {out}) {{ z = Neg(x) {out} = Softmax(z) }}"
    model = classifier(text, out="proba")
    with pytest.raises(InvalidInputError, match=r"a Softmax makes of 'z'\. Give output='z'"):
        attach(model, platt)
    attached = attach(model, platt, output="z")
    assert names(attached.graph.output) == ["proba", "z", "prediction", "confidence"]
    x, _ = rows(20, 5, 1)
    (confidence,) = session(attached).run(["confidence"], {"x": x})
    np.testing.assert_allclose(confidence, platt.predict_confidence(-x), atol=1e-5)


def test_features_come_from_an_inner_tensor():
    calibrator = fitted("ccac-x", 5, 6)
    inputs = "float[n, 5] x, float[n, 2, 3] seen"
    text = f"net ({inputs}) => (float[n, 5] {{out}}) {{{{ {{out}} = Neg(x) inner = Abs(seen) }}}}"
    attached = attach(classifier(HEAD + text), calibrator, features="inner")
    (x, _), seen = rows(20, 5, 1), rng_features(20, 6)
    (confidence,) = session(attached).run(["confidence"], {"x": x, "seen": seen.reshape(20, 2, 3)})
    np.testing.assert_allclose(confidence, calibrator.predict_confidence(-x, np.abs(seen)), atol=1e-5)


def test_a_classifier_that_does_not_fit_is_explained(platt, tmp_path):
    two = HEAD + "net (float[n, 5] x) => (float[n, 5] {out}, float[n, 5] other) {{ {out} = Neg(x) other = Abs(x) }}"
    four = HEAD + "net (float[n, 5, 1, 1] x) => (float[n, 5, 1, 1] {out}) {{ {out} = Neg(x) }}"
    whole = HEAD + "net (int64[n, 5] x) => (int64[n, 5] {out}) {{ {out} = Neg(x) }}"
    for attempt, message in [
        (lambda: attach(classifier(two), platt), "the classifier has 2 outputs: logits, other"),
        (lambda: attach(classifier(), platt, output="logit"), "got 'logit'. Did you mean 'logits'"),
        (lambda: attach(classifier(four), platt), r"shape \(n, 5\).*'logits' is float of shape \(n, 5, 1, 1\)"),
        (lambda: attach(classifier(whole), platt), "is int64"),
        (lambda: attach(classifier(), fitted("platt", 4)), r"of shape \(n, 4\).*of shape \(n, 5\)"),
        (lambda: attach(classifier(), fitted("ccac-x", 5, 3)), "features must name the tensor of the 3 features"),
        (lambda: attach(classifier(), platt, features="x"), "features must be left out"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            attempt()
    (tmp_path / "bad.onnx").write_text("no model")
    with pytest.raises(FileFormatError, match="expected an ONNX model"):
        attach(tmp_path / "bad.onnx", platt)
    with pytest.raises(FileNotFoundError):
        attach(tmp_path / "none.onnx", platt)
