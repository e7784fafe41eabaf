"""Public names that are imported when they are first used, so that importing a package costs next to nothing."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import Any


def lazy_exports(package: str, exports: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and `__dir__` of a package whose public names live in other modules.

    Its public modules are found too, without being listed.

    Parameters
    ----------
    package : str
        The ``__name__`` of the package.
    exports : mapping of str to str
        The module that each name lives in.

    Examples
    --------
    >>> from auxcal._core.lazy import lazy_exports
    >>> get, names = lazy_exports("auxcal_paper.shifts", {"Mixture": "auxcal_paper.shifts.mixtures"})
    >>> get("Mixture").__name__, get("mixtures").__name__
    ('Mixture', 'auxcal_paper.shifts.mixtures')
    >>> names()
    ['Mixture', 'adversarial', 'images', 'mixtures', 'text']
    """

    def get(name: str) -> Any:
        if name in exports:
            return getattr(import_module(exports[name]), name)
        if not name.startswith("_") and name in _modules(package):
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}; its public names are {', '.join(names())}")

    def names() -> list[str]:
        return sorted({*exports, *_modules(package)})

    return get, names


def _modules(package: str) -> list[str]:
    """Return the names of a package's public modules, none of which is imported."""
    found = iter_modules(vars(sys.modules[package]).get("__path__", []))
    return [module.name for module in found if not module.name.startswith("_")]
