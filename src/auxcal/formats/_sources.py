"""FORMATS, the registry of file formats, and opening files with it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from auxcal._errors import AuxcalError, FileFormatError, InvalidInputError
from auxcal._files import as_path
from auxcal.formats._csv import open_csv, open_standard_input, write_csv, write_standard_output
from auxcal.formats._format import Format, Source, shortened
from auxcal.formats._npy import open_npy
from auxcal.formats._npz import open_npz, write_npz
from auxcal.formats._parquet import open_parquet, write_parquet
from auxcal.formats._safetensors import open_safetensors, write_safetensors
from auxcal.formats._torch import open_torch

STANDARD = "-"
"""The path that means standard input or output."""

FORMATS: dict[str, Format] = {
    ".npz": Format(open_npz, write_npz),
    ".npy": Format(open_npy, most_files=2),
    ".csv": Format(open_csv, write_csv),
    ".parquet": Format(open_parquet, write_parquet),
    ".safetensors": Format(open_safetensors, write_safetensors),
    ".pt": Format(open_torch),
    ".pth": Format(open_torch),
    STANDARD: Format(open_standard_input, write_standard_output),
}
"""The registry of file formats, by file extension."""


def format_of(path: Path) -> Format:
    """Return the format of a file by its extension."""
    ending = STANDARD if str(path) == STANDARD else path.suffix.lower()
    if ending not in FORMATS:
        raise InvalidInputError(
            f"{path}: the extension must be one of {', '.join(key for key in FORMATS if key != STANDARD)}; got "
            f"{ending or 'none'}. Save it as one of these."
        )
    return FORMATS[ending]


@contextmanager
def open_source(*paths: str | os.PathLike[str]) -> Iterator[Source]:
    """Open a file, or a pair of files; every error in the block names it, so write outside of the block."""
    files = [as_path(path) for path in paths]
    if not files:
        raise InvalidInputError("name a file with logits.")
    formats = [format_of(file) for file in files]
    if len(files) > formats[0].most_files or len({id(format_) for format_ in formats}) > 1:
        raise InvalidInputError(
            f"expected one file, or two .npy files, logits and y; got {', '.join(map(str, files))}. Put logits and y "
            f"into one file."
        )
    for file in files:
        _check_exists(file)
    with _errors_name(files), formats[0].open(*files) as source:
        _check_unique(source.names)
        yield source


@contextmanager
def _errors_name(files: Sequence[Path]) -> Iterator[None]:
    """Prefix errors with the names of the files; turn an error of another library into one of ours."""
    names = " and ".join("standard input" if str(file) == STANDARD else str(file) for file in files)
    try:
        yield
    except AuxcalError as error:
        raise type(error)(f"{names}: {error}") from None
    except Exception as error:  # a damaged file can make the readers raise nearly anything
        raise FileFormatError(
            f"{names}: expected a complete {files[0].suffix.lower() or 'CSV'} file; reading it failed with "
            f"{shortened(f'{type(error).__name__}: {error}')}. Check it, or save it again."
        ) from error


def _check_exists(file: Path) -> None:
    if str(file) == STANDARD:
        return
    if not file.exists():
        raise FileNotFoundError(f"{file}: there is no such file. Check the name and the folder.")
    if file.is_dir():
        raise InvalidInputError(f"{file}: this is a folder. Name the file in it.")


def _check_unique(names: Sequence[str]) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise FileFormatError(f"the column {twice[0]!r} is there more than once. Remove or rename one of them.")
