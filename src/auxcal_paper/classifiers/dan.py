"""The paper's two document classifiers, which it calls DAN: one averages word vectors, one convolves them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from auxcal._core.arrays import Ints
from auxcal._core.errors import InvalidInputError
from auxcal._core.progress import Report, silent
from auxcal_paper.classifiers._training import logits_of, train
from auxcal_paper.classifiers.tokenizer import Tokenizer
from auxcal_paper.datasets.glove import WordVectors

_LEAST_LENGTH = 149  # (((1 + 4) * 5 + 4) * 5 + 4), which leaves the last convolution one output


@dataclass(frozen=True, eq=False)
class TextClassifier:
    """A trained network and the tokenizer that it was trained with.

    Parameters
    ----------
    tokenizer : Tokenizer
        Turns texts into word indices.
    network : torch.nn.Module
        Turns word indices into logits.
    """

    tokenizer: Tokenizer
    network: nn.Module

    def logits(self, documents: Sequence[str]) -> NDArray[np.float32]:
        """Return the logits of the documents, of shape (n, K)."""
        return logits_of(self.network, self.tokenizer.sequences(documents))


def train_dan(
    texts: Sequence[str],
    y: Ints,
    *,
    epochs: int = 50,
    n_words: int = 20_000,
    length: int = 1000,
    random_state: int = 0,
    report: Report = silent,
) -> TextClassifier:
    """Train the deep averaging network for R8: averaged word vectors and three dense blocks.

    Sequences of 1000 words, Adam with learning rate 1e-3 and 50 epochs as in the paper; the 20,000 most
    frequent words, batches of 64, vectors of 50 numbers, blocks of 100 nodes and a dropout of 0.5, which it
    leaves open.

    Examples
    --------
    >>> from auxcal_paper.classifiers.dan import train_dan
    >>> texts = ["wheat harvest", "bank rate", "wheat export", "rate cut"] * 4
    >>> classifier = train_dan(texts, [0, 1, 0, 1] * 4, epochs=20)
    >>> classifier.logits(["wheat", "rate"]).argmax(axis=1)
    array([0, 1])
    """
    tokenizer = Tokenizer.of(texts, n_words=n_words, length=length)
    n_classes = _check(texts, y)

    def make() -> nn.Module:
        return nn.Sequential(
            _Average(tokenizer.size, 50), _block(50), _block(100), _block(100), nn.Linear(100, n_classes)
        )

    sequences = tokenizer.sequences(texts)
    network = train(make, sequences, y, epochs=epochs, batch_size=64, random_state=random_state, report=report)
    return TextClassifier(tokenizer, network)


def train_convolutional(
    texts: Sequence[str],
    y: Ints,
    vectors: WordVectors,
    *,
    epochs: int = 8,
    n_words: int = 20_000,
    length: int = 1000,
    random_state: int = 0,
    report: Report = silent,
) -> TextClassifier:
    """Train the network for NG18: given word vectors, three convolutions and two dense layers.

    Sequences of 1000 words and Adam with learning rate 1e-3 as in the paper. It leaves the layers open; these
    are 64 filters over 5 words with pooling over 5, and 64 hidden nodes, with Keras' initial weights. The
    word vectors learn with the rest, in batches of 32, so that 8 epochs suffice instead of its 50: the training
    documents are memorised by then, and an epoch takes half a minute on one core.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal_paper.classifiers.dan import train_convolutional
    >>> from auxcal_paper.datasets.glove import WordVectors
    >>> glove = WordVectors(("wheat", "rate"), np.array([[1, 0], [0, 1]], dtype=np.float32))
    >>> texts = ["wheat harvest", "bank rate", "wheat export", "rate cut"] * 40
    >>> classifier = train_convolutional(texts, [0, 1, 0, 1] * 40, glove, length=149)
    >>> classifier.logits(["wheat", "rate"]).argmax(axis=1)
    array([0, 1])
    """
    if length < _LEAST_LENGTH:
        raise InvalidInputError(
            f"length must be at least {_LEAST_LENGTH} words, which three convolutions with pooling need; "
            f"got {length}. Shorter texts are padded."
        )
    tokenizer = Tokenizer.of(texts, n_words=n_words, length=length)
    n_classes = _check(texts, y)
    embedding = torch.from_numpy(vectors.matrix(tokenizer.index, tokenizer.size))

    def make() -> nn.Module:
        return nn.Sequential(
            _Vectors(embedding),
            *_convolution(embedding.shape[1]), nn.MaxPool1d(5),
            *_convolution(64), nn.MaxPool1d(5),
            *_convolution(64), nn.AdaptiveMaxPool1d(1), nn.Flatten(),
            nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, n_classes),
        ).apply(_start_as_keras)  # fmt: skip

    sequences = tokenizer.sequences(texts)
    network = train(make, sequences, y, epochs=epochs, batch_size=32, random_state=random_state, report=report)
    return TextClassifier(tokenizer, network)


class _Average(nn.Module):
    """The mean of the vectors of a sequence's words; zeros if it has none."""

    def __init__(self, n_words: int, width: int) -> None:
        super().__init__()
        self.bag = nn.EmbeddingBag(n_words, width, mode="mean", padding_idx=0)

    def forward(self, sequences: torch.Tensor) -> torch.Tensor:
        averaged: torch.Tensor = self.bag(sequences)
        return averaged


class _Vectors(nn.Module):
    """The vectors of a sequence's words, as the channels of a convolution, initialised with the given ones."""

    def __init__(self, vectors: torch.Tensor) -> None:
        super().__init__()
        self.vectors = nn.Parameter(vectors.clone())

    def forward(self, sequences: torch.Tensor) -> torch.Tensor:
        return nn.functional.embedding(sequences, self.vectors, padding_idx=0).transpose(1, 2)


def _block(n_inputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(n_inputs, 100), nn.BatchNorm1d(100), nn.ReLU(), nn.Dropout(0.5))


def _convolution(n_channels: int) -> tuple[nn.Module, nn.Module]:
    return nn.Conv1d(n_channels, 64, kernel_size=5), nn.ReLU()


def _start_as_keras(layer: nn.Module) -> None:
    if isinstance(layer, nn.Conv1d | nn.Linear) and layer.bias is not None:
        nn.init.xavier_uniform_(layer.weight)
        nn.init.zeros_(layer.bias)


def _check(texts: Sequence[str], y: Ints) -> int:
    """Return the number of classes."""
    labels = np.asarray(y)
    if len(texts) != len(labels) or len(labels) < 2 or labels.min() < 0:
        raise InvalidInputError(
            f"y must have a class index 0..K-1 for each of at least two texts; got {len(texts)} texts and y "
            f"of shape {labels.shape}. Leave out documents without a class."
        )
    return int(labels.max()) + 1
