"""Which files a path, a folder, a pattern or a URL stands for, here or in a store: the parts of one table, in order.

Stores are `s3://`, `gs://`, `abfs://` and `hdfs://`, by pyarrow, and what else an installed package of fsspec knows.
"""

# ruff: noqa: D102  (the methods of RemoteFile are documented in LocalFile)

from __future__ import annotations

import io
import os
import re
import tempfile
import textwrap
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from hashlib import file_digest
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, NamedTuple, TypeAlias
from urllib.parse import unquote, urlsplit

from auxcal._core.errors import AuxcalError, InvalidInputError
from auxcal._core.extras import needs
from auxcal._core.files import (
    as_path,
    atomic_write,
    check_regular,
    files_at,
    is_hidden,
    is_pattern,
    is_url,
    local_path,
    matches,
    split_pattern,
    temporary_name,
)

MANIFEST, SUCCESS = "_auxcal.json", "_SUCCESS"
"""What `auxcal score` writes into a folder: the record of what was scored, and that it is complete."""

_KEY = re.compile(r"([^=]+)=(.*)")  # a folder as hive names it: day=2024-05-01
_HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"
_BY_ARROW = ("s3", "gs", "gcs", "abfs", "abfss", "hdfs", "viewfs")  # whose stores pyarrow opens itself
_SHOWN_WHEN_WHOLE = ("s3", "gcs", "abfs")  # where an upload is seen when it is complete
_REQUEST_BYTES = 2**22  # read at a time from a store: a request takes about as long as so many bytes


def shortened(reason: str) -> str:
    """Shorten another library's message to one line; some quote a whole row."""
    return textwrap.shorten(reason, 200, placeholder=" …").rstrip(".")


class _Place(ABC):
    """The path of a file, folder or pattern, here or elsewhere."""

    is_local: bool = True

    def __fspath__(self) -> str:
        return str(self)

    @property
    @abstractmethod
    def place(self) -> str:
        """Its path from the root of the file system."""

    @property
    def real(self) -> str:
        """That path behind all links."""
        return self.place

    @property
    def name(self) -> str:
        """The last part of its path."""
        return PurePosixPath(self.place).name

    @property
    def suffix(self) -> str:
        """The extension."""
        return PurePosixPath(self.place).suffix

    def is_below(self, folder: _Place) -> bool:
        """Whether it is in a folder, however deep, or the folder itself; links are followed."""
        return self.is_local == folder.is_local and f"{self.real}/".startswith(f"{folder.real}/")

    def split(self) -> tuple[str, list[str]]:
        """Return the folders without a wildcard at the beginning, and the names after them."""
        fixed, pattern = split_pattern(self.place.split("/"))
        return "/".join(fixed) or "/", pattern


