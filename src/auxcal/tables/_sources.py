"""FORMATS, the registry of file formats, and opening files with it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from auxcal._core.errors import AuxcalError, FileFormatError, InvalidInputError
from auxcal._core.files import STANDARD, check_regular
from auxcal.tables._csv import open_csv, open_standard_input, write_csv, write_standard_output
from auxcal.tables._format import Format, Source, shortened
from auxcal.tables._joined import joined_source, with_keys
from auxcal.tables._manifest import check_whole
from auxcal.tables._npy import open_npy
from auxcal.tables._npz import open_npz, write_npz
from auxcal.tables._parquet import open_parquet, write_parquet
from auxcal.tables._parts import Part, find_parts, is_one_file
from auxcal.tables._safetensors import open_safetensors, write_safetensors
from auxcal.tables._stores import File, as_file, on_this_machine
from auxcal.tables._torch import open_torch

FORMATS: dict[str, Format] = {
    ".npz": Format(open_npz, write_npz),
    ".npy": Format(open_npy, most_files=2),
    ".csv": Format(open_csv, write_csv, reads_remote=True),
    ".parquet": Format(open_parquet, write_parquet, reads_remote=True),
    ".safetensors": Format(open_safetensors, write_safetensors),
    ".pt": Format(open_torch),
    ".pth": Format(open_torch),
    STANDARD: Format(open_standard_input, write_standard_output),
}
"""The registry of file formats, by file extension."""


def format_of(path: File) -> Format:
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
    """Open a file, a pair of files, or the parts of a table; every error in the block names them, so write outside."""
    if not paths:
        raise InvalidInputError("name a file with logits.")
    for path in paths:
        check_whole(as_file(path))
    parts = find_parts(*paths)
    kind = format_of_all(parts)
    pair = kind.most_files > 1
    if pair and (len(parts) > kind.most_files or not all(map(is_one_file, paths))):
        raise InvalidInputError(f"expected two .npy files, logits and y; got {_listed(parts)}. Name these two.")
    if pair or len(parts) == 1:
        with open_part(kind, *parts) as source:
            yield source
    else:
        with _errors_name([as_file(path) for path in paths], unless=[str(part.file) for part in parts]):
            yield joined_source(parts, partial(open_part, kind))


@contextmanager
def open_part(kind: Format, *parts: Part) -> Iterator[Source]:
    """Open a file, or a pair; every error in the block names them."""
    files = [part.file for part in parts]
    for file in files:
        if isinstance(file, Path) and str(file) != STANDARD:
            check_regular(file)
    with _errors_name(files), ExitStack() as stack:
        here = files if kind.reads_remote else [stack.enter_context(on_this_machine(file)) for file in files]
        source = stack.enter_context(kind.open(*here))
        _check_unique(source.names)
        yield with_keys(source, parts[0].keys)


def format_of_all(parts: Sequence[Part]) -> Format:
    """Return the one format of all parts."""
    endings = Counter(part.file.suffix.lower() for part in parts)
    if len(endings) > 1:
        kinds = ", ".join(f"{count} {ending or 'without extension'}" for ending, count in endings.most_common())
        raise InvalidInputError(
            f"expected files of one format; got {kinds}, of which {_listed(parts)}. Name those of one format with a "
            f"pattern, such as 'folder/*{endings.most_common(1)[0][0]}'."
        )
    return format_of(parts[0].file)


def _listed(parts: Sequence[Part]) -> str:
    return ", ".join(str(part.file) for part in parts[:3]) + (", …" if len(parts) > 3 else "")


@contextmanager
def _errors_name(files: Sequence[File], unless: Sequence[str] = ()) -> Iterator[None]:
    """Prefix errors with the names of the files; turn an error of another library into one of ours.

    An error that names a file of `unless` already stays as it is.
    """
    names = " and ".join("standard input" if str(file) == STANDARD else str(file) for file in files)
    try:
        yield
    except (Warning, FileNotFoundError):  # a warning that is to be an error, and what names its file already
        raise
    except AuxcalError as error:
        if str(error).startswith(tuple(unless)):
            raise
        raise type(error)(f"{names}: {error}") from None
    except Exception as error:  # a damaged file can make the readers raise nearly anything
        raise FileFormatError(
            f"{names}: expected a complete {files[0].suffix.lower() or 'CSV'} file; reading it failed with "
            f"{shortened(f'{type(error).__name__}: {error}')}. Check it, or save it again."
        ) from error


def _check_unique(names: Sequence[str]) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise FileFormatError(f"the column {twice[0]!r} is there more than once. Remove or rename one of them.")
