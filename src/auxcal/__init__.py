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
    from auxcal.calibrators import CCACX as CCACX
    from auxcal.calibrators import BetaCalibration as BetaCalibration
    from auxcal.calibrators import Calibrator as Calibrator
    from auxcal.calibrators import Certificate as Certificate
    from auxcal.calibrators import Dirichlet as Dirichlet
    from auxcal.calibrators import DistributionCalibrator as DistributionCalibrator
    from auxcal.calibrators import EnsembleTemperatureScaling as EnsembleTemperatureScaling
    from auxcal.calibrators import HistogramBinning as HistogramBinning
    from auxcal.calibrators import IsotonicCalibration as IsotonicCalibration
    from auxcal.calibrators import MatrixScaling as MatrixScaling
    from auxcal.calibrators import PlattScaling as PlattScaling
    from auxcal.calibrators import ProbaCalibrator as ProbaCalibrator
    from auxcal.calibrators import ScalingBinning as ScalingBinning
    from auxcal.calibrators import SignalCalibrator as SignalCalibrator
    from auxcal.calibrators import SimplifiedCCAC as SimplifiedCCAC
    from auxcal.calibrators import SplineCalibration as SplineCalibration
    from auxcal.calibrators import StructuredMatrixScaling as StructuredMatrixScaling
    from auxcal.calibrators import StructuredVectorScaling as StructuredVectorScaling
    from auxcal.calibrators import TemperatureScaling as TemperatureScaling
    from auxcal.calibrators import Uncalibrated as Uncalibrated
    from auxcal.calibrators import VectorScaling as VectorScaling
    from auxcal.inputs import FittedOn as FittedOn
    from auxcal.inputs import Inputs as Inputs
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
    from auxcal.sklearn import CalibratedClassifier as CalibratedClassifier

__version__ = VERSION

_NAMES = {
    "auxcal._core.arrays": "NO_CLASS floor_logits",
    "auxcal._core.errors": (
        "AuxcalError AuxcalWarning ConformanceError ConvergenceWarning FileFormatError FileWriteError InputWarning "
        "InvalidInputError MissingDataError MissingExtraError NotFittedError UndefinedMetricWarning"
    ),
    "auxcal.calibrators": (
        "BetaCalibration CALIBRATORS CCAC CCACX Calibrator Certificate Dirichlet DistributionCalibrator "
        "EnsembleTemperatureScaling HistogramBinning IsotonicCalibration MatrixScaling PlattScaling ProbaCalibrator "
        "ScalingBinning SignalCalibrator SimplifiedCCAC SplineCalibration StructuredMatrixScaling "
        "StructuredVectorScaling TemperatureScaling Uncalibrated VectorScaling"
    ),
    "auxcal.sklearn": "CalibratedClassifier",
    "auxcal.report.comparison": "Comparison compare",
    "auxcal.inputs": "FittedOn Inputs",
    "auxcal.metrics": "METRICS evaluate evaluate_by",
    "auxcal.monitoring": "Monitor check",
    "auxcal.persistence": "load save",
    "auxcal.predictions": "Predictions",
}
_EXPORTS = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = sorted(_EXPORTS)

__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
