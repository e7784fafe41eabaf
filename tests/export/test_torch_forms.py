"""`collect` takes the batches, classifiers and outputs that are in use, and refuses others in one sentence."""

from collections import OrderedDict, UserDict, namedtuple
from io import StringIO
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from rich.console import Console
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

from auxcal import NO_CLASS
from auxcal._core.errors import InvalidInputError
from auxcal.torch import collect

X, Y = torch.randn(8, 5, generator=torch.Generator().manual_seed(0)), torch.tensor([0, 1, 2, NO_CLASS] * 2)
LINEAR = nn.Linear(5, 3)
LOGITS = LINEAR(X).detach()


class ModelOutput(OrderedDict):
    """As in transformers: a dict of what is not None, with attributes, None included."""

    def __init__(self, **entries):
        super().__init__({name: value for name, value in entries.items() if value is not None})
        self.__dict__.update(entries)


class SequenceClassifier(nn.Module):
    """As in transformers: keyword arguments, a loss if there are labels, an output with names."""

    def __init__(self):
        super().__init__()
        self.body, self.dropout, self.head = nn.Linear(5, 4), nn.Dropout(0.5), nn.Linear(4, 3)

    def forward(self, input_values=None, attention_mask=None, labels=None):
        hidden = self.body(input_values) * attention_mask
        logits = self.head(self.dropout(hidden))
        loss = None if labels is None else nn.functional.cross_entropy(logits, labels)  # fails for NO_CLASS
        return ModelOutput(loss=loss, logits=logits, hidden_states=(input_values[:, None], hidden[:, None]))


def hugging_face_batch(label="labels"):
    return {"input_values": X, "attention_mask": torch.ones(8, 1), label: Y}


def expected(classifier):
    with torch.no_grad():
        return classifier.eval()(X, torch.ones(8, 1)).logits.numpy()


# Batches --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("label", ["labels", "label", "label_ids"])
@pytest.mark.parametrize("kind", [dict, UserDict, OrderedDict])
def test_a_batch_with_names_gives_its_labels_and_no_loss_is_computed(kind, label):
    classifier, batch = SequenceClassifier(), kind(hugging_face_batch(label))
    predictions = collect(classifier, [batch])
    np.testing.assert_array_equal(predictions.logits, expected(classifier))
    assert predictions.y.tolist() == Y.tolist()
    assert label in batch, "the batch of the user is left as it is"


def test_a_classifier_that_needs_the_labels_is_given_them():
    seen = []

    def classify(x, labels):
        seen.append(labels)
        return LINEAR(x)

    collect(classify, [{"x": X, "labels": Y}])
    assert seen == [Y]


Pair, Turned = namedtuple("Pair", "image label"), namedtuple("Turned", "labels image")
Triple, Nested = namedtuple("Triple", "a b labels"), namedtuple("Nested", "inputs label")
Nameless = namedtuple("Nameless", "image target")


@pytest.mark.parametrize(
    "batch",
    [
        (X, Y),
        [X, Y],
        Pair(X, Y),
        Turned(Y, X),
        Nameless(X, Y),
        Nested({"input": X}, Y),
        (X, Y.tolist()),
    ],
    ids=["tuple", "list", "namedtuple", "y first", "without a name for y", "nested", "y a list"],
)
def test_batches_of_two(batch):
    predictions = collect(LINEAR, [batch])
    np.testing.assert_array_equal(predictions.logits, LOGITS)
    assert predictions.y.tolist() == Y.tolist()


def test_a_namedtuple_of_several_inputs():
    predictions = collect(lambda a, b: a + b, [Triple(LOGITS, torch.ones(8, 3), Y)])
    np.testing.assert_array_equal(predictions.logits, LOGITS + 1)


