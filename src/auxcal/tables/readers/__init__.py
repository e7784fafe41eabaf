"""FORMATS, the registry of file formats, and opening tables with it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from auxcal._core.errors import AuxcalError, FileFormatError, InvalidInputError
from auxcal._core.extras import needs
from auxcal._core.files import STANDARD
from auxcal.tables.batches import Batch, Format, InPart, Source
from auxcal.tables.parts import File, Part, as_file, check_complete, find_parts, shortened
from auxcal.tables.readers.csv_files import open_csv, open_standard_input, write_csv, write_standard_output
from auxcal.tables.readers.json_lines import open_json_lines, write_json_lines
from auxcal.tables.readers.named_arrays import (
    open_npy,
    open_npz,
    open_safetensors,
    open_torch,
    write_npz,
    write_safetensors,
)
from auxcal.tables.readers.parquet import open_parquet, write_parquet
from auxcal.tables.values import cast_as

with needs("tables"):
    import pyarrow as pa

FORMATS: dict[str, Format] = {
    ".npz": Format(open_npz, write_npz),
    ".npy": Format(open_npy, most_files=2),
    ".csv": Format(open_csv, write_csv),
    ".tsv": Format(open_csv),
    ".parquet": Format(open_parquet, write_parquet),
    ".jsonl": Format(open_json_lines, write_json_lines),
    ".safetensors": Format(open_safetensors, write_safetensors),
    ".pt": Format(open_torch),
    ".pth": Format(open_torch),
    STANDARD: Format(open_standard_input, write_standard_output),
}
"""The registry of file formats, by file extension."""


def format_of(file: File) -> Format:
    """Return the format of a file by its extension."""
    ending = STANDARD if str(file) == STANDARD else file.suffix.lower()
    if ending not in FORMATS:
        raise InvalidInputError(
            f"{file}: the extension must be one of {', '.join(key for key in FORMATS if key != STANDARD)}; got "
            f"{ending or 'none'}. Save it as one of these."
        )
    return FORMATS[ending]


def writable(file: File) -> Format:
    """Return the format of a file that is to be written."""
    kind = format_of(file)
    if kind.write is None:
        endings = ", ".join(ending for ending, each in FORMATS.items() if each.write and ending != STANDARD)
        raise InvalidInputError(f"{file}: such files are only read. Write one of {endings}, or a folder.")
    return kind


def format_of_all(parts: Sequence[Part]) -> Format:
    """Return the one format of all parts."""
    endings = Counter(part.file.suffix.lower() for part in parts)
    if len(endings) > 1:
        kinds = ", ".join(f"{count} {ending or 'without extension'}" for ending, count in endings.most_common())
        raise InvalidInputError(
            f"expected files of one format; got {kinds}: {_listed(parts)}. Name those of one format with a "
            f"pattern, such as 'folder/*{endings.most_common(1)[0][0]}'."
        )
    return format_of(parts[0].file)


@contextmanager
def open_source(*paths: str | os.PathLike[str]) -> Iterator[Source]:
    """Open a file, a pair of files, or the parts of a table; every error in the block names them, so write outside."""
    if not paths:
        raise InvalidInputError("name a file with logits.")
    files = [as_file(path) for path in paths]
    for file in files:
        check_complete(file)
    parts = find_parts(*paths)
    kind = format_of_all(parts)
    pair = kind.most_files > 1
    if pair and (len(parts) > kind.most_files or any(file.is_dir() or file.is_pattern for file in files)):
        raise InvalidInputError(f"expected two .npy files, logits and y; got {_listed(parts)}. Name these two.")
    if pair or len(parts) == 1:
        with open_part(kind, *parts) as source:
            yield source
    else:
        with _errors_name(files, unless=[str(part.file) for part in parts]), _joined(kind, parts) as source:
            yield source


@contextmanager
def open_part(kind: Format, *parts: Part) -> Iterator[Source]:
    """Open a file, or a pair; every error in the block names them. At its end, a file that has changed is an error."""
    files = [part.file for part in parts]
    for file in files:
        if str(file) != STANDARD:
            file.check()
    with _errors_name(files), kind.open(*files) as source:
        counts = Counter(source.names)
        if len(counts) < len(source.names):
            twice = next(name for name, count in counts.items() if count > 1)
            raise FileFormatError(f"the column {twice!r} is there more than once. Remove or rename one of them.")
        yield _with_keys(source, parts[0].keys)
        if any(part.has_changed() for part in parts):
            raise FileFormatError("this file was written to while it was read. Wait until it is whole.")


@contextmanager
def _joined(kind: Format, parts: Sequence[Part]) -> Iterator[Source]:
    """Give the rows of all parts of a table, one after the other; one part is open at a time."""
    parts = [part for part in parts if not part.is_blank] or parts
    with open_part(kind, parts[0]) as first:
        about = first

    @contextmanager
    def opened(part: Part) -> Iterator[Source]:
        with open_part(kind, part) as source:
            check_names(source.names, part, about.names, parts[0])
            yield source

    def kinds_of(first: Batch, wanted: Sequence[str], later: Sequence[Part]) -> dict[str, pa.DataType]:
        """Return the types of columns; those without a single value have the one of a later part."""
        kinds = {name: first[name].type for name in wanted}
        for part in later:
            if not (untyped := [name for name, kind in kinds.items() if pa.types.is_null(kind)]):
                break
            with opened(part) as source:
                batch = next(source.batches([], untyped))
            kinds |= {name: batch[name].type for name in untyped}
        return kinds

    def batches(numbers: Sequence[str], others: Sequence[str]) -> Iterator[Batch]:
        total = max(sum(part.size for part in parts), 1)
        before, n_rows = 0, 0  # bytes of the parts that are read, and rows that were given
        kinds: dict[str, pa.DataType] = {}
        for place, part in enumerate(parts):
            start = n_rows
            with opened(part) as source:
                for batch in source.batches(numbers, others):
                    last = batch
                    if not len(batch):
                        continue
                    kinds = kinds or kinds_of(batch, others, parts[place + 1 :])
                    done = (before + (batch.done or 0) * part.size) / total
                    yield Batch(_cast(batch.rows, kinds), done, InPart(str(part.file), n_rows - start))
                    n_rows += len(batch)
            before += part.size
        if not n_rows:
            yield last

    yield replace(about, batches=batches)


def _cast(rows: pa.RecordBatch, kinds: Mapping[str, pa.DataType]) -> pa.RecordBatch:
    """Return rows with the types of the first part."""
    if all(kinds.get(field.name, field.type) == field.type for field in rows.schema):
        return rows
    return pa.RecordBatch.from_pydict(
        {name: cast_as(rows[name], kinds.get(name, rows[name].type), name) for name in rows.schema.names}
    )


def check_names(names: Sequence[str], part: Part, expected: Sequence[str], first: Part) -> None:
    """Refuse a part with other columns than the first."""
    known, new = set(expected), set(names)
    both = (("lacks", [name for name in expected if name not in new]), ("adds", [n for n in names if n not in known]))
    differ = [f"{verb} {', '.join(map(repr, some[:3]))}" for verb, some in both if some]
    if differ:
        raise InvalidInputError(
            f"expected the columns of the first part, {first.file}; this one {' and '.join(differ)}. Name the parts "
            f"that belong together, or repair it."
        )


def _with_keys(source: Source, keys: Mapping[str, str]) -> Source:
    """Return a source with the keys of its partition as columns, where it has none of that name."""
    added = {name: value for name, value in keys.items() if name not in source.names}
    if not added:
        return source

    def batches(numbers: Sequence[str], others: Sequence[str]) -> Iterator[Batch]:
        read = [[name for name in names if name not in added] for names in (numbers, others)]
        if not any(read):  # some column must tell how many rows there are
            read = [[], [source.names[0]]]
        for batch in source.batches(*read):
            rows = batch.rows
            for name in dict.fromkeys((*numbers, *others)):
                if name in added:
                    rows = rows.append_column(name, pa.repeat(added[name], len(rows)))
            yield replace(batch, rows=rows)

    return replace(source, names=(*source.names, *added), batches=batches)


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
