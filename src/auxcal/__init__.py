"""auxcal: an honest probability that your classifier is right."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from auxcal._arrays import NO_CLASS as NO_CLASS
    from auxcal.predictions import Predictions as Predictions

__version__ = "0.1.0"

_HOMES = {
    "NO_CLASS": "auxcal._arrays",
    "Predictions": "auxcal.predictions",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import auxcal` stays fast."""
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module 'auxcal' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
