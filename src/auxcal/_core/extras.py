"""Optional packages: they come with the extras, and a missing one is a one-sentence error."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from auxcal._core.errors import MissingExtraError

EXTRAS = {
    "torch": ("torch",),
    "onnx": ("onnx",),
    "tables": ("pyarrow", "fsspec"),
    "cli": ("typer", "pyarrow", "fsspec", "jinja2"),
    "spark": ("pyspark",),
    "ray": ("ray",),
    "report": ("jinja2",),
    "plots": ("matplotlib",),
    "experiments": ("foolbox", "h5py", "onnx", "onnxruntime", "PIL"),
}
"""The extras, and the modules that each brings; joblib comes with scikit-learn."""


@contextmanager
def needs(extra: str) -> Iterator[None]:
    """Give a context for imports of optional packages; if one is missing, the error names the install command."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of third parties, not for our users
            yield
    except ImportError as error:
        if isinstance(error, MissingExtraError) or (error.name or "").startswith("auxcal"):
            raise
        raise MissingExtraError(f"{error}. In a clone of auxcal: pip install '.[{extra}]'", name=error.name) from error


def is_installed(extra: str) -> bool:
    """Whether all packages of an extra are there; none of them is imported."""
    try:
        return all(find_spec(module) is not None for module in EXTRAS[extra])
    except ImportError:  # of a finder that refuses
        return False
