"""Files that are written whole or not at all and never onto what is read, and NumPy's archives of arrays."""

import os
import re
import secrets
import shutil
import signal
import stat
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from auxcal._core.errors import FileFormatError, FileWriteError, InvalidInputError

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None  # type: ignore[assignment]

STANDARD = "-"
"""The path that means standard input or output."""

_WILD, _ANY_FOLDERS = re.compile(r"[*?[]"), "**"
_EXTENSION, _LETTER = re.compile(r"(?<=\.)\w+$"), re.compile("[a-zA-Z]")

_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://")
_HERE = re.compile(r"(file|local)://(localhost(?=/))?", re.IGNORECASE)

_ENDINGS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
_LONGEST = 50  # characters of a name that a temporary one repeats: it must not become too long for the file system
_MARK = ".auxcal-"
_TEMPORARY = re.compile(rf"\.(.*){re.escape(_MARK)}[0-9a-f]{{8}}\.part")


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


def local_path(url: str) -> Path | None:
    """Return the path on this machine that an address means, or None where it is elsewhere."""
    here = _HERE.match(url)
    return None if here is None else as_path(unquote(url[here.end() :]))


def check_regular(path: Path) -> None:
    """Reject missing and non-regular files."""
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
    """Refuse to write onto a file that is read, whatever its names are; an input may be a folder or a pattern."""
    written = _identity(out, descriptor=1)
    read = (file for path in inputs for file in files_at(path))
    if written is not None and any(_identity(file, descriptor=0) == written for file in read):
        name = "standard output" if str(out) == STANDARD else out
        raise InvalidInputError(f"{name}: would replace a file that is read. Write to another one.")


def files_at(path: Path) -> Iterator[Path]:
    """Give the files that a path stands for: itself, all in a folder, or those that match a pattern.

    Links are followed. What is hidden, or begins with an underscore, does not count.
    """
    if not is_pattern(path):
        yield from _files_below(path, (), ()) if os.path.isdir(path) else (path,)  # noqa: PTH112 (too long for a Path)
        return
    fixed, pattern = split_pattern(path.parts)
    if os.path.isdir(folder := Path(*fixed)):  # noqa: PTH112
        yield from _files_below(folder, (), pattern)


def _files_below(
    folder: Path, names: tuple[str, ...], pattern: Sequence[str], outer: tuple[tuple[int, int], ...] = ()
) -> Iterator[Path]:
    """Give the files of a folder that match, or are in folders that do; a link back to an outer folder adds nothing."""
    found = folder.stat()
    inside = (*outer, (found.st_dev, found.st_ino))
    if inside[-1] in outer:
        return
    with os.scandir(folder) as entries:  # a folder that can't be read is an error: its rows would be missing
        for entry in entries:
            below = (*names, entry.name)
            if is_hidden(entry.name):
                continue
            if not entry.is_dir() and matches(below, pattern):
                yield folder / entry.name
            if entry.is_dir() and matches(below, pattern, so_far=True):
                yield from _files_below(folder / entry.name, below, pattern, inside)


def is_hidden(name: str) -> bool:
    """Whether a file or a folder is no part of a table, such as `_SUCCESS`."""
    return name.startswith((".", "_"))


def is_pattern(path: Path) -> bool:
    """Whether a path has wildcards, and is not the name of a file."""
    return _WILD.search(str(path)) is not None and not os.path.exists(path)  # noqa: PTH110 (too long for a Path)


