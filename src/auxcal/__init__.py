"""auxcal: an honest probability that your classifier is right, where it meets data it was not trained on.

>>> import auxcal
>>> logits = [[4.0, 0.0, 1.0], [3.0, 2.5, 0.0], [0.0, 5.0, 1.0], [2.0, 0.0, 1.9]] * 50
>>> y = [0, 1, 1, auxcal.NO_CLASS] * 50
>>> calibrator = auxcal.PlattScaling().fit(logits, y)
>>> calibrator.predict_confidence([[4.0, 0.0, 1.0], [2.0, 0.0, 1.9]]).round(1)
array([1., 0.])
"""

from typing import TYPE_CHECKING

from auxcal._core.lazy import lazy_exports
from auxcal._version import VERSION

if TYPE_CHECKING:
    from auxcal._core.arrays import NO_CLASS as NO_CLASS
    from auxcal._core.arrays import floor_logits as floor_logits
    from auxcal._core.errors import AuxcalError as AuxcalError
    from auxcal._core.errors import AuxcalWarning as AuxcalWarning
    from auxcal._core.errors import ConformanceError as ConformanceError
    from auxcal._core.errors import ConvergenceWarning as ConvergenceWarning
    from auxcal._core.errors import FileFormatError as FileFormatError
    from auxcal._core.errors import FileWriteError as FileWriteError
    from auxcal._core.errors import InputWarning as InputWarning
    from auxcal._core.errors import InvalidInputError as InvalidInputError
    from auxcal._core.errors import MissingDataError as MissingDataError
    from auxcal._core.errors import MissingExtraError as MissingExtraError
    from auxcal._core.errors import NotFittedError as NotFittedError
    from auxcal._core.errors import UndefinedMetricWarning as UndefinedMetricWarning
    from auxcal.calibrators import CALIBRATORS as CALIBRATORS
    from auxcal.calibrators import CCAC as CCAC
    from auxcal.calibrators import BetaCalibration as BetaCalibration
    from auxcal.calibrators import Calibrator as Calibrator
    from auxcal.calibrators import Certificate as Certificate
    from auxcal.calibrators import CrossFittedCCAC as CrossFittedCCAC
    from auxcal.calibrators import Dirichlet as Dirichlet
    from auxcal.calibrators import DistributionCalibrator as DistributionCalibrator
    from auxcal.calibrators import EnsembleTemperatureScaling as EnsembleTemperatureScaling
    from auxcal.calibrators import HistogramBinning as HistogramBinning
    from auxcal.calibrators import IsotonicCalibration as IsotonicCalibration
    from auxcal.calibrators import MatrixScaling as MatrixScaling
    from auxcal.calibrators import PlattScaling as PlattScaling
    from auxcal.calibrators import ProbaCalibrator as ProbaCalibrator
    from auxcal.calibrators import ScalingBinning as ScalingBinning
    from auxcal.calibrators import SimplifiedCCAC as SimplifiedCCAC
    from auxcal.calibrators import SplineCalibration as SplineCalibration
    from auxcal.calibrators import StructuredMatrixScaling as StructuredMatrixScaling
    from auxcal.calibrators import StructuredVectorScaling as StructuredVectorScaling
    from auxcal.calibrators import TemperatureScaling as TemperatureScaling
    from auxcal.calibrators import Uncalibrated as Uncalibrated
    from auxcal.calibrators import VectorScaling as VectorScaling
    from auxcal.inputs import FittedOn as FittedOn
    from auxcal.inputs import Inputs as Inputs
    from auxcal.integrations.sklearn import CalibratedClassifier as CalibratedClassifier
    from auxcal.metrics import METRICS as METRICS
    from auxcal.metrics import evaluate as evaluate
    from auxcal.metrics import evaluate_by as evaluate_by
    from auxcal.monitoring import Monitor as Monitor
    from auxcal.monitoring import check as check
    from auxcal.persistence import load as load
    from auxcal.persistence import save as save
    from auxcal.predictions import Predictions as Predictions
    from auxcal.report.comparison import Comparison as Comparison
    from auxcal.report.comparison import compare as compare

__version__ = VERSION

_EXPORTS = {
    "AuxcalError": "auxcal._core.errors",
    "AuxcalWarning": "auxcal._core.errors",
    "BetaCalibration": "auxcal.calibrators",
    "CALIBRATORS": "auxcal.calibrators",
    "CCAC": "auxcal.calibrators",
    "CalibratedClassifier": "auxcal.classifier",
    "Calibrator": "auxcal.calibrators",
    "Certificate": "auxcal.calibrators",
    "Comparison": "auxcal.comparison",
    "ConformanceError": "auxcal._core.errors",
    "ConvergenceWarning": "auxcal._core.errors",
    "CrossFittedCCAC": "auxcal.calibrators",
    "Dirichlet": "auxcal.calibrators",
    "DistributionCalibrator": "auxcal.calibrators",
    "EnsembleTemperatureScaling": "auxcal.calibrators",
    "FileFormatError": "auxcal._core.errors",
    "FileWriteError": "auxcal._core.errors",
    "FittedOn": "auxcal.inputs",
    "HistogramBinning": "auxcal.calibrators",
    "InputWarning": "auxcal._core.errors",
    "Inputs": "auxcal.inputs",
    "InvalidInputError": "auxcal._core.errors",
    "IsotonicCalibration": "auxcal.calibrators",
    "METRICS": "auxcal.metrics",
    "MatrixScaling": "auxcal.calibrators",
    "MissingDataError": "auxcal._core.errors",
    "MissingExtraError": "auxcal._core.errors",
    "Monitor": "auxcal.monitoring",
    "NO_CLASS": "auxcal._core.arrays",
    "NotFittedError": "auxcal._core.errors",
    "PlattScaling": "auxcal.calibrators",
    "Predictions": "auxcal.predictions",
    "ProbaCalibrator": "auxcal.calibrators",
    "ScalingBinning": "auxcal.calibrators",
    "SimplifiedCCAC": "auxcal.calibrators",
    "SplineCalibration": "auxcal.calibrators",
    "StructuredMatrixScaling": "auxcal.calibrators",
    "StructuredVectorScaling": "auxcal.calibrators",
    "TemperatureScaling": "auxcal.calibrators",
    "Uncalibrated": "auxcal.calibrators",
    "UndefinedMetricWarning": "auxcal._core.errors",
    "VectorScaling": "auxcal.calibrators",
    "check": "auxcal.monitoring",
    "compare": "auxcal.comparison",
    "evaluate": "auxcal.metrics",
    "evaluate_by": "auxcal.metrics",
    "floor_logits": "auxcal._core.arrays",
    "load": "auxcal.persistence",
    "save": "auxcal.persistence",
}

__all__ = list(_EXPORTS)

__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
