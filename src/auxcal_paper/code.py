"""Which code a result depends on, so that a change invalidates only those results."""

from __future__ import annotations

import ast
import functools
import hashlib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from auxcal.calibrators import Calibrator

# What changes the numbers of a fit or of a score; files, messages and progress don't.
_MEASURING = (
    "auxcal._core.arrays",
    "auxcal._core.chunks",
    "auxcal._core.logits",
    "auxcal.predictions",
    "auxcal.splits",
    "auxcal.calibrators.",
    "auxcal.metrics",
)


@functools.cache
def code_digest(kind: type[Calibrator]) -> str:
    """Return a hash of the code that fits and measures a calibrator: its own file, and all that this imports.

    Comments, docstrings and blank lines do not count.

    Examples
    --------
    >>> from auxcal import CCAC, Dirichlet
    >>> from auxcal_paper.code import code_digest
    >>> code_digest(CCAC) == code_digest(Dirichlet)
    False
    """
    code = [
        f"{name}\n{ast.dump(tree)}" for name, tree in sorted(_all_imports(kind.__module__, "auxcal.metrics").items())
    ]
    return hashlib.sha256("\n".join(code).encode()).hexdigest()[:16]


def _all_imports(*names: str) -> dict[str, ast.Module]:
    """Return every module that the named ones import, directly or not, and its code."""
    found: dict[str, ast.Module] = {}
    todo = list(names)
    while todo:
        name = todo.pop()
        if name not in found:
            found[name] = _without_docstrings(ast.parse(_source(name).read_text(encoding="utf-8")))
            todo += [other for other in _imports(found[name]) if other.startswith(_MEASURING)]
    return found


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def _source(name: str) -> Path:
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"the source of {name} was not found, so its results can't be cached.")
    return Path(spec.origin)


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return tree
