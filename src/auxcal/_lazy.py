"""Public names that are imported when they are first used, so that importing a package costs next to nothing."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_exports(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and `__dir__` of a package whose public names live in other modules.

    Parameters
    ----------
    package : str
        The ``__name__`` of the package.
    homes : mapping of str to str
        The module that each name lives in; a name whose home ends in it is that module itself.

    Examples
    --------
    >>> from auxcal._lazy import lazy_exports
    >>> get, names = lazy_exports("auxcal", {"NO_CLASS": "auxcal._arrays"})
    >>> get("NO_CLASS"), names()
    (-1, ['NO_CLASS'])
    """

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(
                f"module {package!r} has no attribute {name!r}; its public names are {', '.join(sorted(homes))}"
            )
        module = import_module(homes[name])
        return module if homes[name] == f"{package}.{name}" else getattr(module, name)

    return get, lambda: sorted(homes)
