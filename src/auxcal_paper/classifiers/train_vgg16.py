"""Train a VGG16 for CIFAR, where there are no official weights: ``python -m auxcal_paper.classifiers.train_vgg16 10``.

The network is the one of `cifar_vgg`, at half its width by default. A checkpoint after each epoch lets an
interrupted training go on with the same command, to the same weights.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import typer
from numpy.typing import NDArray
from torch import Tensor, nn

from auxcal._core.errors import InvalidInputError
from auxcal._core.files import atomic_write
from auxcal_paper.classifiers._image_classifier import ImageClassifier, Normalise
from auxcal_paper.classifiers._training import isolated
from auxcal_paper.classifiers.cifar_vgg import cifar_scales, cifar_vgg_network
from auxcal_paper.datasets import dataset
from auxcal_paper.datasets._images import Images
from auxcal_paper.datasets.cifar10 import load_cifar10
from auxcal_paper.datasets.cifar100 import load_cifar100
from auxcal_paper.shifts.images import Augment

BATCH_SIZE = 128  # that of the official training
PEAK_RATE = 0.1  # the learning rate at its highest, as in the official training
WARM_UP = 0.25  # the share of the training in which the rate rises; then it falls to zero, both linearly
MOMENTUM = 0.9  # as in the official training
WEIGHT_DECAY = 5e-4  # as in the official training
SHORT_DROPOUT = (0.0, 0.0, 0.2)  # the official rates, 0.3 to 0.5, suit its 250 epochs; chosen for a few, and not tuned
TRAINED = "trained.pt"  # the file of weights; trained.json beside it holds how they were made
AUGMENT = Augment(rotation=15, shift=0.1, flip=True)  # as in the official training


@dataclass(frozen=True)
class Training:
    """What is trained, and for how long.

    Parameters
    ----------
    n_classes : int
        10 or 100.
    epochs : int
        How often each training image is seen.
    width : float
        The share of the official network's channels.
    random_state : int
        Seeds the weights, the order of the images, how they are changed, and the dropout.
    """

    n_classes: int
    epochs: int = 16
    width: float = 0.5
    random_state: int = 0


def train_vgg16(training: Training, train: Images, checkpoint: Path) -> nn.Sequential:
    """Return the trained network; go on from the checkpoint if there is one.

    Images are turned, moved and flipped at random. The cross-entropy has no label smoothing, which would change the
    confidence. Most products are in bfloat16 with the channels last, which was measured to be twice as fast as float32
    without: 134 and not 285 s of CPU time for an epoch at half width, 498 and not 1,170 s at full width.
    """
    y = torch.from_numpy(train.y.astype(np.int64))
    with isolated(training.random_state):
        network = cifar_vgg_network(training.n_classes, width=training.width, dropout=SHORT_DROPOUT)
        network = network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        optimizer = torch.optim.SGD(
            network.parameters(), lr=PEAK_RATE, momentum=MOMENTUM, weight_decay=WEIGHT_DECAY, nesterov=True
        )
        for epoch in range(_resumed(checkpoint, network, optimizer, training), training.epochs):
            torch.manual_seed(training.random_state + 1_000 * (epoch + 1))  # so that a resumed training is the same
            started = time.process_time()
            loss = _epoch(network, optimizer, train.pixels, y, training, epoch)
            _save(checkpoint, network, optimizer, training, epoch + 1)
            seconds = time.process_time() - started
            typer.echo(f"epoch {epoch + 1} of {training.epochs}: loss {loss:.3f}, {seconds:.0f} s of CPU time")
    return network.eval()


def _epoch(
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    pixels: NDArray[np.uint8],
    y: Tensor,
    training: Training,
    epoch: int,
) -> float:
    network.train()
    rng = np.random.default_rng([training.random_state, epoch])
    normalise = Normalise(*cifar_scales(training.n_classes))
    batches = torch.randperm(len(y)).split(BATCH_SIZE)
    total = 0.0
    for number, rows in enumerate(batches):
        optimizer.param_groups[0]["lr"] = PEAK_RATE * _triangle((epoch + number / len(batches)) / training.epochs)
        images = normalise(torch.from_numpy(AUGMENT(pixels[rows.numpy()], rng)) / 255)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = network(images.contiguous(memory_format=torch.channels_last))
        loss: Any = nn.functional.cross_entropy(logits.float(), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += float(loss.detach()) * len(rows)
    return total / len(y)


def _triangle(done: float) -> float:
    """Return the learning rate's share of its peak when a share of the training is done."""
    return done / WARM_UP if done < WARM_UP else (1 - done) / (1 - WARM_UP)


def _resumed(checkpoint: Path, network: nn.Module, optimizer: torch.optim.Optimizer, training: Training) -> int:
    """Load the checkpoint and return the number of epochs that are done."""
    if not checkpoint.is_file():
        return 0
    state = torch.load(checkpoint, map_location="cpu", weights_only=True)
    if state.get("training") != asdict(training):
        raise InvalidInputError(
            f"{checkpoint} is of another training, {state.get('training')}; this one is {asdict(training)}. Delete it "
            f"to start again, or give the settings of that one."
        )
    network.load_state_dict(state["network"])
    optimizer.load_state_dict(state["optimizer"])
    return int(state["epochs"])


def _save(
    checkpoint: Path, network: nn.Module, optimizer: torch.optim.Optimizer, training: Training, epochs: int
) -> None:
    state = {"network": network.state_dict(), "optimizer": optimizer.state_dict()}
    with atomic_write(checkpoint) as temporary:
        torch.save(state | {"training": asdict(training), "epochs": epochs}, temporary)


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, and write weights and what is known of them into the folder where the suites look for them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("n_classes", type=int, choices=(10, 100), help="CIFAR-10 or CIFAR-100")
    parser.add_argument("--data", type=Path, default=Path("data"), help="the folder of the raw data")
    for name, default in (("epochs", Training.epochs), ("width", Training.width), ("random-state", 0)):
        parser.add_argument(f"--{name}", type=type(default), default=default)
    options = vars(parser.parse_args(arguments))
    data_dir = options.pop("data")
    training = Training(**options)
    load = load_cifar10 if training.n_classes == 10 else load_cifar100
    folder = data_dir / dataset(f"cifar{training.n_classes}-vgg16-trained").folder
    folder.mkdir(parents=True, exist_ok=True)
    network = train_vgg16(training, load(data_dir, "train"), folder / "checkpoint.pt")
    test = load(data_dir, "test")
    logits = ImageClassifier(network, *cifar_scales(training.n_classes)).logits(test.unit())
    accuracy = float((logits.argmax(axis=1) == test.y).mean())
    with atomic_write(folder / TRAINED) as temporary:
        torch.save(network.state_dict(), temporary)
    with atomic_write((folder / TRAINED).with_suffix(".json")) as temporary:
        temporary.write_text(json.dumps(asdict(training) | {"accuracy": accuracy}, indent=1), encoding="utf-8")
    typer.echo(f"{100 * accuracy:.2f} % of the test images are classified right; written to {folder / TRAINED}")


if __name__ == "__main__":
    main()
