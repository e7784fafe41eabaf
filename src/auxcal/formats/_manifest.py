"""What the parts of an output folder were made of, so that a run that was stopped can go on."""

from __future__ import annotations

import json
from collections.abc import Container, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from auxcal._errors import FileFormatError, InvalidInputError
from auxcal._scores import BadRows
from auxcal._state_checks import check_count, check_like
from auxcal.formats._parts import Part, parts_in
from auxcal.formats._stores import File, remove, written_whole

MANIFEST, SUCCESS = "_auxcal.json", "_SUCCESS"

_FORMAT = 1
_SHARE = 50  # parts that are not recorded yet are at most one in so many: the work to record grows with the parts alone


@dataclass(frozen=True)
class Done:
    """A part that is written: which file it was made of, how large it is itself, and how its rows were.

    `checked` says that it is not left to find out whether a promise holds for what it accepts.
    """

    size: int
    modified: int
    bytes: int
    rows: int
    bad: BadRows
    checked: bool = True


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
        with written_whole(self.folder / MANIFEST) as temporary:
            temporary.write_text(json.dumps({"format": _FORMAT, "made_with": self.made_with, "parts": parts}))


def open_manifest(folder: File, made_with: dict[str, Any], names: Container[str], *, overwrite: bool) -> Manifest:
    """Return the record of a folder, new or not; refuse a folder that holds other parts than those of the names."""
    found, sizes = _read(folder), parts_in(folder)
    parts = {} if found is None else _parts(folder, found)
    foreign = next((name for name in sizes if name not in parts and (found is None or name not in names)), None)
    if foreign is not None and (found is None or overwrite):
        raise InvalidInputError(
            f"{folder}: this folder holds files that auxcal score did not write, such as {foreign}. Give a new folder."
        )
    if found is None or overwrite:
        for name in sizes:
            if name not in names:
                remove(folder / name)
        return Manifest(folder, made_with)
    changed = [name for name, value in made_with.items() if found["made_with"].get(name) != value]
    other = [name for name in sizes if name not in names]
    if changed or other:
        what = f"scores that were made with another {changed[0]}" if changed else f"{other[0]}, which is no part now"
        raise InvalidInputError(
            f"{folder}: holds {what}. Give another folder, or score all parts again with overwrite=True (--overwrite)."
        )
    return Manifest(folder, made_with, {name: done for name, done in parts.items() if sizes.get(name) == done.bytes})


def _parts(folder: File, found: dict[str, Any]) -> dict[str, Done]:
    """Return what a record says of its parts; nobody else can have written it."""
    try:
        check_like(found["made_with"], {})
        parts = {name: Done(**done | {"bad": BadRows(**done["bad"])}) for name, done in found["parts"].items()}
        for done in parts.values():
            for name, count in (vars(done) | vars(done.bad)).items():
                if name not in ("bad", "modified", "checked"):  # a file can be older than 1970
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