def test_texts_are_one_input():
    predictions = collect(lambda texts: np.eye(2)[[len(text) % 2 for text in texts]], [(("a", "ab", "abc"), [1, 0, 1])])
    assert predictions.correct.all()


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ((X, X, Y), r"expected \(inputs, y\), or a dict .*; got tuple of shape \(8, 5\), shape \(8, 5\), shape \(8,\)"),
        (X[:2], r"expected \(inputs, y\).*; got shape \(2, 5\)"),
        ((X,), r"expected \(inputs, y\)"),
        ({"input": X, "target": Y}, r"expected y under one name, 'labels', .*; got 'input', 'target'"),
        ({"input": X, "label": Y, "labels": Y}, "expected y under one name"),
        ({"image": X, "label": Y}, r"arguments of the module, \('input',\); got 'image'"),
        (((X, X), Y), r"arguments of the module, \('input',\); got 2 without names"),
        ((X[0], 1), "got 1 alone. Give batches"),
        ((X, Y[:, None]), r"y must have shape \(n,\).*got shape \(8, 1\)"),
        ((X, torch.eye(3)[Y]), r"y must have shape \(n,\).*one-hot"),
        ((X, Y.float()), "y must hold integers"),
        ((X, ["cat"] * 8), "y must hold integers"),
        ((X, Y[:5]), "one label for each of the 8 rows of logits; got 5"),
        ((X, None), "got None alone"),
        ((X, Y - 99), r"class index 0..2 or NO_CLASS = -1; got -99"),
    ],
)
def test_a_batch_of_another_form_is_refused_by_its_number(batch, message):
    with pytest.raises(InvalidInputError, match=f"batch 2 of the loader: .*{message}"):
        collect(LINEAR, [(X, Y), batch])


@pytest.mark.parametrize("loader", [hugging_face_batch(), 3, None], ids=["one batch", "number", "None"])
def test_what_gives_no_batches_is_refused(loader):
    with pytest.raises(InvalidInputError, match="loader must give batches, as a DataLoader does; got"):
        collect(LINEAR, loader)


def test_a_data_set_is_not_a_loader():
    with pytest.raises(InvalidInputError, match=r"batch 1 .*DataLoader\(dataset, batch_size=256\)"):
        collect(LINEAR, TensorDataset(X, Y))
    collected = collect(LINEAR, DataLoader(TensorDataset(X, Y), batch_size=256))
    np.testing.assert_array_equal(collected.logits, LOGITS)


class Stream(IterableDataset):
    def __iter__(self):
        return zip(X, Y, strict=True)


def test_a_loader_of_a_stream_has_no_length():
    np.testing.assert_allclose(collect(LINEAR, DataLoader(Stream(), batch_size=3)).logits, LOGITS, rtol=1e-5)


# Classifiers ----------------------------------------------------------------------------------------------------------


class Session:
    """As in onnxruntime: a list of NumPy arrays."""

    def run(self, x):
        return [LINEAR(x).numpy()]


@pytest.mark.parametrize(
    "classifier", [lambda x: LINEAR(x), LINEAR.forward, Session().run], ids=["function", "method", "NumPy"]
)
def test_any_callable(classifier):
    np.testing.assert_array_equal(collect(classifier, [(X, Y)]).logits, LOGITS)


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
@pytest.mark.parametrize("compiled", [torch.jit.script, lambda module: torch.jit.trace(module.eval(), X)])
def test_torchscript(compiled):
    script = compiled(nn.Sequential(LINEAR, nn.Dropout(0.5)))
    np.testing.assert_allclose(collect(script, [(X, Y)]).logits, LOGITS, rtol=1e-6)
    with pytest.raises(InvalidInputError, match="TorchScript module, which does not show what its parts give"):
        collect(script, [(X, Y)], features="0")


def test_a_module_is_given_tensors_and_a_function_what_comes():
    np.testing.assert_array_equal(collect(LINEAR, [(X.numpy(), Y)]).logits, LOGITS)
    collect(lambda x: np.matmul(x, np.ones((5, 3)), dtype=x.dtype), [(X.numpy(), Y)])


def test_exported_programs():
    program = torch.export.export(LINEAR, (X,))
    for classifier in (program, program.module()):
        np.testing.assert_allclose(collect(classifier, [(X, Y)]).logits, LOGITS, rtol=1e-6)


def test_a_buffer_that_is_used_again_is_no_trap():
    buffer = np.zeros((4, 3), dtype=np.float32)

    def classify(x):
        buffer[:] = LINEAR(x)
        return buffer

    logits = collect(classify, [(X[:4], Y[:4]), (X[4:], Y[4:])]).logits
    np.testing.assert_allclose(logits, LOGITS, rtol=1e-5)


