"""Files that auxcal wrote: a command may replace these, and a calibrator among them is known as one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from auxcal.calibrators import Calibrator
    from auxcal.tables.discover import File

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
    from auxcal._core.errors import InvalidInputError

    if overwrite or str(path) == "-":
        return
    file = _file_at(path)
    if file is None or (own and _is_ours(file)):
        return
    raise InvalidInputError(f"{path}: this file is there already. Give another name, or --overwrite to replace it.")


def _file_at(path: Path | str) -> File | Path | None:
    """Return the file that is there, on this machine or where a URL leads; a folder is none."""
    from auxcal._core.files import is_url

    if not is_url(str(path)):  # and reading tables need not be imported
        return Path(path) if Path(path).is_file() else None
    from auxcal.tables.discover import as_file

    file = as_file(str(path))
    return file if file.exists() and not file.is_dir() else None


def load_first(calibrator: Path, files: Sequence[Path | str]) -> Calibrator:
    """Load the calibrator, which comes before the data; say so where the two are swapped."""
    from auxcal._core.errors import InvalidInputError
    from auxcal.persistence import load

    first = next((file for file in map(Path, files) if file.suffix == ".safetensors" and _is_calibrator(file)), None)
    if first is not None and not _is_calibrator(calibrator):
        raise InvalidInputError(f"the calibrator comes first, then the data: {first} {calibrator}.")
    return load(calibrator)


def _is_calibrator(file: Path) -> bool:
    return file.suffix == ".safetensors" and file.is_file() and _is_ours(file)


def _is_ours(file: File | Path) -> bool:
    sign = _SIGNS.get(file.suffix.lower())
    if sign is None:
        return False
    with file.open("rb") as opened:
        return sign in opened.read(_FIRST)
