"""A calibrator as a torch module does what modules do, and Python's scoring refuses to be traced."""

import copy
import io
import pickle
import shutil
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from auxcal import CALIBRATORS, Calibrator, InvalidInputError, NotFittedError, PlattScaling
from auxcal.torch import Scored, as_module, with_confidence

from .conftest import fitted, rows, session

pytestmark = pytest.mark.usefixtures("quick_training")


def given(n, k=5):
    return torch.tensor(rows(n, k, 1)[0])


@pytest.mark.parametrize("name", CALIBRATORS)
def test_every_module_compiles_in_one_graph_for_any_batch(name):
    torch._dynamo.reset()  # it compiles a line of code only for so many modules
    calibrator = fitted(name, 5)
    compiled = torch.compile(as_module(calibrator), backend="aot_eager", fullgraph=True, dynamic=True)
    for n in (7, 20):
        confidence = compiled(given(n)).numpy()
        np.testing.assert_allclose(confidence, calibrator.predict_confidence(given(n)), atol=1e-5)


@pytest.mark.filterwarnings("ignore")  # of torch's own code
@pytest.mark.skipif(shutil.which("g++") is None, reason="torch compiles with g++")
def test_the_compiler_of_torch_gives_the_same_for_any_batch():
    torch._dynamo.reset()
    calibrator = fitted("ccac-x", 5)  # it has the most kinds of operations, and each method takes long to compile
    compiled = torch.compile(with_confidence(nn.Identity(), calibrator), dynamic=True)  # the default backend, inductor
    for n in (7, 20):
        scored = compiled(given(n))
        assert torch.equal(scored.prediction, given(n).argmax(dim=1))
        np.testing.assert_allclose(scored.confidence, calibrator.predict_confidence(given(n)), atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_exported_it_takes_any_batch_in_any_precision(platt, dtype):
    rows = {0: torch.export.Dim("rows", min=1)}
    program = torch.export.export(as_module(platt), (given(3).to(dtype),), dynamic_shapes=(rows,)).module()
    for n in (1, 7, 1000):
        logits = given(n).to(dtype)
        expected = platt.predict_confidence(logits.float())
        assert program(logits).dtype == torch.float32
        np.testing.assert_allclose(program(logits), expected, atol=1e-5)


def test_exported_under_autocast_the_confidence_stays_in_single(platt):
    module, x = with_confidence(nn.Linear(4, 5), platt), torch.randn(3, 4)
    rows = torch.export.Dim("rows")
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        program = torch.export.export(module, (x,), dynamic_shapes=({0: rows},))
        logits, _, confidence = program.module()(torch.randn(9, 4))
    assert (logits.dtype, confidence.dtype) == (torch.bfloat16, torch.float32)
    np.testing.assert_allclose(confidence, platt.predict_confidence(logits.float()), atol=1e-5)


@pytest.mark.parametrize("name", ["ccac-x", "matrix"])
def test_precision_stays_whatever_surrounds_the_module(name):
    calibrator = fitted(name, 5)
    module, logits = as_module(calibrator), given(50)
    expected = module(logits)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(module(logits), expected)
        assert torch.equal(module(logits.bfloat16()), module(logits.bfloat16().float()))
    assert torch.equal(copy.deepcopy(module).half()(logits), expected)
    assert torch.equal(copy.deepcopy(module).double()(logits), expected)
    assert module(logits.half()).dtype == torch.float32


def test_fitted_numbers_are_buffers():
    module, other = as_module(fitted("platt", 5)), as_module(fitted("platt", 5, scheme="top-label"))
    assert not list(module.parameters())
    other.program.slope *= 2
    assert not torch.equal(other(given(9)), module(given(9)))
    other.load_state_dict(module.state_dict())
    assert torch.equal(other(given(9)), module(given(9)))
    assert {buffer.device.type for buffer in module.to("meta").buffers()} == {"meta"}


def test_copies_and_pickles_are_the_same(platt):
    module = as_module(platt)
    for same in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert torch.equal(same(given(9)), module(given(9)))


def test_gradients_reach_the_logits(platt):
    logits = given(4).requires_grad_()
    as_module(platt)(logits).sum().backward()
    assert logits.grad.abs().sum() > 0


def test_inputs_that_do_not_fit_are_explained(platt):
    module, featured = as_module(platt), as_module(fitted("ccac-x", 5, 3))
    for attempt, message in [
        (lambda: module(torch.zeros(2, 4)), r"logits must have shape \(n, 5\).*got shape \(2, 4\)"),
        (lambda: module(torch.zeros(5)), r"got shape \(5,\)"),
        (lambda: module(torch.zeros(2, 5), torch.zeros(2, 1)), r"features must have none"),
        (lambda: featured(torch.zeros(2, 5)), r"features must have shape \(n, 3\).*got none"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            attempt()
    with pytest.raises(NotFittedError):
        as_module(PlattScaling())


def test_a_calibrator_without_a_program_says_so(platt):
    class Own(Calibrator):
        abbreviation, reference = "Own", "this test"

        def _fit(self, data):
            return None

        def _confidence(self, logits):
            return np.full(len(logits), 0.5)

    own = Own().fit(*rows(20, 3, 0))
    with pytest.raises(InvalidInputError, match=r"Own must have a method _program\(ops, rows\)"):
        as_module(own)


class Deep(nn.Module):
    """A classifier whose output is an object, as those of Hugging Face are."""

    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 6), nn.Linear(6, 5)

    def forward(self, x, scale=1.0):
        return SimpleNamespace(logits=scale * self.head(torch.relu(self.body(x))))


def test_a_classifier_with_confidence_gives_three_things(platt):
    classifier = Deep()
    module, x = with_confidence(classifier, platt), torch.randn(9, 4)
    scored = module(x, scale=3.0)
    logits = classifier(x, scale=3.0).logits.detach()
    assert torch.equal(scored.logits, logits)
    assert torch.equal(scored.prediction, logits.argmax(dim=1))
    np.testing.assert_allclose(scored.confidence.detach(), platt.predict_confidence(logits), atol=1e-6)


def test_features_come_from_the_named_part_and_the_classifier_stays_as_it_is():
    calibrator, classifier, x = fitted("ccac-x", 5, 6), Deep(), torch.randn(9, 4)
    module = with_confidence(classifier, calibrator, features="body")
    with torch.no_grad():
        scored, features = module(x), classifier.body(x)
    np.testing.assert_allclose(scored.confidence, calibrator.predict_confidence(scored.logits, features), atol=1e-5)
    classifier(x)  # by itself, it leaves nothing behind
    assert module._kept is None
    assert torch.equal(copy.deepcopy(module)(x).confidence, scored.confidence)


def test_features_can_be_a_function_of_what_the_classifier_gives():
    calibrator, classifier, x = fitted("ccac-x", 5, 5), Deep(), torch.randn(9, 4)
    with torch.no_grad():
        scored = with_confidence(classifier, calibrator, features=lambda output: output.logits.abs())(x)
    expected = calibrator.predict_confidence(scored.logits, scored.logits.abs())
    np.testing.assert_allclose(scored.confidence, expected, atol=1e-5)


def test_a_classifier_that_does_not_fit_is_explained(platt):
    featured = fitted("ccac-x", 5, 3)
    for attempt, message in [
        (lambda: with_confidence(Deep(), featured), "fitted with 3 features, and got features=None"),
        (lambda: with_confidence(Deep(), platt, features="body"), "fitted with no features"),
        (lambda: with_confidence(Deep(), featured, features="neck"), "one of 'body', 'head'; got 'neck'"),
        (lambda: with_confidence(nn.GRU(4, 5), platt)(torch.zeros(2, 3, 4)), "module must give logits"),
        (lambda: with_confidence(nn.Linear(4, 3), platt)(torch.zeros(2, 4)), r"shape \(n, 5\).*got shape \(2, 3\)"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            attempt()


@pytest.mark.filterwarnings("ignore")  # torch would rather have nothing traced
def test_python_refuses_to_be_traced_and_names_what_can_be(platt):
    class ByHand(nn.Module):
        def forward(self, logits):
            return torch.as_tensor(platt.predict_confidence(logits))

    module, logits = ByHand(), given(4)
    for attempt in (
        lambda: torch.jit.trace(module, (logits,)),
        lambda: torch.export.export(module, (logits,)),
        lambda: torch.compile(module, fullgraph=True, backend="eager")(logits),
        lambda: torch.onnx.export(module, (logits,), io.BytesIO(), dynamo=False),
    ):
        with pytest.raises(Exception, match=r"auxcal.torch.as_module.*with_confidence"):
            attempt()


@pytest.mark.parametrize("features", [None, "0"])
def test_a_trace_follows_its_input_and_says_nothing_of_our_checks(features):
    calibrator = fitted("ccac-x", 5, 8 if features else 0)
    classifier = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 5))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        traced = torch.jit.trace(with_confidence(classifier, calibrator, features=features), (torch.randn(3, 4),))
    assert [str(each.message) for each in caught if "auxcal" in each.filename] == []
    assert not any(issubclass(each.category, torch.jit.TracerWarning) for each in caught)
    x, module = torch.randn(40, 4), with_confidence(classifier, calibrator, features=features)
    torch.testing.assert_close(traced(x)[2], module(x)[2])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_tensors_in_give_a_tensor_out(platt, dtype):
    logits = given(9).to(dtype).requires_grad_()
    confidence = platt.predict_confidence(logits)
    assert isinstance(confidence, torch.Tensor)
    assert confidence.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    assert (confidence.device, confidence.requires_grad) == (logits.device, False)
    np.testing.assert_array_equal(
        confidence,
        platt.predict_confidence(
            logits.detach().float().numpy().astype(np.float64 if dtype == torch.float64 else np.float32)
        ),
    )
    assert isinstance(fitted("temperature", 5).predict_proba(logits), torch.Tensor)


@pytest.mark.filterwarnings("ignore")  # torch would rather have nothing scripted
def test_what_is_scripted_is_refused_with_what_to_do(platt):
    for module in (as_module(platt), with_confidence(nn.Linear(4, 5), platt)):
        with pytest.raises(InvalidInputError, match=r"can't be scripted.*torch\.export\.export.*torch\.jit\.trace"):
            torch.jit.script(module)


@pytest.mark.parametrize("batch", [{"dynamic_shapes": ({0: "batch"},)}, {"dynamic_axes": {"x": {0: "batch"}}}])
@pytest.mark.parametrize("name", ["ccac-x", "isotonic"])
def test_the_exporter_of_torch_to_onnx_gives_the_same(name, batch):
    pytest.importorskip("onnxscript")
    calibrator = fitted(name, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of torch's own code
        program = torch.onnx.export(
            with_confidence(nn.Linear(4, 5), calibrator),
            (torch.randn(3, 4),),
            output_names=Scored._fields,
            dynamo=True,
            verbose=False,
            **batch,
        )
    served = session(program.model_proto)
    assert [each.name for each in served.get_outputs()] == ["logits", "prediction", "confidence"]
    assert all(each.shape[0] == "batch" for each in (*served.get_inputs(), *served.get_outputs()))
    for n in (1, 7, 100):
        logits, prediction, confidence = served.run(None, {"x": torch.randn(n, 4).numpy()})
        np.testing.assert_array_equal(prediction, logits.argmax(axis=1))
        np.testing.assert_allclose(confidence, calibrator.predict_confidence(logits), atol=1e-5)


@pytest.mark.parametrize("surroundings", [torch.inference_mode, lambda: torch.device("meta")], ids=["mode", "device"])
def test_a_module_that_was_built_anywhere_can_be_used_everywhere(surroundings):
    calibrator, logits = fitted("ccac-x", 5), given(7).requires_grad_()
    with surroundings():
        module = as_module(calibrator)
    module(logits).sum().backward()
    assert logits.grad is not None
    assert logits.grad.abs().sum() > 0
