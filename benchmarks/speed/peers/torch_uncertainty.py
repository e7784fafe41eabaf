"""torch-uncertainty takes a data loader of logits; one batch of all rows is fastest."""

from collections.abc import Callable
from typing import Any

import benchmarks.speed.peers.torchvision_operators  # noqa: F401
import numpy as np
import torch
from benchmarks.speed.answers import ODIR
from benchmarks.speed.peers import Job, Method
from torch_uncertainty.post_processing import (
    DirichletScaler,
    HistogramBinningScaler,
    IsotonicRegressionScaler,
    MatrixScaler,
    TemperatureScaler,
    VectorScaler,
)


def scaled(new: Callable[[int], Any]) -> Method:
    """Return the method that fits a new scaler for K classes."""

    def method(logits: np.ndarray, y: np.ndarray) -> Job:
        z, classes = torch.from_numpy(logits), torch.from_numpy(y)

        def fit() -> Any:
            scaler = new(logits.shape[1])
            scaler.fit([(z, classes)], progress=False)
            return scaler

        return Job(fit, lambda scaler: scaler(z).softmax(dim=1).numpy())

    return method


def dirichlet(logits: np.ndarray, y: np.ndarray) -> Job:
    """Fit W and b with the penalties of the others."""
    fit, _ = scaled(lambda k: DirichletScaler(num_classes=k, lambda_reg=ODIR, mu_reg=ODIR))(logits, y)
    return Job(fit, lambda scaler: tuple(part.detach().numpy() for part in scaler.inv_temperature))


METHODS = {
    "temperature": scaled(lambda k: TemperatureScaler()),
    "vector": scaled(lambda k: VectorScaler(num_classes=k)),
    "matrix": scaled(lambda k: MatrixScaler(num_classes=k)),
    "dirichlet": dirichlet,
    "histogram": scaled(lambda k: HistogramBinningScaler(num_bins=20)),
    "isotonic": scaled(lambda k: IsotonicRegressionScaler()),
}