@pytest.mark.parametrize("classifier", ["bert-base-uncased", None, DataLoader(TensorDataset(X, Y))])
def test_what_cannot_be_called_is_refused(classifier):
    with pytest.raises(InvalidInputError, match=r"module must be an nn\.Module or another callable; got"):
        collect(classifier, [(X, Y)])


def test_an_error_of_the_classifier_stays_its_own_and_names_the_batch():
    with pytest.raises(RuntimeError) as caught:
        collect(LINEAR, [(X, Y), (X[:, :4], Y)])
    called, where = caught.value.__notes__
    assert "shape (8, 4)" in called
    assert "batch 2 of the loader" in where


# Outputs --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "output",
    [
        LOGITS.numpy(),
        {"logits": LOGITS, "pooled": X},
        ModelOutput(loss=None, logits=LOGITS, attentions=None),
        SimpleNamespace(logits=LOGITS),
        (LOGITS,),
        [LOGITS.numpy()],
        (torch.tensor(0.3), LOGITS, (X, X)),
    ],
    ids=["array", "dict", "model output", "object", "tuple", "list", "with loss and hidden states"],
)
def test_outputs_with_logits(output):
    np.testing.assert_array_equal(collect(lambda x: output, [(X, Y)]).logits, LOGITS)


@pytest.mark.parametrize(
    ("output", "got"),
    [
        ((LOGITS, X), r"tuple of shape \(8, 3\), shape \(8, 5\)"),
        (
            ModelOutput(last_hidden_state=X[:, None], pooler_output=X),
            "ModelOutput with 'last_hidden_state', 'pooler_output'",
        ),
        (SimpleNamespace(logits=None), "SimpleNamespace"),
        (LOGITS[:, None], r"shape \(8, 1, 3\)"),
        (LOGITS.tolist(), "list of 8 entries"),
        (None, "None"),
    ],
)
def test_outputs_without_logits_or_with_two_are_refused(output, got):
    with pytest.raises(InvalidInputError, match=rf"module must give logits, .* in a tuple; got {got}"):
        collect(lambda x: output, [(X, Y)])


def test_all_batches_have_the_same_classes():
    with pytest.raises(InvalidInputError, match=r"batch 2 .*logits must have the 5 columns of the first batch; got 4"):
        collect(lambda x: x, [(X, Y), (X[:, :4], Y)])


# Features -------------------------------------------------------------------------------------------------------------


def test_features_from_a_function_of_the_output():
    classifier = SequenceClassifier()
    pooled = collect(classifier, [hugging_face_batch()], features=lambda output: output.hidden_states[-1][:, 0])
    part = collect(classifier, [hugging_face_batch()], features="body")
    np.testing.assert_array_equal(pooled.features, part.features)


@pytest.mark.parametrize(
    ("classifier", "features", "message"),
    [
        (lambda x: LINEAR(x), "avgpool", "features='avgpool' names a part of an nn.Module; got function"),
        (LINEAR, LINEAR, "features must be the name of a part of the module, .*; got Linear"),
        (LINEAR, 3, "features must be the name of a part of the module, .*; got int"),
        (LINEAR, lambda output: None, "the function gave None"),
        (LINEAR, lambda output: output[:2], r"the function gave shape \(2, 3\)"),
    ],
)
def test_features_of_another_kind_are_refused(classifier, features, message):
    with pytest.raises(InvalidInputError, match=message):
        collect(classifier, [(X, Y)], features=features)


def test_features_that_depend_on_the_length_of_a_batch_are_refused():
    with pytest.raises(InvalidInputError, match=r"batch 2 .*features must have the 5 columns of the first"):
        collect(lambda x: (x[:, :3], x[:, None]), [(X, Y), (X[:, :4], Y)], features=lambda output: output[1])


# Progress -------------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("progress", [True, False])
def test_progress_is_shown_on_request_and_reported_all_the_same(progress, monkeypatch):
    text, seen = StringIO(), []
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr("rich.console.Console", lambda **_: Console(file=text, force_terminal=True))
    collect(LINEAR, [(X, Y), (X, Y)], progress=progress, report=seen.append)
    assert ("collecting" in text.getvalue()) == progress
    assert seen == [0.5, 1]
