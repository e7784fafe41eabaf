"""A VGG16 of our own: it learns, and a training that was interrupted ends with the same weights."""

import json

import numpy as np
import pytest
import torch

from auxcal import InvalidInputError
from auxcal_paper.classifiers import train_vgg16
from auxcal_paper.classifiers.cifar_vgg import cifar_vgg_network, trained_cifar_vgg16
from auxcal_paper.datasets._images import Images

NARROW = 1 / 16


@pytest.fixture
def images():
    """A hundred images of two classes, dark and bright."""
    y = np.arange(100) % 2
    noise = np.random.default_rng(0).integers(0, 40, (100, 3, 32, 32))
    return Images((noise + 200 * y[:, None, None, None]).astype(np.uint8), y)


def weights(training, images, checkpoint):
    return train_vgg16.train_vgg16(training, images, checkpoint).state_dict()


def test_an_interrupted_training_ends_with_the_same_weights(images, tmp_path, monkeypatch):
    training = train_vgg16.Training(10, epochs=3, width=NARROW)
    whole = weights(training, images, tmp_path / "whole.pt")
    save, saved = train_vgg16._save, []

    def stop_at_the_second(*arguments):
        saved.append(arguments)
        if len(saved) == 2:
            raise KeyboardInterrupt
        save(*arguments)

    monkeypatch.setattr(train_vgg16, "_save", stop_at_the_second)
    with pytest.raises(KeyboardInterrupt):
        weights(training, images, tmp_path / "parts.pt")
    monkeypatch.setattr(train_vgg16, "_save", save)
    resumed = weights(training, images, tmp_path / "parts.pt")
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)


def test_a_checkpoint_of_another_training_is_refused(images, tmp_path):
    checkpoint = tmp_path / "checkpoint.pt"
    weights(train_vgg16.Training(10, epochs=1, width=NARROW), images, checkpoint)
    with pytest.raises(InvalidInputError, match=r"another training.*'epochs': 1.*Delete it to start again"):
        weights(train_vgg16.Training(10, epochs=2, width=NARROW), images, checkpoint)


def test_it_learns_and_says_how_well(images, cifar10_dir, monkeypatch, capsys):
    monkeypatch.setattr(train_vgg16, "load_cifar10", lambda data_dir, part: images)
    monkeypatch.setattr(train_vgg16, "BATCH_SIZE", 10)
    train_vgg16.main(["10", "--data", str(cifar10_dir), "--epochs", "8", "--width", str(NARROW)])
    written = cifar10_dir / "cifar10-vgg16-trained" / "trained.pt"
    record = json.loads(written.with_suffix(".json").read_text())
    assert record["accuracy"] > 0.9
    assert record["epochs"] == 8
    logits = trained_cifar_vgg16(written).logits(images.unit())
    assert (logits.argmax(axis=1) == images.y).mean() == record["accuracy"]
    assert "of the test images are classified right" in capsys.readouterr().out


def test_the_learning_rate_rises_and_falls_to_zero():
    assert [train_vgg16._triangle(done) for done in (0, 0.125, 0.25, 0.625, 1)] == [0, 0.5, 1, 0.5, 0]


def test_the_layout_is_that_of_the_official_network():
    network = cifar_vgg_network(100)
    layers = [type(layer).__name__ for layer in network]
    assert (layers.count("Conv2d"), layers.count("Linear"), layers.count("Dropout")) == (13, 2, 10)
    rates = [layer.p for layer in network if isinstance(layer, torch.nn.Dropout)]
    assert rates == [0.3, *(0.4,) * 7, 0.5, 0.5]
