"""The experiments of the paper: data sets, target classifiers, suites, their bundles and the runner.

>>> from auxcal.experiments import suites
>>> suites.suite("r8-dan").sizes
(3000, 500, 1500)
"""

from typing import TYPE_CHECKING

from auxcal._lazy import lazy_exports

if TYPE_CHECKING:
    from auxcal.experiments import suites as suites
    from auxcal.experiments.methods import METHODS as METHODS
    from auxcal.experiments.results import Results as Results
    from auxcal.experiments.results import Row as Row
    from auxcal.experiments.runner import run as run

_HOMES = {
    "METHODS": "auxcal.experiments.methods",
    "Results": "auxcal.experiments.results",
    "Row": "auxcal.experiments.results",
    "run": "auxcal.experiments.runner",
    "suites": "auxcal.experiments.suites",
}

__all__ = list(_HOMES)

__getattr__, __dir__ = lazy_exports(__name__, _HOMES)
