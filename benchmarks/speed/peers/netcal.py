"""netcal takes probabilities, as float64: on float32 its fits do not move."""

from collections.abc import Callable
from typing import Any

import numpy as np
from benchmarks.speed.answers import softmax
from benchmarks.speed.peers import Job, Method
from netcal.binning import HistogramBinning, IsotonicRegression
from netcal.scaling import BetaCalibration, TemperatureScaling

N_BINS = 20  # as many as ours


def fitted_on_probabilities(new: Callable[[], Any]) -> Method:
    """Return the method that fits a new calibrator of netcal."""

    def method(logits: np.ndarray, y: np.ndarray) -> Job:
        proba = softmax(logits)
        return Job(lambda: new().fit(proba, y), lambda fitted: fitted.transform(proba))

    return method


def beta_per_class(logits: np.ndarray, y: np.ndarray) -> Job:
    """Fit one binary beta calibration for each class; the maps of the predicted classes answer."""
    proba = softmax(logits)
    classes, prediction = range(proba.shape[1]), logits.argmax(axis=1)

    def fit() -> list[Any]:
        return [BetaCalibration().fit(proba[:, k], (y == k).astype(int)) for k in classes]

    def answer(fitted: list[Any]) -> np.ndarray:
        confidence = np.empty(len(y))
        for k in np.unique(prediction):
            rows = prediction == k
            confidence[rows] = np.ravel(fitted[k].transform(proba[rows, k]))
        return confidence

    return Job(fit, answer)


METHODS = {
    "temperature": fitted_on_probabilities(TemperatureScaling),
    "histogram": fitted_on_probabilities(lambda: HistogramBinning(bins=N_BINS, independent_probabilities=True)),
    "isotonic": fitted_on_probabilities(lambda: IsotonicRegression(independent_probabilities=True)),
    "beta, class by class": beta_per_class,
    "beta, jointly": fitted_on_probabilities(BetaCalibration),
}
