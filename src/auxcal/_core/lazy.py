"""Public names that are imported when they are first used, so that importing a package costs next to nothing."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import Any


def lazy_exports(package: str, exports: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and `__dir__` of a package, given the module that each of its public names lives in.

    Its public modules are attributes too, without being listed.
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
    """Return the names of a package's public modules without importing them."""
    modules = iter_modules(vars(sys.modules[package]).get("__path__", []))
    return [module.name for module in modules if not module.name.startswith("_")]
