"""Train a small torch network on word indices and compute its logits, without changing torch's global state."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from auxcal._core.arrays import Ints
from auxcal._core.progress import Report, silent
from auxcal._core.threads import one_thread


def train(
    make_network: Callable[[], nn.Module],
    sequences: NDArray[np.int64],
    y: Ints,
    *,
    epochs: int,
    batch_size: int,
    random_state: int,
    report: Report = silent,
) -> nn.Module:
    """Make a network and train it with Adam (learning rate 1e-3) and the cross-entropy.

    The same random state gives the same bits.
    """
    inputs, labels = torch.from_numpy(sequences), torch.from_numpy(np.asarray(y, dtype=np.int64))
    with isolated(random_state):
        network = make_network().train()
        optimizer = torch.optim.Adam([p for p in network.parameters() if p.requires_grad], lr=1e-3)
        for epoch in range(epochs):
            # Of equal size, so that batch normalisation never gets a single row.
            for rows in torch.randperm(len(labels)).tensor_split(max(1, len(labels) // batch_size)):
                optimizer.zero_grad()
                loss: Any = nn.functional.cross_entropy(network(inputs[rows]), labels[rows])
                loss.backward()
                optimizer.step()
            report((epoch + 1) / epochs)
    return network.eval()


def logits_of(network: nn.Module, sequences: NDArray[np.int64], *, batch_size: int = 256) -> NDArray[np.float32]:
    """Return the logits of a trained network, (n, K) float32."""
    with one_thread(), torch.inference_mode():
        batches = torch.split(torch.from_numpy(sequences), batch_size)
        return torch.cat([network(batch) for batch in batches]).numpy().astype(np.float32, copy=False)


@contextmanager
def isolated(random_state: int) -> Iterator[None]:
    """Seed torch inside the block, on one thread, and restore its state afterwards.

    Dropout and initialisation can only draw from torch's global generator.
    """
    with one_thread(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(random_state)
        yield
