"""A table scored part by part into a folder; a run that was stopped goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from auxcal._core.errors import FileFormatError, InvalidInputError
from auxcal._core.extras import needs
from auxcal._core.files import held, is_temporary
from auxcal._core.progress import RowReport
from auxcal._core.state import check_count, check_like
from auxcal.persistence import fingerprint
from auxcal.tables.batches import Format
from auxcal.tables.parts import MANIFEST, SUCCESS, File, LocalFile, Part, as_file, digest, parts_in
from auxcal.tables.readers import check_names, format_of_all, open_part, open_source
from auxcal.tables.readers.json_lines import LINE
from auxcal.tables.rows import BadRows
from auxcal.tables.scorer import ScoredBatch, Scorer, Watch
from auxcal.tables.spec import ACCEPTED, CONFIDENCE
from auxcal.tables.values import from_numpy

with needs("tables"):
    import pyarrow as pa

Holds: TypeAlias = Callable[[], bool]
"""Asked when all rows are scored: whether the promise that is kept with the calibrator holds for them."""

_HIDDEN = ".*"


class Written(NamedTuple):
    """What `score_table` wrote.

    Parameters
    ----------
    rows : int
        How many rows were read, in this run and in those before that it went on from.
    bad : BadRows
        How many of them could not be scored, by what is wrong with them.
    parts, resumed : int
        How many files the output has, and how many of them were there already.
    withdrawn : bool
        Whether nothing is accepted, since the promise does not hold for these rows.
    resumed_rows, resumed_bad : int
        How many of the rows, and of the bad ones, are in parts that were there already.
    """

    rows: int
    bad: BadRows
    parts: int = 1
    resumed: int = 0
    withdrawn: bool = False
    resumed_rows: int = 0
    resumed_bad: int = 0


class Counts:
    """How many rows went by, and how many of them were bad; `report` gets the share that is done, and the rows."""

    def __init__(self, report: RowReport) -> None:
        self.rows, self.bad, self._report = 0, BadRows(), report

    def of(
        self, batches: Iterator[ScoredBatch], share: Callable[[float], float] = lambda done: done
    ) -> Iterator[pa.RecordBatch]:
        """Yield the columns of batches; `share` turns what is done of a part into what is done of the whole."""
        for batch in batches:
            yield batch.columns
            self.rows, self.bad = self.rows + batch.rows, self.bad + batch.bad
            if batch.done is not None:
                self._report(share(batch.done), self.rows)


def score_folder(
    scorer: Scorer,
    paths: Sequence[Any],
    parts: Sequence[Part],
    folder: File,
    report: RowReport,
    watch: Watch | None,
    holds: Holds | None,
    *,
    overwrite: bool,
) -> Written:
    """Score every part that is not in the folder yet, show its good rows to `watch`, and ask `holds`."""
    kind = format_of_all(parts)
    if kind.write is None or kind.most_files > 1:
        ending = parts[0].file.suffix
        raise InvalidInputError(f"{folder}: {ending} files have no parts to write. Name a file to write, not a folder.")
    if any(part.file.is_below(folder) for part in parts) or any(folder.is_below(as_file(path)) for path in paths):
        raise InvalidInputError(f"{folder}: is read, or in a folder that is read. Write to a folder beside it.")
    with _held(folder):
        made_with = json.loads(json.dumps({"calibrator": fingerprint(scorer.calibrator)} | scorer.options))
        manifest = open_manifest(folder, made_with, {part.relative for part in parts}, overwrite=overwrite)
        # Where a run was stopped before it could ask, there must be rows to watch again.
        to_do = [part for part in parts if not manifest.is_done(part)] or (manifest.unchecked(parts) if holds else [])
        if to_do:
            _score(scorer, paths, parts, to_do, manifest, kind, report, watch, checked=holds is None)
        withdrawn = _check_promise(manifest, parts, kind, holds)
        manifest.save()
        rows = sum(done.rows for done in manifest.parts.values())
        bad = sum((done.bad for done in manifest.parts.values()), BadRows())
        if not rows:
            raise InvalidInputError(f"{paths[0]}: there are no rows to score. Check where the file comes from.")
        if rows == bad.total:
            raise InvalidInputError(f"{paths[0]}: no row could be scored; of {rows:,} there are {bad}.")
        with (folder / SUCCESS).atomic_write() as temporary:
            temporary.touch()
        new = {part.relative for part in to_do}
        there = [done for name, done in manifest.parts.items() if name not in new]
        resumed = sum(done.rows for done in there), sum(done.bad.total for done in there)
        return Written(rows, bad, len(parts), len(parts) - len(to_do), withdrawn, *resumed)


def _held(folder: File) -> AbstractContextManager[None]:
    """Make the folder, and hold it: another run would clear away what this one is writing."""
    if not isinstance(folder, LocalFile):
        return nullcontext()
    if not folder.path.parent.is_dir():
        raise InvalidInputError(f"the folder {str(folder.path.parent)!r} does not exist. Create it first.")
    folder.path.mkdir(exist_ok=True)
    return held(folder.path)


def _score(
    scorer: Scorer,
    paths: Sequence[Any],
    parts: Sequence[Part],
    to_do: Sequence[Part],
    manifest: Manifest,
    kind: Format,
    report: RowReport,
    watch: Watch | None,
    *,
    checked: bool,
) -> None:
    """Score parts, and record each."""
    folder = manifest.folder
    if isinstance(folder, LocalFile):  # what a killed process was writing
        for left in filter(is_temporary, folder.path.rglob(_HIDDEN)):
            left.unlink(missing_ok=True)
    with open_source(*paths) as source:  # its first rows decide for all parts
        scorer.begin(source)
        if not manifest.decided:
            manifest.class_names, manifest.decided = scorer.prediction_names(source), True
        names = source.names
    (folder / SUCCESS).remove()
    manifest.forget(to_do)
    first = next(part for part in parts if not part.is_blank)
    before, total, counts = 0, max(sum(part.size for part in to_do), 1), Counts(report)

    def scored(part: Part) -> Generator[ScoredBatch, None, None]:
        # The keys in the folders of the output need not stand in its files too.
        keys = {folder.partition("=")[0] for folder in part.relative.split("/")[:-1]} & part.keys.keys()
        with open_part(kind, part) as source:
            check_names(source.names, part, names, first)
            for batch in scorer.batches(source, manifest.class_names, watch, checked=True):
                kept = [name for name in batch.columns.schema.names if name not in keys]
                yield batch._replace(columns=batch.columns.select(kept))

    for part in to_do:
        rows, bad = counts.rows, counts.bad
        target = folder / part.relative
        if isinstance(target, LocalFile):
            target.path.parent.mkdir(parents=True, exist_ok=True)
        with target.atomic_write() as temporary:
            if part.is_blank:
                temporary.touch()
            else:
                with closing(scored(part)) as batches:
                    share = lambda done, part=part, before=before: (before + done * part.size) / total  # noqa: E731
                    kind.write(temporary, counts.of(batches, share))  # type: ignore[misc]
            written = digest(LocalFile(temporary))
        before += part.size
        there, made_of = next(target.parts()), (part.size, part.modified)
        done = Done(*made_of, there.size, counts.rows - rows, counts.bad - bad, checked, there.modified, written)
        manifest.add(part.relative, done)


def _check_promise(manifest: Manifest, parts: Sequence[Part], kind: Format, holds: Holds | None) -> bool:
    """Set accepted=False in the new parts if the promise does not hold for them; return whether that is so."""
    new = [] if holds is None else manifest.unchecked(parts)
    withdrawn = holds is not None and bool(new) and not holds()
    if withdrawn:
        filled = [part for part in new if not part.is_blank]
        before = dict(manifest.parts)
        manifest.forget(filled)
        for part in filled:
            file = manifest.folder / part.relative
            with file.local() as scored, file.atomic_write() as temporary:
                clear_accepted(kind, scored, temporary)
                written = digest(LocalFile(temporary))
            there = next(file.parts())
            done = replace(before[part.relative], bytes=there.size, written=there.modified, digest=written)
            manifest.add(part.relative, done)
    for part in new:
        manifest.parts[part.relative] = replace(manifest.parts[part.relative], checked=True)
    return withdrawn


def clear_accepted(kind: Format, scored: Path, out: Path) -> None:
    """Write a scored file again, with false for every row in the column `accepted`."""
    with kind.open(LocalFile(scored)) as source:
        names = (LINE,) if LINE in source.names else source.names  # a line has all that was written
        others = [name for name in names if name not in (CONFIDENCE, ACCEPTED)]
        numbers = [name for name in names if name == CONFIDENCE]

        def revoked() -> Iterator[pa.RecordBatch]:
            for batch in source.batches(numbers, others):
                none = from_numpy(np.zeros(len(batch), np.bool_))
                columns = {name: none if name == ACCEPTED else batch[name] for name in names}
                yield pa.RecordBatch.from_pydict(columns | {ACCEPTED: none})

        kind.write(out, revoked())  # type: ignore[misc]


# The record of a folder -----------------------------------------------------------------------------------------------

_FORMAT = 1  # of the record
_SHARE = 50  # parts that are not recorded yet are at most one in so many: the work to record grows with the parts alone


@dataclass(frozen=True)
class Done:
    """A part that is written: which file it was made of, how its rows were, and what is written.

    `bytes`, `written` and `digest` are the size of the output, when it was written, in nanoseconds, and its SHA-256.
    `checked`: whether it is known if a promise holds for what it accepts.
    """

    size: int
    modified: int
    bytes: int
    rows: int
    bad: BadRows
    checked: bool
    written: int
    digest: str

    def is_unchanged(self, now: Part) -> bool:
        """Whether an output is still what was written; it is read only where its time has changed."""
        same_time = now.modified == self.written and now.modified != 0
        return now.size == self.bytes and (same_time or digest(now.file) == self.digest)


@dataclass
class Manifest:
    """The record of an output folder: what scores depend on besides the part, and the parts that are written.

    `class_names`: what predictions are written as, which the first rows of the first run decide, if `decided`.
    """

    folder: File
    made_with: dict[str, Any]
    parts: dict[str, Done] = field(default_factory=dict)
    class_names: Sequence[str] | None = None
    decided: bool = False
    _unrecorded: int = 0

    def is_done(self, part: Part) -> bool:
        """Whether a part is there, made of this very file."""
        done = self.parts.get(part.relative)
        return done is not None and (done.size, done.modified) == (part.size, part.modified)

    def unchecked(self, parts: Sequence[Part]) -> list[Part]:
        """Return the parts for which it is not known whether a promise holds."""
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
        record = {"format": _FORMAT, "made_with": self.made_with, "class_names": self.class_names, "parts": parts}
        with (self.folder / MANIFEST).atomic_write() as temporary:
            temporary.write_text(json.dumps(record))


def open_manifest(folder: File, made_with: dict[str, Any], names: Container[str], *, overwrite: bool) -> Manifest:
    """Return the record of a folder, new or not; refuse a folder that holds what a run did not leave there."""
    recorded, outputs = _read(folder), parts_in(folder)
    before, parts = (recorded.made_with, recorded.parts) if recorded else ({}, {})
    foreign = next((name for name in outputs if name not in parts and (recorded is None or name not in names)), None)
    if foreign is not None and (recorded is None or overwrite):
        raise InvalidInputError(
            f"{folder}: this folder holds files that auxcal score did not write, such as {foreign}. Give a new folder."
        )
    if recorded is None or overwrite:
        (folder / SUCCESS).remove()  # before a row of it is gone
        for name in outputs:
            if name not in names:
                (folder / name).remove()
        return Manifest(folder, made_with)
    changed = [name for name, value in made_with.items() if before.get(name) != value]
    other = [name for name in outputs if name not in names]
    if changed or other:
        what = f"scores that were made with another {changed[0]}" if changed else f"{other[0]}, which is no part now"
        raise InvalidInputError(
            f"{folder}: holds {what}. Give another folder, or score all parts again with overwrite=True (--overwrite)."
        )
    there = {name: done for name, done in parts.items() if name in outputs}
    other = [name for name, done in there.items() if not done.is_unchanged(outputs[name])]
    if other:
        raise InvalidInputError(
            f"{folder / other[0]}: this is not what auxcal score wrote: it was changed or damaged since. Move it away, "
            f"and the part is scored again; or replace all parts with overwrite=True (--overwrite)."
        )
    return replace(recorded, parts=there)


def _read(folder: File) -> Manifest | None:
    """Return the record of a folder; None if there is none."""
    file = folder / MANIFEST
    if not file.exists():
        return None
    with file.open() as opened:
        text = opened.read()
    try:
        record = dict(json.loads(text))
        check_like(record["made_with"], {})
        names = record["class_names"]
        if not isinstance(names, list | None):
            raise TypeError("class_names must be names or null")
        parts = {name: Done(**done | {"bad": BadRows(**done["bad"])}) for name, done in record["parts"].items()}
        for done in parts.values():
            for name, count in (vars(done) | vars(done.bad)).items():
                if name not in ("bad", "modified", "written", "checked", "digest"):  # a file can be older than 1970
                    check_count(count, name)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise FileFormatError(
            f"{file}: this record of what was scored is damaged ({type(error).__name__}: {error}). Delete the folder, "
            f"or give another one."
        ) from error
    return Manifest(folder, record["made_with"], parts, names, decided=True)
