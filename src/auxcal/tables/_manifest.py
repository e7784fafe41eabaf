"""What the parts of an output folder were made of, so that a run that was stopped can go on."""

from __future__ import annotations

import json
from collections.abc import Container, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import file_digest
from typing import Any

from auxcal._core.errors import FileFormatError, InvalidInputError
from auxcal._core.state import check_count, check_like
from auxcal.tables._parts import Part, parts_in
from auxcal.tables._stores import File, atomic_write, remove
from auxcal.tables.scores import BadRows

MANIFEST, SUCCESS = "_auxcal.json", "_SUCCESS"

_FORMAT = 1
_SHARE = 50  # parts that are not recorded yet are at most one in so many: the work to record grows with the parts alone


@dataclass(frozen=True)
class Done:
    """A part that is written: which file it was made of, how its rows were, and what is written.

    `bytes`, `written` and `digest` are the size of the output, when it was written, in nanoseconds, and its SHA-256.
    `checked` says that it is not left to find out whether a promise holds for what it accepts.
    """

    size: int
    modified: int
    bytes: int
    rows: int
    bad: BadRows
    checked: bool = True
    written: int = 0
    digest: str = ""

    def is_unchanged(self, found: Part) -> bool:
        """Whether an output is still what was written; it is read only where its time does not tell."""
        if found.size != self.bytes:
            return False
        return (found.modified == self.written and found.modified != 0) or digest_of(found.file) == self.digest


@dataclass
class Manifest:
    """The record of an output folder.

    Parameters
    ----------
    folder : Path or RemoteFile
        The folder.
    made_with : dict
        What scores depend on besides the part: the calibrator and the options.
    parts : dict of str to Done
        The parts that are written, by name.
    """

    folder: File
    made_with: dict[str, Any]
    parts: dict[str, Done] = field(default_factory=dict)
    _unrecorded: int = 0

    def is_done(self, part: Part) -> bool:
        """Whether a part is there, made of this very file."""
        done = self.parts.get(part.relative)
        return done is not None and (done.size, done.modified) == (part.size, part.modified)

    def unchecked(self, parts: Sequence[Part]) -> list[Part]:
        """Return the parts of which it is left to find out whether a promise holds for them."""
        return [part for part in parts if part.relative in self.parts and not self.parts[part.relative].checked]

    def forget(self, parts: Sequence[Part]) -> None:
        """Record that parts are about to be written: from now on the folder is ours, and they may be anything."""
        for part in parts:
            self.parts.pop(part.relative, None)
        self.save()

    def add(self, name: str, done: Done) -> None:
        """Remember a part, and save what is known when enough of it is new."""
        self.parts[name] = done
        self._unrecorded += 1
        if self._unrecorded * _SHARE >= len(self.parts):
            self.save()

    def save(self) -> None:
        """Write the record, whole or not at all."""
        self._unrecorded = 0
        parts = {name: asdict(done) for name, done in self.parts.items()}
        with atomic_write(self.folder / MANIFEST) as temporary:
            temporary.write_text(json.dumps({"format": _FORMAT, "made_with": self.made_with, "parts": parts}))


def digest_of(file: File) -> str:
    """Return the SHA-256 of what a file contains."""
    with file.open("rb") as opened:
        return file_digest(opened, "sha256").hexdigest()  # type: ignore[arg-type]  # what opens files has readinto


def open_manifest(folder: File, made_with: dict[str, Any], names: Container[str], *, overwrite: bool) -> Manifest:
    """Return the record of a folder, new or not; refuse a folder that holds what a run did not leave there."""
    found, outputs = _read(folder), parts_in(folder)
    parts = {} if found is None else _parts(folder, found)
    foreign = next((name for name in outputs if name not in parts and (found is None or name not in names)), None)
    if foreign is not None and (found is None or overwrite):
        raise InvalidInputError(
            f"{folder}: this folder holds files that auxcal score did not write, such as {foreign}. Give a new folder."
        )
    if found is None or overwrite:
        remove(folder / SUCCESS)  # before a row of it is gone
        for name in outputs:
            if name not in names:
                remove(folder / name)
        return Manifest(folder, made_with)
    changed = [name for name, value in made_with.items() if found["made_with"].get(name) != value]
    other = [name for name in outputs if name not in names]
    if changed or other:
        what = f"scores that were made with another {changed[0]}" if changed else f"{other[0]}, which is no part now"
        raise InvalidInputError(
            f"{folder}: holds {what}. Give another folder, or score all parts again with overwrite=True (--overwrite)."
        )
    there = {name: done for name, done in parts.items() if name in outputs and done.digest}
    other = [name for name, done in there.items() if not done.is_unchanged(outputs[name])]
    if other:
        raise InvalidInputError(
            f"{folder / other[0]}: this is not what auxcal score wrote: it was changed or damaged since. Move it away, "
            f"and the part is scored again; or replace all parts with overwrite=True (--overwrite)."
        )
    return Manifest(folder, made_with, there)


def _parts(folder: File, found: dict[str, Any]) -> dict[str, Done]:
    """Return what a record says of its parts; nobody else can have written it."""
    try:
        check_like(found["made_with"], {})
        parts = {name: Done(**done | {"bad": BadRows(**done["bad"])}) for name, done in found["parts"].items()}
        for done in parts.values():
            for name, count in (vars(done) | vars(done.bad)).items():
                if name not in ("bad", "modified", "written", "checked", "digest"):  # a file can be older than 1970
                    check_count(count, name)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise _damaged(folder / MANIFEST, error) from error
    return parts


def _damaged(file: File, error: Exception) -> FileFormatError:
    return FileFormatError(
        f"{file}: this record of what was scored is damaged ({type(error).__name__}: {error}). Delete the folder, or "
        f"give another one."
    )


def check_whole(folder: File) -> None:
    """Refuse to read a folder that a run has not finished yet."""
    if folder.is_dir() and (folder / MANIFEST).exists() and not (folder / SUCCESS).exists():
        raise InvalidInputError(
            f"{folder}: auxcal score has not finished with this folder. Start it again: it resumes where it stopped."
        )


def _read(folder: File) -> dict[str, Any] | None:
    file = folder / MANIFEST
    if not file.exists():
        return None
    with file.open("rb") as opened:
        try:
            return dict(json.loads(opened.read()))
        except (TypeError, ValueError, RecursionError) as error:
            raise _damaged(file, error) from error
