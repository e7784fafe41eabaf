"""Files that are written whole or not at all and never onto what is read, and NumPy's archives of arrays."""

import glob
import os
import re
import secrets
import signal
import stat
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from auxcal._errors import FileFormatError, InvalidInputError

STANDARD = "-"
"""The path that means standard input or output."""

_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://")
_HERE = re.compile(r"(file|local)://(localhost(?=/))?", re.IGNORECASE)

_ENDINGS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
_LONGEST = 50  # characters of a name that a temporary one repeats: it must not become too long for the file system


def as_path(path: Any) -> Path:
    """Return `path` as a Path."""
    if not isinstance(path, str | os.PathLike):
        raise InvalidInputError(f"path must be a string or a pathlib.Path; got {type(path).__name__}. Name a file.")
    if "\0" in os.fspath(path):
        raise InvalidInputError(f"path must be the name of a file; got {path!r}, with a null character.")
    return Path(path)


def is_url(text: str) -> bool:
    """Whether a text is the address of a file elsewhere, which a Path would spoil."""
    return _URL.match(text) is not None


def path_here(url: str) -> Path | None:
    """Return the path on this machine that an address means, or None where it is elsewhere.

    Examples
    --------
    >>> from auxcal._files import path_here
    >>> str(path_here("file:///data/May%202024.csv")), path_here("s3://bucket/data.csv")
    ('/data/May 2024.csv', None)
    """
    here = _HERE.match(url)
    return None if here is None else as_path(unquote(url[here.end() :]))


def check_regular(path: Path) -> None:
    """Refuse what is not there, and what is no file on a disk: a device has no end, and a pipe may have no beginning.

    Examples
    --------
    >>> from pathlib import Path
    >>> from auxcal._files import check_regular
    >>> check_regular(Path("nowhere.csv"))
    Traceback (most recent call last):
    ...
    FileNotFoundError: nowhere.csv: there is no such file. Check the name and the folder.
    """
    if path.is_dir():
        raise InvalidInputError(f"{path}: this is a folder. Name the file in it.")
    if not path.exists():
        raise FileNotFoundError(f"{path}: there is no such file. Check the name and the folder.")
    if not path.is_file():
        raise InvalidInputError(
            f"{path}: expected a regular file; this is a pipe, a socket or a device. Copy what it gives into a file, "
            f"or give CSV through standard input, as {STANDARD}."
        )


def read_text(path: Path) -> str:
    """Return the text of a file in UTF-8, with or without a byte order mark."""
    check_regular(path)
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{path}: expected text in UTF-8; got {error}. Save it in UTF-8.") from error


def check_apart(out: Path, inputs: Iterable[Path]) -> None:
    """Refuse to write onto a file that is read, whatever its names are; an input may be a folder or a pattern.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from auxcal._files import check_apart
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     data, other = Path(folder) / "data.csv", Path(folder) / "link.csv"
    ...     data.touch()
    ...     other.symlink_to(data)
    ...     check_apart(other, [data])
    Traceback (most recent call last):
    ...
    auxcal._errors.InvalidInputError: ...link.csv: would replace a file that is read. Write to another one.
    """
    written = _identity(out, descriptor=1)
    if written is not None and any(_identity(file, descriptor=0) == written for path in inputs for file in _in(path)):
        name = "standard output" if str(out) == STANDARD else out
        raise InvalidInputError(f"{name}: would replace a file that is read. Write to another one.")


def _in(path: Path) -> Iterator[Path]:
    """Give the files that a path stands for: itself, all in a folder, or those that match a pattern."""
    if os.path.isdir(path):  # noqa: PTH112 (a Path complains of what is too long for a name)
        yield from (Path(folder, name) for folder, _, names in os.walk(path, followlinks=True) for name in names)
    elif os.path.exists(path) or not glob.has_magic(str(path)):  # noqa: PTH110
        yield path
    else:
        matches = glob.iglob(str(path), recursive=True)  # noqa: PTH207 (a Path takes no pattern with a root)
        yield from (file for match in matches for file in _in(Path(match)))


def _identity(path: Path, *, descriptor: int) -> tuple[int, int] | None:
    """Return what tells a regular file from all others; `-` is what the descriptor has open."""
    try:
        found = os.fstat(descriptor) if str(path) == STANDARD else path.stat()
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None


@contextmanager
def open_arrays(path: Path) -> Iterator[Any]:
    """Open an `.npz` file, whose arrays are read when they are asked for by name; none of them can run code."""
    check_regular(path)
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        yield arrays


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Give a temporary path beside `path` that takes its place when the block ends without an error.

    A link is followed, and a file that is replaced keeps its mode.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with written_whole(Path(folder) / "note.txt") as temporary:
    ...         _ = temporary.write_text("whole")
    ...     (Path(folder) / "note.txt").read_text()
    'whole'
    """
    with written_together([path]) as (temporary,):
        yield temporary


@contextmanager
def written_together(paths: Sequence[Path]) -> Iterator[list[Path]]:
    """Give a temporary path beside each path; all take their places when the block ends without an error, or none."""
    targets = [_target(path) for path in paths]
    temporaries: list[Path] = []
    try:
        for target in targets:
            with _undisturbed():
                temporaries.append(_made_beside(target))
        yield temporaries
        for temporary in temporaries:
            with temporary.open("rb") as written:
                os.fsync(written.fileno())
        with _undisturbed():
            for temporary, target in zip(temporaries, targets, strict=True):
                temporary.replace(target)
    finally:
        for temporary in temporaries:
            temporary.unlink(missing_ok=True)


def _target(path: Path) -> Path:
    """Return the file to write, behind all links, or say why it can't be written."""
    try:
        target = path.resolve() if path.is_symlink() else path
    except (OSError, RuntimeError) as error:
        raise InvalidInputError(f"{path}: this link leads nowhere ({error}). Give another name.") from error
    if not target.parent.is_dir():
        raise InvalidInputError(f"the folder {str(target.parent)!r} does not exist. Create it first.")
    if target.is_dir():
        raise InvalidInputError(f"{str(path)!r} is a folder, where a file was to be written. Give another name.")
    if target.exists() and not target.is_file():
        raise InvalidInputError(
            f"{str(path)!r} is a pipe, a socket or a device, where a file was to be written. Give another name, or "
            f"{STANDARD} for CSV to standard output."
        )
    if target.exists() and not os.access(target, os.W_OK):
        raise InvalidInputError(f"{str(path)!r} is protected from writing. Give another name, or change its rights.")
    return target


def _made_beside(target: Path) -> Path:
    """Make an empty file in the same folder, with the rights of the file that it will replace, if there is one."""
    temporary = target.with_name(f".{target.name[:_LONGEST]}.{secrets.token_hex(4)}.part")
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    try:
        handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666 if mode is None else mode)
    except OSError as error:
        raise InvalidInputError(
            f"the folder {str(target.parent)!r} can't be written to ({error}). Choose another one, or change its "
            f"rights."
        ) from error
    os.close(handle)
    if mode is not None:
        temporary.chmod(mode)  # without what the umask takes away
    return temporary


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Hold back the signals that end a process until the block ends; they reach the main thread alone."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {number: signal.signal(number, lambda received, _: came.append(received)) for number in _ENDINGS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        for number in came:
            signal.raise_signal(number)
