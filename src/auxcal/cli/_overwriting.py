"""What a command may replace: what auxcal wrote and can write again, and nothing else unless it is asked to."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the output if it is there already.")]

_SIGNS = {
    ".html": b'name="generator" content="auxcal',
    ".safetensors": b'"__metadata__":{"auxcal"',
    ".onnx": b"auxcal",
    ".csv": b"data,method,label,best,",
    ".json": b'"verdict": "',
}
"""What the first bytes of reports, calibrators, models and the results of comparisons hold if auxcal wrote them."""

_FIRST = 4096


def refuse_overwrite(path: Path | str, *, overwrite: bool, own: bool = True) -> None:
    """Raise an error if a file is there already, unless it is auxcal's `own`, in which nobody fills in anything."""
    from auxcal._errors import InvalidInputError
    from auxcal.formats._stores import as_file

    file = as_file(path)
    there = file.is_file() if isinstance(file, Path) else file.exists() and not file.is_dir()
    if overwrite or str(path) == "-" or not there or (own and isinstance(file, Path) and _is_ours(file)):
        return
    raise InvalidInputError(f"{path}: this file is there already. Give another name, or --overwrite to replace it.")


def _is_ours(file: Path) -> bool:
    sign = _SIGNS.get(file.suffix.lower())
    if sign is None:
        return False
    with file.open("rb") as opened:
        return sign in opened.read(_FIRST)