@dataclass(frozen=True)
class LocalFile(_Place):
    """A file, folder or pattern on this machine."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)

    def __truediv__(self, name: str) -> LocalFile:
        return LocalFile(self.path / name)

    @property
    def place(self) -> str:
        return os.path.abspath(self.path)  # noqa: PTH100  (which follows links)

    @property
    def real(self) -> str:
        return os.path.realpath(self.path)

    @property
    def is_pattern(self) -> bool:
        """Whether it has wildcards, and is not itself the name of a file."""
        return is_pattern(self.path)

    def exists(self) -> bool:
        return self.path.exists()

    def is_dir(self) -> bool:
        return self.path.is_dir()

    def open(self) -> BinaryIO:
        return self.path.open("rb")

    def parts(self) -> Iterator[Part]:
        """Yield the files that it stands for, without those whose names begin with a dot or an underscore."""
        for path in files_at(self.path):
            state = path.stat() if path.exists() else None  # to open a missing one is an error; - is standard input
            yield Part(LocalFile(path), *((state.st_size, state.st_mtime_ns) if state else (0, 0)))

    def check(self) -> None:
        """Reject missing and non-regular files."""
        check_regular(self.path)

    def local(self) -> AbstractContextManager[Path]:
        """Give its path on this machine, or that of a copy."""
        return nullcontext(self.path)

    def atomic_write(self) -> AbstractContextManager[Path]:
        """Give a temporary path on this machine; the file appears when the block ends without an error, whole."""
        return atomic_write(self.path)

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)


@dataclass(frozen=True)
class RemoteFile(_Place):
    """A file, folder or pattern elsewhere: its file system of pyarrow, its name there, and its URL without keys."""

    filesystem: Any
    path: str
    shown: str
    is_local = False

    @classmethod
    def at(cls, url: str) -> RemoteFile:
        """Return what a URL names; its query holds options, such as `?region=eu-west-1`."""
        with _reaching(url.partition("?")[0].rpartition("@")[2]):
            parts = urlsplit(url, allow_fragments=False)
        home = f"{parts.scheme}://{parts.netloc}/" + (f"?{parts.query}" if parts.query else "")
        shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{unquote(parts.path)}".rstrip("/")
        with _reaching(shown):
            filesystem, root = _filesystem(home)
        path = f"{root.rstrip('/')}/{unquote(parts.path).strip('/')}".rstrip("/")
        return cls(filesystem, path or "/", shown)

    def __str__(self) -> str:
        return self.shown

    def __truediv__(self, name: str) -> RemoteFile:
        return replace(self, path=f"{self.path.rstrip('/')}/{name}", shown=f"{self.shown.rstrip('/')}/{name}")

    @property
    def place(self) -> str:
        return self.path

    @property
    def is_pattern(self) -> bool:
        return bool(self.split()[1])

    def check(self) -> None:
        if not self.exists():
            raise FileNotFoundError(f"{self}: there is no such file or folder. Check the address.")

    def _info(self) -> Any:
        with _reaching(self):
            return self.filesystem.get_file_info(self.path)

    def exists(self) -> bool:
        return bool(self._info().type.name != "NotFound")

    def is_dir(self) -> bool:
        return bool(self._info().type.name == "Directory")

    def open(self) -> BinaryIO:
        with _reaching(self):
            return io.BufferedReader(self.filesystem.open_input_file(self.path), _REQUEST_BYTES)

    def parts(self) -> Iterator[Part]:
        from pyarrow.fs import FileSelector, FileType

        info = self._info()
        if info.type == FileType.File:
            yield Part(self, info.size, info.mtime_ns or 0)
            return
        fixed, pattern = self.split()
        if not pattern:
            self.check()
        path, shown = (text.rsplit("/", len(pattern))[0] if pattern else text for text in (self.path, self.shown))
        folder = replace(self, path=path, shown=shown)
        with _reaching(self):
            listed = self.filesystem.get_file_info(FileSelector(fixed, allow_not_found=True, recursive=True))
        for info in listed:
            below = info.path[len(fixed) :].strip("/")
            names = below.split("/")
            if info.type == FileType.File and not any(map(is_hidden, names)) and matches(names, pattern):
                yield Part(folder / below, info.size, info.mtime_ns or 0)

    @contextmanager
    def local(self) -> Iterator[Path]:
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / self.name
            _copy(self.path, self.filesystem, str(copy), None)
            yield copy

    @contextmanager
    def atomic_write(self) -> Iterator[Path]:
        """Send a file in one go: object stores show it when all has arrived, other systems get a hidden name first."""
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / self.name
            yield copy
            with _reaching(self):
                if self.filesystem.type_name in _SHOWN_WHEN_WHOLE:
                    _copy(str(copy), None, self.path, self.filesystem)
                    return
                parent, _, name = self.path.rpartition("/")
                self.filesystem.create_dir(parent or "/", recursive=True)
                hidden = replace(self, path=f"{parent}/{temporary_name(name)}")
                try:
                    _copy(str(copy), None, hidden.path, self.filesystem)
                    self.filesystem.move(hidden.path, self.path)
                except BaseException:
                    hidden.remove()
                    raise

    def remove(self) -> None:
        if self.exists():
            with _reaching(self):
                self.filesystem.delete_file(self.path)


File: TypeAlias = LocalFile | RemoteFile
"""A file, folder or pattern, on this machine or elsewhere."""


def digest(file: File) -> str:
    """Return the SHA-256 of what a file contains."""
    with file.open() as opened:
        return file_digest(opened, "sha256").hexdigest()  # type: ignore[arg-type]  # what opens files has readinto


def as_file(path: str | os.PathLike[str]) -> File:
    """Return what a path or URL names."""
    if isinstance(path, File):
        return path
    if not isinstance(path, str) or not is_url(path):
        return LocalFile(as_path(path))
    here = local_path(path)
    return RemoteFile.at(path) if here is None else LocalFile(here)


@contextmanager
def _reaching(shown: object) -> Iterator[None]:
    """Turn what the many libraries behind addresses raise into an error of ours."""
    try:
        yield
    except (AuxcalError, FileNotFoundError):
        raise
    except Exception as error:
        raise InvalidInputError(
            f"{shown}: this address can't be opened ({shortened(str(error) or type(error).__name__)}). Check it, and "
            f"the keys in the environment; s3://, gs://, abfs:// and hdfs:// are known, and what an installed package "
            f"of fsspec knows."
        ) from error


def _filesystem(home: str) -> tuple[Any, str]:
    """Return the file system of a URL without a path, and what its paths begin with."""
    with needs("tables"):
        from fsspec.core import url_to_fs
        from pyarrow.fs import FileSystem, FSSpecHandler, PyFileSystem

    if home.partition("://")[0] in _BY_ARROW:
        return FileSystem.from_uri(home)
    filesystem, root = url_to_fs(home)
    return PyFileSystem(FSSpecHandler(filesystem)), root


def _copy(source: str, source_filesystem: Any, target: str, target_filesystem: Any) -> None:
    """Copy a file; Python can't interrupt it halfway, which would leave the half as a whole."""
    from pyarrow.fs import LocalFileSystem, copy_files

    here = LocalFileSystem()
    copy_files(source, target, source_filesystem or here, target_filesystem or here, use_threads=False)


