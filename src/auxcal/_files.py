"""Files that are written whole or not at all, and NumPy's archives of arrays."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from auxcal._errors import InvalidInputError


def as_path(path: Any) -> Path:
    """Return `path` as a Path."""
    if not isinstance(path, str | os.PathLike):
        raise InvalidInputError(f"path must be a string or a pathlib.Path; got {type(path).__name__}. Name a file.")
    return Path(path)


@contextmanager
def open_arrays(path: Path) -> Iterator[Any]:
    """Open an `.npz` file, whose arrays are read when they are asked for by name; none of them can run code."""
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        yield arrays


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Give a temporary path beside `path` that takes its place when the block ends without an error.

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
    import tempfile

    if not path.parent.is_dir():
        raise InvalidInputError(f"the folder {str(path.parent)!r} does not exist. Create it first.")
    if path.is_dir():
        raise InvalidInputError(f"{str(path)!r} is a folder, where a file was to be written. Give another name.")
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    except OSError as error:
        raise InvalidInputError(
            f"the folder {str(path.parent)!r} can't be written to ({error}). Choose another one, or change its rights."
        ) from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)  # mkstemp makes files that only their owner can read
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
