"""Which files of the folder of the pages a run wrote: the next one may replace these, and no others."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import file_digest
from pathlib import Path

from auxcal._core.errors import InvalidInputError
from auxcal._core.files import atomic_write

RECORD = "_auxcal.json"
_UNFINISHED = ""  # in place of a digest: a run was about to write the file, so it may be anything


def refuse_foreign(out: Path, paths: Sequence[Path]) -> None:
    """Raise an error if a file is there that no run wrote, or that somebody changed since."""
    record = _read(out)
    for path in paths:
        if path.exists() and record.get(_name(out, path)) not in (_UNFINISHED, _digest(path)):
            raise InvalidInputError(
                f"{path}: auxcal reproduce did not write this file, or it was changed since. Give another folder with "
                f"--out, or --overwrite to replace it."
            )


@contextmanager
def recorded(out: Path, paths: Sequence[Path]) -> Iterator[None]:
    """Give a context in which files are written, and record them; a run that is stopped inside can be repeated."""
    out.mkdir(parents=True, exist_ok=True)
    before = _read(out)
    _write(out, before | {_name(out, path): _UNFINISHED for path in paths})
    yield
    _write(out, before | {_name(out, path): _digest(path) for path in paths if path.exists()})


def _name(out: Path, path: Path) -> str:
    return path.relative_to(out).as_posix()


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _read(out: Path) -> dict[str, str]:
    """Return the record; without one that can be read, nothing is known to be a run's."""
    try:
        found = json.loads((out / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _write(out: Path, record: dict[str, str]) -> None:
    with atomic_write(out / RECORD) as temporary:
        temporary.write_text(json.dumps(record, indent=1, sort_keys=True), encoding="utf-8")
