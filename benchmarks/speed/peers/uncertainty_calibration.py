"""uncertainty-calibration takes probabilities: one map for each class is its marginal calibrator."""

import numpy as np
from benchmarks.speed.answers import softmax
from benchmarks.speed.peers import Job, Method
from calibration.calibrators import HistogramMarginalCalibrator, PlattBinnerMarginalCalibrator

N_BINS = 20  # as many as ours


def marginal(kind: type) -> Method:
    """Return the method that fits a marginal calibrator of that kind."""

    def method(logits: np.ndarray, y: np.ndarray) -> Job:
        proba = softmax(logits)

        def fit() -> object:
            calibrator = kind(len(y), N_BINS)
            calibrator.train_calibration(proba, y)
            return calibrator

        return Job(fit, lambda calibrator: calibrator.calibrate(proba))

    return method


METHODS = {
    "scaling-binning": marginal(PlattBinnerMarginalCalibrator),
    "histogram": marginal(HistogramMarginalCalibrator),
}
