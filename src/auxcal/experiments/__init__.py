"""The experiments of the paper: data sets, target classifiers, suites, their bundles and the runner.

>>> from auxcal.experiments import suites
>>> suites.suite("r8-dan").sizes
(3000, 500, 1500)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
}

__all__ = ["METHODS", "Results", "Row", "run", "suites"]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that the runner's processes do not wait for the suites."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in __all__:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; its public names are {', '.join(__all__)}")
