"""DeepFool fools, changes little, and leaves its inputs alone."""

import numpy as np
import pytest
import torch

from auxcal._core.errors import InvalidInputError
from auxcal_paper.shifts.adversarial import DeepFool

MEAN, STD = (0.5, 0.4, 0.3), (0.2, 0.25, 0.3)


@pytest.fixture
def setting():
    pytest.importorskip("foolbox")
    generator = torch.Generator().manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 6 * 6, 4))
    with torch.no_grad():
        network[1].weight.copy_(torch.randn(4, 108, generator=generator))
    images = np.random.default_rng(0).random((20, 3, 6, 6), dtype=np.float32)
    return network.eval(), images


def predict(network, images):
    mean, std = (torch.tensor(v).view(1, 3, 1, 1) for v in (MEAN, STD))
    with torch.no_grad():
        return network((torch.from_numpy(images) - mean) / std).argmax(dim=1).numpy()


def test_every_right_image_is_misclassified_with_the_models_own_normalisation(setting):
    network, images = setting
    y = predict(network, images)
    moved = DeepFool(network, MEAN, STD, batch_size=7)(images, y)
    assert (predict(network, moved) != y).all()
    assert moved.dtype == np.float32
    assert moved.min() >= 0
    assert moved.max() <= 1


def test_the_change_of_a_linear_classifier_is_nearly_the_smallest_one(setting):
    network, _ = setting
    images = np.full((1, 3, 6, 6), 0.5, dtype=np.float32)  # far from the bounds, so that nothing is clipped
    y = predict(network, images)
    moved = DeepFool(network, MEAN, STD)(images, y)
    scale = np.repeat(STD, 36)
    weight = network[1].weight.detach().numpy() / scale
    flat = ((images - np.array(MEAN).reshape(1, 3, 1, 1)) / np.array(STD).reshape(1, 3, 1, 1)).reshape(-1)
    logits = network[1].weight.detach().numpy() @ flat + network[1].bias.detach().numpy()
    others = [k for k in range(4) if k != y[0]]
    smallest = min((logits[y[0]] - logits[k]) / np.linalg.norm(weight[y[0]] - weight[k]) for k in others)
    assert np.linalg.norm(moved - images) == pytest.approx(smallest, rel=0.05)


def test_a_misclassified_image_stays_as_it_is(setting):
    network, images = setting
    wrong = (predict(network, images) + 1) % 4
    np.testing.assert_array_equal(DeepFool(network, MEAN, STD)(images, wrong), images)


def test_inputs_and_network_stay_and_progress_is_reported(setting):
    network, images = setting
    y, before = predict(network, images), images.copy()
    weights = {name: value.clone() for name, value in network.state_dict().items()}
    seen = []
    DeepFool(network, MEAN, STD, batch_size=8)(images, y, seen.append)
    np.testing.assert_array_equal(images, before)
    assert all(torch.equal(value, weights[name]) for name, value in network.state_dict().items())
    assert seen == [0.4, 0.8, 1]


@pytest.mark.parametrize(
    "images", [np.zeros((1, 3, 6, 6), np.uint8), np.full((1, 3, 6, 6), 255.0), np.full((1, 3, 6, 6), np.nan)]
)
def test_images_that_are_not_from_0_to_1_are_refused(setting, images):
    with pytest.raises(InvalidInputError, match="255"):
        DeepFool(setting[0], MEAN, STD)(images, np.array([0]))
