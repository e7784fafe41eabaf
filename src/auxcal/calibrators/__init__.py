"""Calibrators: one file per method, and CALIBRATORS, the registry."""

from auxcal._core.text import one_of
from auxcal.calibrators.base import Calibrator, DistributionCalibrator, ProbaCalibrator
from auxcal.calibrators.beta_calibration import BetaCalibration
from auxcal.calibrators.ccac import CCAC
from auxcal.calibrators.ccac_x.method import CCACX
from auxcal.calibrators.dirichlet import Dirichlet
from auxcal.calibrators.ensemble_temperature_scaling import EnsembleTemperatureScaling
from auxcal.calibrators.histogram_binning import HistogramBinning
from auxcal.calibrators.isotonic_calibration import IsotonicCalibration
from auxcal.calibrators.matrix_scaling import MatrixScaling
from auxcal.calibrators.platt_scaling import PlattScaling
from auxcal.calibrators.scaling_binning import ScalingBinning
from auxcal.calibrators.signal_calibrator import SignalCalibrator
from auxcal.calibrators.simplified_ccac import SimplifiedCCAC
from auxcal.calibrators.spline_calibration import SplineCalibration
from auxcal.calibrators.structured_scaling import StructuredMatrixScaling, StructuredVectorScaling
from auxcal.calibrators.temperature_scaling import TemperatureScaling
from auxcal.calibrators.uncalibrated import Uncalibrated
from auxcal.calibrators.vector_scaling import VectorScaling
from auxcal.thresholds.certificate import Certificate

CALIBRATORS: dict[str, type[Calibrator]] = {
    "uncalibrated": Uncalibrated,
    "temperature": TemperatureScaling,
    "scaling-binning": ScalingBinning,
    "dirichlet": Dirichlet,
    "ccac": CCAC,
    "ccac-s": SimplifiedCCAC,
    "ccac-x": CCACX,
    "ensemble-temperature": EnsembleTemperatureScaling,
    "vector": VectorScaling,
    "matrix": MatrixScaling,
    "structured-vector": StructuredVectorScaling,
    "structured-matrix": StructuredMatrixScaling,
    "platt": PlattScaling,
    "beta": BetaCalibration,
    "histogram": HistogramBinning,
    "isotonic": IsotonicCalibration,
    "spline": SplineCalibration,
}
"""The one list of calibrators; the first six are those of the paper's tables."""


def method_named(name: str) -> str:
    """Return the name in `CALIBRATORS` of a method, given that or its abbreviation, in capitals or not."""
    return one_of(name, {key: kind.abbreviation for key, kind in CALIBRATORS.items()}, "the method")


def seeded(kind: type[Calibrator], random_state: int) -> Calibrator:
    """Return an unfitted calibrator, with the random state if the method takes one."""
    calibrator = kind()
    if "random_state" in calibrator.get_params():
        calibrator.set_params(random_state=random_state)
    return calibrator


__all__ = [
    "CALIBRATORS",
    "CCAC",
    "CCACX",
    "BetaCalibration",
    "Calibrator",
    "Certificate",
    "Dirichlet",
    "DistributionCalibrator",
    "EnsembleTemperatureScaling",
    "HistogramBinning",
    "IsotonicCalibration",
    "MatrixScaling",
    "PlattScaling",
    "ProbaCalibrator",
    "ScalingBinning",
    "SignalCalibrator",
    "SimplifiedCCAC",
    "SplineCalibration",
    "StructuredMatrixScaling",
    "StructuredVectorScaling",
    "TemperatureScaling",
    "Uncalibrated",
    "VectorScaling",
]
