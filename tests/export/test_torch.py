"""`collect` gives the logits of a module and leaves it as it was."""

from contextlib import suppress

import numpy as np
import pytest
import torch
from torch import nn

from auxcal import NO_CLASS
from auxcal._core.errors import InvalidInputError
from auxcal.torch import collect


def batches(n_batches=3):
    generator = torch.Generator().manual_seed(0)
    return [(torch.randn(4, 5, generator=generator), torch.tensor([0, 1, 2, NO_CLASS])) for _ in range(n_batches)]


def test_logits_and_labels_in_order():
    module = nn.Linear(5, 3)
    predictions = collect(module, batches())
    expected = torch.cat([module(x) for x, _ in batches()]).detach().numpy()
    np.testing.assert_allclose(predictions.logits, expected, rtol=1e-6)
    assert predictions.y.tolist() == [0, 1, 2, NO_CLASS] * 3
    assert predictions.logits.dtype == np.float32


def test_evaluation_mode_inside_and_every_mode_restored():
    module = nn.Sequential(nn.Linear(5, 3), nn.BatchNorm1d(3), nn.Dropout(0.5))
    module.train()
    module[1].eval()  # a frozen batch norm in a network under training
    before = module[1].running_mean.clone()
    first, again = collect(module, batches()), collect(module, batches())
    np.testing.assert_array_equal(first.logits, again.logits)
    assert [part.training for part in module.modules()] == [True, True, False, True]
    assert torch.equal(module[1].running_mean, before)


def test_modes_are_restored_after_an_error():
    module = nn.Linear(5, 3).train()
    with pytest.raises(RuntimeError):
        collect(module, [(torch.zeros(2, 4), torch.tensor([0, 1]))])
    assert module.training


def test_no_gradients_threads_or_random_state():
    module = nn.Linear(5, 3)
    threads, state = torch.get_num_threads(), torch.get_rng_state()
    collect(module, batches())
    assert module.weight.grad is None
    assert torch.get_num_threads() == threads
    assert torch.equal(torch.get_rng_state(), state)


class TwoInputs(nn.Module):
    def forward(self, a, b):
        return torch.stack([a, b], dim=1)


@pytest.mark.parametrize(
    "inputs",
    [(torch.ones(2), torch.zeros(2)), {"b": torch.zeros(2), "a": torch.ones(2)}],
    ids=["tuple", "dict"],
)
def test_several_inputs(inputs):
    assert collect(TwoInputs(), [(inputs, [0, 1])]).logits.tolist() == [[1, 0], [1, 0]]


def test_bfloat16_becomes_float32_and_float64_stays():
    half = nn.Linear(5, 3, dtype=torch.bfloat16)
    loader = [(x.bfloat16(), y) for x, y in batches()]
    assert collect(half, loader).logits.dtype == np.float32
    double = [(x.double(), y) for x, y in batches()]
    assert collect(nn.Linear(5, 3, dtype=torch.float64), double).logits.dtype == np.float64


def test_an_empty_loader_is_refused():
    with pytest.raises(InvalidInputError, match="at least one batch"):
        collect(nn.Linear(5, 3), [])


# Features -------------------------------------------------------------------------------------------------------------


def deep():
    return nn.Sequential(nn.Unflatten(1, (5, 1, 1)), nn.Conv2d(5, 2, 1), nn.Flatten(), nn.Linear(2, 3))


def test_features_are_the_flat_outputs_of_a_part():
    module = deep()
    predictions = collect(module, batches(), features="1")
    expected = torch.cat([module[:2](x) for x, _ in batches()]).detach().numpy().reshape(12, 2)
    np.testing.assert_allclose(predictions.features, expected, rtol=1e-6)
    np.testing.assert_array_equal(predictions.logits, collect(module, batches()).logits)
    assert collect(module, batches()).features is None


@pytest.mark.parametrize("loader", [batches(), [(torch.zeros(2, 4), torch.tensor([0, 1]))]], ids=["well", "failing"])
def test_no_hook_stays(loader):
    module = deep()
    with suppress(RuntimeError):
        collect(module, loader, features="1")
    assert not module[1]._forward_hooks


def test_features_of_an_unknown_part_name_the_parts():
    with pytest.raises(InvalidInputError, match=r"one of '0', '1', '2', '3'; got 'avgpool'"):
        collect(deep(), batches(), features="avgpool")


class Odd(nn.Module):
    def __init__(self):
        super().__init__()
        self.act, self.idle, self.pair, self.head = nn.ReLU(), nn.ReLU(), nn.LSTM(5, 5), nn.Linear(5, 3)

    def forward(self, x):
        return self.head(self.act(self.act(self.pair(x)[0])))


@pytest.mark.parametrize(
    ("name", "got"),
    [("act", r"gave shape \(4, 5\), shape \(4, 5\)"), ("idle", "gave nothing"), ("pair", "gave tuple")],
    ids=["twice", "never", "a tuple"],
)
def test_features_come_from_a_part_that_gives_one_tensor(name, got):
    with pytest.raises(InvalidInputError, match=got):
        collect(Odd(), batches(), features=name)


def test_what_the_user_has_set_changes_no_logits():
    module = nn.Linear(5, 3)
    expected, before = collect(module, batches()).logits, batches()
    with torch.inference_mode(), torch.device("meta"):
        found = collect(module, before).logits
    assert np.array_equal(found, expected)