# The parts of a table -------------------------------------------------------------------------------------------------


class Part(NamedTuple):
    """A file of a table, with its name below the folder of all parts.

    Other contents nearly always change its size, or when it was changed, in nanoseconds.
    """

    file: File
    size: int
    modified: int
    relative: str = ""

    @property
    def keys(self) -> dict[str, str]:
        """The keys of its partition, as hive names folders: the same however the path was spelled, also by links."""
        folders = (*self.file.real.split("/")[:-1], *self.file.place.split("/")[:-1])
        keys = filter(None, map(_KEY.fullmatch, folders))
        return {key[1]: "" if key[2] == _HIVE_NULL else unquote(key[2]) for key in keys}

    def has_changed(self) -> bool:
        """Whether the file has been written to since it was listed; a pipe always changes."""
        if isinstance(self.file, LocalFile) and not self.file.path.is_file():
            return False
        now = next(self.file.parts())
        return (now.size, now.modified) != (self.size, self.modified)

    @property
    def is_blank(self) -> bool:
        """Whether it is a table in text without a single letter, as engines write one that has no rows."""
        # A pipe, or a link to nowhere, has no size either.
        is_file = not isinstance(self.file, LocalFile) or self.file.path.is_file()
        return self.size == 0 and is_file and self.file.suffix.lower() in (".csv", ".tsv", ".jsonl")


def find_parts(*paths: str | os.PathLike[str]) -> list[Part]:
    """Return the parts that files, folders, patterns and URLs stand for; those of a folder in the order of their names.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from auxcal.tables.parts import find_parts
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     (Path(folder) / "day=2024-05-01").mkdir()
    ...     _ = (Path(folder) / "day=2024-05-01" / "a.csv").write_text("y")
    ...     [(part.relative, part.keys) for part in find_parts(folder)]
    [('day=2024-05-01/a.csv', {'day': '2024-05-01'})]
    """
    files = [as_file(path) for path in paths]
    if len({file.is_local for file in files}) > 1:
        raise InvalidInputError("the files must be all on this machine, or all in one store. Name those of one place.")
    parts = [(part.file.place, part) for file in files for part in _sorted_parts(file)]
    (real, count), *_ = Counter(part.file.real for _, part in parts).most_common(1)
    if count > 1:
        names = " and ".join(dict.fromkeys(str(part.file) for _, part in parts if part.file.real == real))
        raise InvalidInputError(f"{names}: one file is named more than once. Name each file once.")
    roots = (
        file.split()[0] if file.is_pattern else file.place if file.is_dir() else file.place.rpartition("/")[0] or "/"
        for file in files
    )
    root = os.path.commonpath(list(roots))
    return [part._replace(relative=os.path.relpath(place, root)) for place, part in parts]


def parts_in(folder: File) -> dict[str, Part]:
    """Return the parts in a folder by their names; none if it is not there."""
    if not folder.is_dir():
        return {}
    return {os.path.relpath(part.file.place, folder.place): part for part in folder.parts()}


def _sorted_parts(file: File) -> list[Part]:
    parts = {str(part.file): part for part in file.parts()}  # a pattern can match a file and the folder that it is in
    if not parts:
        what = "nothing matches this pattern" if file.is_pattern else "there are no files in this folder"
        raise InvalidInputError(f"{file}: {what}. Hidden files, and those that begin with an underscore, don't count.")
    return [parts[name] for name in sorted(parts, key=lambda name: name.split("/"))]


def check_complete(folder: File) -> None:
    """Refuse to read a folder that a run has not finished yet."""
    if folder.is_dir() and (folder / MANIFEST).exists() and not (folder / SUCCESS).exists():
        raise InvalidInputError(
            f"{folder}: auxcal score has not finished with this folder. Start it again: it resumes where it stopped."
        )
