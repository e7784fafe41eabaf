"""Public names that are imported when they are first used, so that importing a package costs next to nothing."""

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pkgutil import iter_modules
from types import ModuleType
from typing import Any


def lazy_exports(
    package: str, exports: Mapping[str, str], former: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and `__dir__` of a package, given the module that each of its public names lives in.

    Its public modules are found too, without being listed. A former name, given with the new one, works with a warning.
    """

    def get(name: str) -> Any:
        if former is not None and name in former:
            from auxcal._core.errors import AuxcalWarning

            new = former[name]
            warnings.warn(
                f"{package}.{name} is called {new} since 0.2, and the old name goes in 0.3. Use {package}.{new}.",
                AuxcalWarning,
                stacklevel=2,
            )
            name = new
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


class Moved(MetaPathFinder, Loader):
    """Finds the modules of a package that has moved: an import by an old path gives the very module at the new one."""

    def __init__(self, old: str, new: str) -> None:
        self._old, self._new = f"{old}.", f"{new}."

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how to load a module by its old path; None for all other modules."""
        return ModuleSpec(fullname, self) if fullname.startswith(self._old) else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module at the new path, whose own spec `exec_module` restores."""
        module = import_module(spec.name.replace(self._old, self._new, 1))
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restore the module's own spec; it was executed when it was imported."""
        if module.__spec__ is not None:
            module.__spec__ = module.__spec__.loader_state
