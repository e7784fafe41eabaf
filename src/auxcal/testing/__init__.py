"""The conformance suite: what every calibrator and every metric promises, ready for your own.

>>> from auxcal import PlattScaling
>>> from auxcal.testing import check_calibrator
>>> check_calibrator(PlattScaling())
"""

from auxcal.calibrators import Calibrator, SignalCalibrator
from auxcal.metrics import Metric
from auxcal.testing._calibrator_checks import CALIBRATOR_CHECKS
from auxcal.testing._metric_checks import METRIC_CHECKS
from auxcal.testing._signal_checks import SIGNAL_CHECKS

__all__ = ["CALIBRATOR_CHECKS", "METRIC_CHECKS", "SIGNAL_CHECKS", "check_calibrator", "check_metric"]


def check_calibrator(calibrator: Calibrator) -> None:
    """Run every check of `CALIBRATOR_CHECKS` on copies of an unfitted calibrator; of signals, of `SIGNAL_CHECKS`.

    Parameters
    ----------
    calibrator : Calibrator
        With the arguments to test; fast settings keep the checks fast.

    Raises
    ------
    ConformanceError
        At the first check that fails.
    """
    if isinstance(calibrator, SignalCalibrator):
        for check_of_signals in SIGNAL_CHECKS:
            check_of_signals(calibrator)
        return
    for check in CALIBRATOR_CHECKS:
        check(calibrator)


def check_metric(metric: Metric) -> None:
    """Run every check of `METRIC_CHECKS` on a metric.

    Examples
    --------
    >>> from auxcal import METRICS
    >>> from auxcal.testing import check_metric
    >>> check_metric(METRICS["ece"])
    """
    for check in METRIC_CHECKS:
        check(metric)
