"""The experiments of the paper: data sets, target classifiers, suites, their bundles and the runner.

>>> from auxcal_paper import suites
>>> suites.suite("r8-dan").sizes
(3000, 500, 1500)
"""

from typing import TYPE_CHECKING

from auxcal._core.lazy import lazy_exports

if TYPE_CHECKING:
    from auxcal_paper import suites as suites
    from auxcal_paper.methods import METHODS as METHODS
    from auxcal_paper.results import Results as Results
    from auxcal_paper.results import Row as Row
    from auxcal_paper.runner import run as run

_EXPORTS = {
    "METHODS": "auxcal_paper.methods",
    "Results": "auxcal_paper.results",
    "Row": "auxcal_paper.results",
    "run": "auxcal_paper.runner",
}

__all__ = [*_EXPORTS, "suites"]

__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
