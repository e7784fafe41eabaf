"""The files that a command reads and writes: no input and nothing that a user wrote is replaced unasked."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from auxcal._core.errors import AuxcalError, InvalidInputError
from auxcal._core.files import check_writable, is_url

if TYPE_CHECKING:
    from auxcal.calibrators import Calibrator
    from auxcal.tables import File

_SIGNATURES = {
    ".html": b'name="generator" content="auxcal',
    ".safetensors": b'"__metadata__":{"auxcal"',
    ".onnx": b"auxcal",
    ".csv": b"data,method,label,best,",
    ".json": b'"verdict": "',
    ".prom": b"# HELP auxcal_",
}
"""What reports, calibrators, models, metrics and the results of comparisons begin with if auxcal wrote them."""

_SIGNATURE_WITHIN = 4096  # bytes: a block of most file systems; every signature comes long before


def refuse_overwrite(path: Path | str, *, overwrite: bool, own: bool = True) -> None:
    """Raise an error if the output exists, unless auxcal wrote it itself and nobody edits such files (`own`)."""
    if overwrite or str(path) == "-":
        return
    file = _existing(path)
    if file is None or (own and _is_own(file)):
        return
    raise InvalidInputError(f"{path}: this file is there already. Give another name, or --overwrite to replace it.")


def input_paths(arguments: Mapping[str, Any]) -> list[Path]:
    """Return the paths on this machine among the arguments of a command, but for its output."""
    others = {name: value for name, value in arguments.items() if name != "out"}
    names = others.pop("class_names", None)
    values = chain.from_iterable(value if isinstance(value, list) else [value] for value in others.values())
    paths = [value for value in values if isinstance(value, Path)]
    return [*paths, Path(names)] if names and os.path.isfile(names) else paths  # noqa: PTH113 (too long for a Path)


def check_out(path: Path, what: str = "a calibrator", suffix: str = ".safetensors", *, overwrite: bool) -> None:
    """Raise an error, before the work starts, if what has this extension can't be saved there."""
    if path.suffix != suffix:
        raise InvalidInputError(f"{path}: {what} is a {suffix} file. Save it as {path.stem}{suffix}.")
    refuse_overwrite(path, overwrite=overwrite)
    check_writable(path)


def load_calibrator(path: Path, data: Sequence[Path | str] = ()) -> Calibrator:
    """Load the calibrator that is given before the files of `data`; where the two are swapped, say so."""
    from auxcal.persistence import load

    swapped = next((file for file in map(Path, data) if _is_calibrator(file)), None)
    if swapped is not None and not _is_calibrator(path):
        raise InvalidInputError(f"the calibrator comes first, then the data: {swapped} {path}.")
    return load(path)


def with_calibrator_of_state(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a command with a state, which knows its calibrator: then that may be left out."""
    calibrator, files, state = arguments["calibrator"], list(arguments["files"] or ()), arguments["state"]
    if state is not None and state.is_file() and not _is_calibrator(calibrator):
        from auxcal.monitoring import calibrator_path_of

        files, calibrator = [calibrator, *files], Path(calibrator_path_of(state))
    if not files:
        raise InvalidInputError("name a file with logits, after the calibrator.")
    return arguments | {"calibrator": calibrator, "files": files}


@contextmanager
def errors_about(*paths: Path | str) -> Iterator[None]:
    """Prefix an error about the contents of files with their names."""
    try:
        yield
    except AuxcalError as error:
        raise type(error)(f"{' and '.join(map(str, paths))}: {error}") from None


def _existing(path: Path | str) -> File | Path | None:
    """Return the file that exists at a path or URL; a folder is none."""
    if not is_url(str(path)):
        return Path(path) if Path(path).is_file() else None
    from auxcal.tables import as_file

    file = as_file(str(path))
    return file if file.exists() and not file.is_dir() else None


def _is_calibrator(file: Path) -> bool:
    return file.suffix == ".safetensors" and file.is_file() and _is_own(file)


def _is_own(file: File | Path) -> bool:
    signature = _SIGNATURES.get(file.suffix.lower())
    if signature is None:
        return False
    with file.open("rb") if isinstance(file, Path) else file.open() as opened:
        return signature in opened.read(_SIGNATURE_WITHIN)
