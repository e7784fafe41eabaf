"""Which files a folder, a pattern, a URL or several of these stand for: the parts of one table, in order."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from auxcal._core.errors import InvalidInputError
from auxcal._core.files import files_at, is_hidden, is_pattern, matches, split_pattern
from auxcal.tables._stores import File, RemoteFile, as_file, reaching

_KEY = re.compile(r"([^=]+)=(.*)")  # a folder as hive names it: day=2024-05-01
_NULL = "__HIVE_DEFAULT_PARTITION__"


class Part(NamedTuple):
    """A file of a table.

    Parameters
    ----------
    file : Path or RemoteFile
        Where it is.
    size, modified : int
        Its bytes, and when it was changed, in nanoseconds: other contents nearly always change one of them.
    relative : str
        Its name below the folder of all parts.
    """

    file: File
    size: int
    modified: int
    relative: str = ""

    @property
    def keys(self) -> dict[str, str]:
        """The keys of its partition."""
        return keys_of(str(self.file))


def keys_of(path: str) -> dict[str, str]:
    """Return what the folders of a path say in the manner of hive.

    Examples
    --------
    >>> from auxcal.tables._parts import keys_of
    >>> keys_of("logits/day=2024-05-01/part-0.parquet")
    {'day': '2024-05-01'}
    """
    found = (_KEY.fullmatch(folder) for folder in path.split("/")[:-1])
    return {match[1]: "" if match[2] == _NULL else unquote(match[2]) for match in found if match}


def find_parts(*paths: str | os.PathLike[str]) -> list[Part]:
    """Return the parts that files, folders, patterns and URLs stand for; those of a folder in the order of their names.

    Hidden files, and those that begin with an underscore, such as `_SUCCESS`, are no parts.
    """
    files = [as_file(path) for path in paths]
    if len({isinstance(file, Path) for file in files}) > 1:
        raise InvalidInputError("the files must be all on this machine, or all in one store. Name those of one place.")
    parts = [(_place(part.file), part) for file in files for part in _found(file)]
    (real, count), *_ = Counter(_behind_links(part.file) for _, part in parts).most_common(1)
    if count > 1:
        names = " and ".join(dict.fromkeys(str(part.file) for _, part in parts if _behind_links(part.file) == real))
        raise InvalidInputError(f"{names}: one file is named more than once. Name each file once.")
    root = os.path.commonpath([_root(file) for file in files])
    return [part._replace(relative=os.path.relpath(place, root)) for place, part in parts]


def parts_in(folder: File) -> dict[str, Part]:
    """Return the parts in a folder by their names; none if it is not there."""
    if not folder.is_dir():
        return {}
    return {os.path.relpath(_place(part.file), _place(folder)): part for part in _listed(folder)}


def part_at(file: File) -> Part:
    """Return what a file is now."""
    return next(_listed(file))


def is_below(file: File, folder: File) -> bool:
    """Whether a file is in a folder, however deep, or the folder itself; links are followed."""
    return type(file) is type(folder) and f"{_behind_links(file)}/".startswith(f"{_behind_links(folder)}/")


def is_one_file(path: str | os.PathLike[str]) -> bool:
    """Whether a path names a file, and neither a folder nor a pattern."""
    file = as_file(path)
    return not (_is_folder(file) or _is_pattern(file))


def _found(file: File) -> list[Part]:
    parts = _listed(file)
    found = {str(part.file): part for part in parts}  # a pattern can match a file and the folder that it is in
    if not found:
        what = "nothing matches this pattern" if _is_pattern(file) else "there are no files in this folder"
        raise InvalidInputError(f"{file}: {what}. Hidden files, and those that begin with an underscore, don't count.")
    return [found[name] for name in sorted(found, key=lambda name: name.split("/"))]


def _listed(file: File) -> Iterator[Part]:
    return map(_part_here, files_at(file)) if isinstance(file, Path) else _found_there(file)


def _part_here(path: Path) -> Part:
    if not path.exists():  # whoever opens it says so; - is standard input
        return Part(path, 0, 0)
    found = path.stat()
    return Part(path, found.st_size, found.st_mtime_ns)


def _found_there(file: RemoteFile) -> Iterator[Part]:
    from pyarrow.fs import FileSelector, FileType

    info = file.info()
    if info.type == FileType.File:
        yield Part(file, info.size, info.mtime_ns or 0)
        return
    fixed, pattern = _split(file)
    if info.type == FileType.NotFound and not pattern:
        raise FileNotFoundError(f"{file}: there is no such file or folder. Check the address.")
    folder = file if not pattern else file.above(len(pattern))
    with reaching(file):
        listed = file.filesystem.get_file_info(FileSelector(fixed, allow_not_found=True, recursive=True))
    for info in listed:
        below = info.path[len(fixed) :].strip("/")
        names = below.split("/")
        if info.type == FileType.File and not any(map(is_hidden, names)) and matches(names, pattern):
            yield Part(folder / below, info.size, info.mtime_ns or 0)


def _is_pattern(file: File) -> bool:
    return is_pattern(file) if isinstance(file, Path) else bool(_split(file)[1])


def _is_folder(file: File) -> bool:
    return file.is_dir()


def _split(file: File) -> tuple[str, list[str]]:
    """Return the folders without a wildcard at the beginning of a path, and the names after them."""
    fixed, pattern = split_pattern(_place(file).split("/"))
    return "/".join(fixed) or "/", pattern


def _root(file: File) -> str:
    """Return the folder below which the parts are."""
    if _is_pattern(file):
        return _split(file)[0]
    return _place(file) if _is_folder(file) else _place(file).rpartition("/")[0] or "/"


def _place(file: File) -> str:
    """Return a path from the root of the file system."""
    return os.path.abspath(file) if isinstance(file, Path) else file.path  # noqa: PTH100


def _behind_links(file: File) -> str:
    return os.path.realpath(file) if isinstance(file, Path) else file.path
