"""Files that auxcal wrote: a command may replace these, and a calibrator among them is known as one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from auxcal.calibrators import Calibrator

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

    file = Path(path)
    if overwrite or str(path) == "-" or not file.is_file() or (own and _is_ours(file)):
        return
    raise InvalidInputError(f"{path}: this file is there already. Give another name, or --overwrite to replace it.")


def load_first(calibrator: Path, files: Sequence[Path | str]) -> Calibrator:
    """Load the calibrator, which comes before the data; say so where the two are swapped."""
    from auxcal._errors import InvalidInputError
    from auxcal.persistence import load

    first = next((file for file in map(Path, files) if file.suffix == ".safetensors" and _is_calibrator(file)), None)
    if first is not None and not _is_calibrator(calibrator):
        raise InvalidInputError(f"the calibrator comes first, then the data: {first} {calibrator}.")
    return load(calibrator)


def _is_calibrator(file: Path) -> bool:
    return file.suffix == ".safetensors" and file.is_file() and _is_ours(file)


def _is_ours(file: Path) -> bool:
    sign = _SIGNS.get(file.suffix.lower())
    if sign is None:
        return False
    with file.open("rb") as opened:
        return sign in opened.read(_FIRST)
