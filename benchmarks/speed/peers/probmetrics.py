"""probmetrics takes distributions made of tensors; its nonparametric methods take probabilities."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from benchmarks.speed.answers import softmax
from benchmarks.speed.peers import Job, Method
from probmetrics.calibrators import (
    ETSCalibrator,
    MatrixScalingCalibrator,
    TemperatureScalingCalibrator,
    VectorScalingCalibrator,
    get_calibrator,
)
from probmetrics.distributions import CategoricalLogits


def fitted_on_logits(new: Callable[[], Any]) -> Method:
    """Return the method that fits a new calibrator on a tensor of logits."""

    def method(logits: np.ndarray, y: np.ndarray) -> Job:
        given, classes = CategoricalLogits(torch.from_numpy(logits)), torch.from_numpy(y).long()
        return Job(
            lambda: new().fit_torch(given, classes),
            lambda fitted: fitted.predict_proba_torch(given).get_probs().numpy(),
        )

    return method


def fitted_on_probabilities(new: Callable[[], Any]) -> Method:
    """Return the method that fits a new calibrator on an array of probabilities."""

    def method(logits: np.ndarray, y: np.ndarray) -> Job:
        proba = softmax(logits)
        return Job(lambda: new().fit(proba, y), lambda fitted: fitted.predict_proba(proba))

    return method


METHODS = {
    "temperature": fitted_on_logits(TemperatureScalingCalibrator),
    "vector": fitted_on_logits(VectorScalingCalibrator),  # adapted from torchcal, as the next
    "matrix": fitted_on_logits(MatrixScalingCalibrator),
    "ensemble-temperature": fitted_on_probabilities(ETSCalibrator),
    "isotonic": fitted_on_probabilities(lambda: get_calibrator("isotonic")),
}