def split_pattern(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split the names of a path before the first wildcard; the case of an extension does not matter."""
    first = next((place for place, name in enumerate(names) if _WILD.search(name)), len(names))
    fixed, pattern = list(names[:first]), list(names[first:])
    if pattern:
        both_cases = lambda letter: f"[{letter[0].lower()}{letter[0].upper()}]"  # noqa: E731
        pattern[-1] = _EXTENSION.sub(lambda found: _LETTER.sub(both_cases, found[0]), pattern[-1])
    return fixed, pattern


def matches(names: Sequence[str], pattern: Sequence[str], *, so_far: bool = False) -> bool:
    """Whether a file matches, ** being any number of folders; with `so_far`, whether one in this folder can."""
    if not pattern:
        return True
    if pattern[0] == _ANY_FOLDERS:
        return so_far or matches(names, pattern[1:]) or (bool(names) and matches(names[1:], pattern))
    if not names:
        return so_far
    return fnmatchcase(names[0], pattern[0]) and matches(names[1:], pattern[1:], so_far=so_far)


def _identity(path: Path, *, descriptor: int) -> tuple[int, int] | None:
    """Return what distinguishes a regular file from all others; `-` is what the descriptor has open."""
    try:
        found = os.fstat(descriptor) if str(path) == STANDARD else path.stat()
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None


@contextmanager
def open_arrays(path: Path) -> Iterator[Any]:
    """Open an `.npz` file, whose arrays are read when they are asked for by name; none of them can run code."""
    import numpy as np  # here, so that `auxcal --help` need not import it

    check_regular(path)
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        yield arrays


def check_writable(path: Path) -> None:
    """Refuse what can't be written, before there is work to lose; nothing of it stays in the meantime."""
    target = _target(path)
    temporary = _beside(target)
    with defer_signals():
        try:
            with _write_errors(path):
                _make(temporary, target)
        finally:
            _remove(temporary)


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Give a temporary path beside `path` that takes its place when the block ends without an error.

    A link is followed, and a file that is replaced keeps its mode.
    """
    with atomic_writes([path]) as (temporary,):
        yield temporary


@contextmanager
def atomic_writes(paths: Sequence[Path]) -> Iterator[list[Path]]:
    """Give a temporary path beside each path; all take their places when the block ends without an error, or none.

    Whichever call fails, no temporary file stays, and what was there is there again. A process that is killed can leave
    temporary files, and in the moment when they take their places some of the new files, each of them whole.
    """
    targets = [_target(path) for path in paths]
    temporaries = [_beside(target) for target in targets]
    try:
        for path, temporary, target in zip(paths, temporaries, targets, strict=True):
            with _write_errors(path):
                _make(temporary, target)
        with _write_errors(*paths, unless_about_others=temporaries):
            yield temporaries
        with _write_errors(*paths), defer_signals():
            for temporary in temporaries:
                with temporary.open("rb") as written:
                    os.fsync(written.fileno())
            _take_places(temporaries, targets)
    finally:
        _remove(*temporaries)


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Lock a folder against other processes; the system unlocks it when the process ends, however it ends.

    Windows has no such locks, and neither have some network drives: there nothing is held.
    """
    if fcntl is None:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InvalidInputError(
                f"{folder}: another run is writing into this folder. Wait for its end, or give another folder."
            ) from error
        except OSError:  # this drive has no locks
            pass
        yield
    finally:
        os.close(descriptor)


@contextmanager
def locked(path: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Lock a file against other processes; while another one has it, call `waiting` once and wait.

    The lock is on a hidden file beside it, which stays: the file itself is replaced when it is written. The system
    unlocks it when the process ends, however it ends. Windows, and some network drives, have no such locks.
    """
    if fcntl is None:
        yield
        return
    target = _target(path)
    with _write_errors(path):
        descriptor = os.open(target.with_name(f".{target.name}.lock"), os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError:  # this drive has no locks
            pass
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _write_errors(*paths: Path, unless_about_others: Sequence[Path] | None = None) -> Iterator[None]:
    """Turn an error of the system into a sentence about the files that are written.

    In a block that does other things too, it is about these files if it names one of them or, as writing does, none.
    """
    try:
        yield
    except (BrokenPipeError, FileWriteError):  # of standard output, which is no file; or reported already
        raise
    except OSError as error:
        if unless_about_others is not None and (
            error.errno is None or (error.filename is not None and Path(error.filename) not in unless_about_others)
        ):
            raise
        names = " and ".join(str(path.with_name(_shown(path.name))) for path in paths)
        raise FileWriteError(
            f"{names}: can't be written ({error.strerror or error}), so what was there is unchanged. Check the space "
            f"and the rights of the folder, or choose another one."
        ) from error


def _take_places(temporaries: Sequence[Path], targets: Sequence[Path]) -> None:
    """Replace files; if one can't be replaced, put back what was in the places of those before it."""
    kept = [_beside(target) for target in targets[:-1]]  # whatever fails, the last one is never to be put back
    placed = 0
    try:
        for copy, target in zip(kept, targets, strict=False):
            if target.exists():
                shutil.copy2(target, copy)
        for temporary, target in zip(temporaries, targets, strict=True):
            temporary.replace(target)
            placed += 1
    except BaseException:
        for copy, target in zip(kept[:placed], targets, strict=False):
            if copy.exists():
                _persist(lambda copy=copy, target=target: copy.replace(target))  # type: ignore[misc]
            else:  # there was none
                _remove(target)
        _remove(*kept[placed:])  # a copy that could not be put back is all that there is of a file
        raise
    _remove(*kept)


def _remove(*paths: Path) -> None:
    """Delete files as far as they are there and can be deleted: an error here would hide why they are deleted."""
    with defer_signals():
        for path in paths:
            if path.exists():
                _persist(path.unlink)


def _persist(call: Callable[[], object]) -> None:
    """Call what tidies up; if that fails, once more, and then leave it: nothing else can be done."""
    for _ in range(2):
        with suppress(OSError):
            call()
            return


def _target(path: Path) -> Path:
    """Return the file to write, behind all links, or say why it can't be written."""
    target = Path(os.path.realpath(path)) if path.is_symlink() else path
    if target.is_symlink():
        raise InvalidInputError(f"{path}: this link leads back to itself. Give another name.")
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


def temporary_name(name: str) -> str:
    """Return a hidden name to write a file under until it is whole, which marks it as ours."""
    return f".{name[:_LONGEST]}{_MARK}{secrets.token_hex(4)}.part"


def _beside(target: Path) -> Path:
    return target.with_name(temporary_name(target.name))


def is_temporary(path: Path) -> bool:
    """Whether a file is one that this library was writing."""
    return _TEMPORARY.fullmatch(path.name) is not None


def _shown(name: str) -> str:
    """Return the name of the file that a temporary one is for; other names are as they are."""
    found = _TEMPORARY.fullmatch(name)
    return name if found is None else _shown(found[1])


def _make(temporary: Path, target: Path) -> None:
    """Make an empty file with the rights of the file that it will replace, if there is one."""
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666 if mode is None else mode))
    if mode is not None:
        temporary.chmod(mode)  # without what the umask takes away


@contextmanager
def defer_signals() -> Iterator[None]:
    """Defer SIGINT, SIGTERM and SIGHUP until the block ends; only the main thread receives signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before: dict[int, Any] = {}
    try:
        for number in _ENDINGS:  # one may come before it is held back
            before[number] = signal.signal(number, lambda received, _: came.append(received))
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        for number in came:
            signal.raise_signal(number)
