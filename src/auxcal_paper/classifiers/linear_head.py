"""A linear layer trained on the features of a frozen network."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from auxcal._core.arrays import Floats, Ints


def train_head(features: Floats, y: Ints, *, n_classes: int, epochs: int = 20, random_state: int = 0) -> nn.Linear:
    """Fit a linear layer to the features of training images by cross-entropy.

    The features are standardised for the fit, and the scale is folded into the layer afterwards.

    Parameters
    ----------
    features : array of shape (n, d)
        The output of the frozen network.
    y : array of shape (n,)
        Class indices.
    n_classes, epochs : int
        The number of classes, and of passes over the rows.
    random_state : int
        The order of the rows.

    Returns
    -------
    nn.Linear
        From d features to the logits of the classes.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal_paper.classifiers.linear_head import train_head
    >>> features = np.eye(4, dtype=np.float32).repeat(50, axis=0)
    >>> y = np.repeat([0, 0, 1, 1], 50)
    >>> head = train_head(features, y, n_classes=2)
    >>> head.out_features
    2
    """
    mean, std = features.mean(axis=0), features.std(axis=0) + 1e-6
    inputs = torch.from_numpy(((features - mean) / std).astype(np.float32))
    labels = torch.from_numpy(np.asarray(y, dtype=np.int64))
    head = nn.Linear(features.shape[1], n_classes)
    nn.init.zeros_(head.weight)
    nn.init.zeros_(head.bias)
    _fit(head, inputs, labels, epochs, np.random.default_rng(random_state))
    with torch.no_grad():
        head.weight.div_(torch.from_numpy(std.astype(np.float32)))
        head.bias.sub_(head.weight @ torch.from_numpy(mean.astype(np.float32)))
    return head.eval()


def _fit(head: nn.Linear, inputs: torch.Tensor, labels: torch.Tensor, epochs: int, rng: np.random.Generator) -> None:
    optimizer = torch.optim.AdamW(head.parameters(), lr=1e-3, weight_decay=1e-2)
    batches = -(-len(labels) // 256)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs * batches)
    for _ in range(epochs):
        for rows in np.array_split(rng.permutation(len(labels)), batches):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(head(inputs[rows]), labels[rows])
            loss.backward()
            optimizer.step()
            schedule.step()
