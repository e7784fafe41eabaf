"""Files in object stores and on other machines: `s3://`, `gs://`, `abfs://`, `hdfs://`, and what else fsspec knows."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, TypeAlias
from urllib.parse import unquote, urlsplit

from auxcal._core.errors import AuxcalError, InvalidInputError
from auxcal._core.extras import needs
from auxcal._core.files import as_path, is_url, local_path, temporary_name
from auxcal._core.files import atomic_write as written_here
from auxcal.tables._format import shortened

_SHOWN_WHEN_WHOLE = ("s3", "gcs", "abfs")  # where an upload is seen when it is complete
_REQUEST_BYTES = 2**22


@dataclass(frozen=True)
class RemoteFile:
    """A file or folder elsewhere, with what the readers use of a `pathlib.Path`.

    Parameters
    ----------
    filesystem : pyarrow.fs.FileSystem
        Where it is.
    path : str
        Its name there.
    shown : str
        Its URL, without keys and options.
    """

    filesystem: Any
    path: str
    shown: str

    def __str__(self) -> str:
        return self.shown

    def __truediv__(self, name: str) -> RemoteFile:
        return replace(self, path=f"{self.path.rstrip('/')}/{name}", shown=f"{self.shown.rstrip('/')}/{name}")

    def above(self, levels: int) -> RemoteFile:
        """Return the folder that it is in, or one of those above."""
        path, shown = (text.rsplit("/", levels)[0] for text in (self.path, self.shown))
        return replace(self, path=path, shown=shown)

    @property
    def name(self) -> str:
        """The last part of its path."""
        return PurePosixPath(self.path).name

    @property
    def suffix(self) -> str:
        """The extension."""
        return PurePosixPath(self.path).suffix

    def info(self) -> Any:
        """Return whether it is there, its kind, its size and when it was changed."""
        with reaching(self):
            return self.filesystem.get_file_info(self.path)

    def exists(self) -> bool:
        """Whether it is there."""
        return bool(self.info().type.name != "NotFound")

    def is_dir(self) -> bool:
        """Whether it is a folder."""
        return bool(self.info().type.name == "Directory")

    def open(self, mode: str = "rb") -> BinaryIO:
        """Open it for reading, in pieces that are worth a request."""
        with reaching(self):
            return io.BufferedReader(self.filesystem.open_input_file(self.path), _REQUEST_BYTES)


File: TypeAlias = Path | RemoteFile


def as_file(path: str | os.PathLike[str]) -> File:
    """Return what a path or URL names; a file on this machine is a Path, whatever its name is."""
    if not isinstance(path, str) or not is_url(path):
        return as_path(path)
    here = local_path(path)
    return remote(path) if here is None else here


def remote(url: str) -> RemoteFile:
    """Return the file or folder of a URL; its query holds options, such as `?region=eu-west-1`."""
    with reaching(url.partition("?")[0].rpartition("@")[2]):
        parts = urlsplit(url, allow_fragments=False)
    home = f"{parts.scheme}://{parts.netloc}/" + (f"?{parts.query}" if parts.query else "")
    shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{unquote(parts.path)}".rstrip("/")
    with reaching(shown):
        filesystem, root = _filesystem(home)
    path = f"{root.rstrip('/')}/{unquote(parts.path).strip('/')}".rstrip("/")
    return RemoteFile(filesystem, path or "/", shown)


@contextmanager
def reaching(shown: object) -> Iterator[None]:
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


@contextmanager
def on_this_machine(file: File) -> Iterator[Path]:
    """Give a file, or a copy of one that is elsewhere, for readers that need a path."""
    if isinstance(file, Path):
        yield file
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / file.name
        _copy(file.path, file.filesystem, str(copy), None)
        yield copy


@contextmanager
def atomic_write(file: File) -> Iterator[Path]:
    """Give a temporary path on this machine; the file appears when the block ends without an error, whole.

    One that is elsewhere is sent in one go: object stores show it when all of it has arrived, and other file systems
    get it under a hidden name first.
    """
    if isinstance(file, Path):
        with written_here(file) as temporary:
            yield temporary
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / file.name
        yield copy
        _send(copy, file)


def _send(copy: Path, file: RemoteFile) -> None:
    with reaching(file):
        if file.filesystem.type_name in _SHOWN_WHEN_WHOLE:
            _copy(str(copy), None, file.path, file.filesystem)
            return
        parent, _, name = file.path.rpartition("/")
        file.filesystem.create_dir(parent or "/", recursive=True)
        hidden = replace(file, path=f"{parent}/{temporary_name(name)}")
        try:
            _copy(str(copy), None, hidden.path, file.filesystem)
            file.filesystem.move(hidden.path, file.path)
        except BaseException:
            remove(hidden)
            raise


def remove(file: File) -> None:
    """Delete a file, if it is there."""
    if isinstance(file, Path):
        file.unlink(missing_ok=True)
    elif file.exists():
        with reaching(file):
            file.filesystem.delete_file(file.path)


def _filesystem(home: str) -> tuple[Any, str]:
    """Return the file system of a URL without a path, and what its paths begin with."""
    with needs("tables"):
        import pyarrow as pa
        from pyarrow.fs import FileSystem, FSSpecHandler, PyFileSystem

    try:
        return FileSystem.from_uri(home)
    except pa.ArrowInvalid:
        with needs("tables"):
            from fsspec.core import url_to_fs
        filesystem, root = url_to_fs(home)
        return PyFileSystem(FSSpecHandler(filesystem)), root


def _copy(source: str, source_filesystem: Any, target: str, target_filesystem: Any) -> None:
    """Copy a file; Python can't interrupt it halfway, which would leave the half as a whole."""
    from pyarrow.fs import LocalFileSystem, copy_files

    here = LocalFileSystem()
    copy_files(source, target, source_filesystem or here, target_filesystem or here, use_threads=False)
