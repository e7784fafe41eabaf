"""auxcal itself."""

import numpy as np
from benchmarks.speed.answers import ODIR
from benchmarks.speed.peers import Job, Method

import auxcal


def distribution(kind: type[auxcal.DistributionCalibrator]) -> Method:
    """Return the method that fits a calibrator of the whole distribution."""

    def method(logits: np.ndarray, y: np.ndarray) -> Job:
        return Job(lambda: kind().fit(logits, y), lambda fitted: fitted.predict_proba(logits))

    return method


def per_class(kind: type[auxcal.Calibrator], **options: str) -> Method:
    """Return the method that fits one map for each class, as the peers do."""

    def method(logits: np.ndarray, y: np.ndarray) -> Job:
        return Job(
            lambda: kind(scheme="per-class", **options).fit(logits, y),
            lambda fitted: fitted.predict_confidence(logits),
        )

    return method


def dirichlet(logits: np.ndarray, y: np.ndarray) -> Job:
    """Fit with one fixed strength of both penalties."""
    return Job(
        lambda: auxcal.Dirichlet(off_diagonal=ODIR, intercept=ODIR).fit(logits, y),
        lambda fitted: (fitted.weight_, fitted.bias_),
    )


METHODS = {
    "temperature": distribution(auxcal.TemperatureScaling),
    "vector": distribution(auxcal.VectorScaling),
    "matrix": distribution(auxcal.MatrixScaling),
    "dirichlet": dirichlet,
    "ensemble-temperature": distribution(auxcal.EnsembleTemperatureScaling),
    "scaling-binning": per_class(auxcal.ScalingBinning),
    "histogram": per_class(auxcal.HistogramBinning, strategy="width"),
    "isotonic": per_class(auxcal.IsotonicCalibration),
    "beta": per_class(auxcal.BetaCalibration),
}
