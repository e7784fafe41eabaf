"""A table scored part by part into a folder, by several processes; a run that was stopped goes on where it was."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from collections.abc import Callable, Container, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any, TypeAlias
from zlib import crc32

import numpy as np

from auxcal._core.arrays import Floats
from auxcal._core.errors import FileFormatError, InvalidInputError
from auxcal._core.files import held, is_temporary
from auxcal._core.progress import RowReport
from auxcal._core.sampling import Reservoir
from auxcal._core.state import check_count, check_like
from auxcal._core.threads import one_thread
from auxcal.persistence import fingerprint
from auxcal.tables.discover import MANIFEST, SUCCESS, File, LocalFile, Part, as_file, digest, parts_in
from auxcal.tables.numpy_columns import Column, Columns, NumpyColumn
from auxcal.tables.readers import check_names, format_of_all, open_part, open_source
from auxcal.tables.readers.json_lines import LINE
from auxcal.tables.rows import BadRows
from auxcal.tables.scorer import OutputFormat, ScoredBatch, Scorer, Watch, Written
from auxcal.tables.sources import Batch, Format
from auxcal.tables.spec import ACCEPTED, CONFIDENCE, IN_FIT

Holds: TypeAlias = Callable[[], bool]
"""Asked when all rows are scored: whether the promise that is kept with the calibrator holds for them."""

_WATCHED = 20_000  # rows, as many as auxcal check looks at
_AT_LEAST = 1000  # of them from each part
_HIDDEN = ".*"


def score_folder(
    scorer: Scorer,
    paths: Sequence[str | os.PathLike[str]],
    parts: Sequence[Part],
    folder: File,
    jobs: int,
    report: RowReport,
    watch: Watch | None,
    holds: Holds | None,
    *,
    overwrite: bool,
) -> Written:
    """Score every part that is not in the folder yet, show a sample of their good rows to `watch`, and ask `holds`."""
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
            if isinstance(folder, LocalFile):  # what a killed process was writing
                for left in filter(is_temporary, folder.path.rglob(_HIDDEN)):
                    left.unlink(missing_ok=True)
            with open_source(*paths) as source:  # its first rows decide for all parts, before any process starts
                first_rows, names = scorer.output_format(source), source.names
                output = manifest.keep(first_rows, marks=scorer.marks(source))
            (folder / SUCCESS).remove()
            manifest.forget(to_do)
            with TemporaryDirectory() as samples:
                first = next(part for part in parts if not part.is_blank)
                n_bytes = max(sum(part.size for part in to_do), 1)
                work = ScorePart(scorer, output, first, names, folder, kind, Path(samples) if watch else None, n_bytes)
                for place, done in run(work, to_do, jobs, report):
                    manifest.add(to_do[place].relative, replace(done, checked=holds is None))
                kept = map(Reservoir.load, sorted(Path(samples).iterdir()))
                sample = sum(kept, Reservoir(_WATCHED, np.random.default_rng(0)))
            if watch is not None and sample.n_rows:
                watch(sample.rows["logits"], sample.rows["confidence"], sample.rows.get("features"))
        withdrawn = _check_promise(manifest, parts, kind, jobs, holds)
        manifest.save()
        rows = sum(done.rows for done in manifest.parts.values())
        bad = sum((done.bad for done in manifest.parts.values()), BadRows())
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


def _check_promise(manifest: Manifest, parts: Sequence[Part], kind: Format, jobs: int, holds: Holds | None) -> bool:
    """Set accepted=False in the new parts if the promise does not hold for them; return whether that is so."""
    new = [] if holds is None else manifest.unchecked(parts)
    withdrawn = holds is not None and bool(new) and not holds()
    if withdrawn:
        filled = [part for part in new if not part.is_blank]
        before = dict(manifest.parts)
        manifest.forget(filled)
        for place, output in run(RevokeAcceptance(manifest.folder, kind), filled, jobs, lambda done, rows: None):
            name = filled[place].relative
            manifest.add(name, replace(before[name], **output))
    for part in new:
        manifest.parts[part.relative] = replace(manifest.parts[part.relative], checked=True)
    return withdrawn


# What a process does with a part --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ScorePart:
    """What a process needs to score any part.

    It leaves a sample of the rows that are watched in a file: a process that is killed while it hands over many rows
    would leave the others waiting for ever.
    """

    scorer: Scorer
    output: OutputFormat
    first: Part
    names: tuple[str, ...]
    folder: File
    kind: Format
    samples: Path | None
    n_bytes: int

    def __call__(self, part: Part, tell: Tell) -> Done:
        """Score a part, leave a sample of its good rows if they are watched, and return what to remember of it."""
        target, counts = self.folder / part.relative, Counts()
        if isinstance(target, LocalFile):
            target.path.parent.mkdir(parents=True, exist_ok=True)
        # Twice the part's share of the rows that are watched, with random numbers of its own.
        n, state = _AT_LEAST + 2 * _WATCHED * part.size // self.n_bytes, crc32(part.relative.encode())
        sample = Reservoir(n, np.random.default_rng(state))
        with target.atomic_write() as temporary:
            if part.is_blank:
                temporary.touch()
            else:
                with closing(self._batches(part, sample)) as batches:
                    self.kind.write(temporary, counts.of(batches, tell))  # type: ignore[misc]
            written = digest(LocalFile(temporary))
        if self.samples is not None:
            sample.save(self.samples / f"{sha256(part.relative.encode()).hexdigest()}.npz")
        found = next(target.parts())
        return Done(part.size, part.modified, found.size, counts.rows, counts.bad, True, found.modified, written)

    def _batches(self, part: Part, sample: Reservoir) -> Generator[ScoredBatch, None, None]:
        # What the folders of the output say need not be said again in its files.
        said = {folder.partition("=")[0] for folder in part.relative.split("/")[:-1]} & part.keys.keys()

        def watch(logits: Floats, confidence: Floats, features: Floats | None) -> None:
            rows = {"logits": logits, "confidence": confidence}
            sample.add(rows if features is None else rows | {"features": features})

        with open_part(self.kind, part) as source:
            check_names(source.names, part, self.names, self.first)
            for batch in self.scorer.batches(source, self.output, None if self.samples is None else watch):
                kept = {name: column for name, column in batch.columns.items() if name not in said}
                yield batch._replace(columns=kept)


class Counts:
    """How many rows went by, and how many of them were bad."""

    def __init__(self) -> None:
        self.rows, self.bad = 0, BadRows()

    def of(self, batches: Iterator[ScoredBatch], tell: Tell) -> Iterator[Columns]:
        """Yield the columns of batches; tell of the rows of each, and of the share that is done."""
        for batch in batches:
            yield batch.columns
            self.rows, self.bad = self.rows + batch.rows, self.bad + batch.bad
            if batch.done is not None:
                tell(batch.rows, batch.done)


def clear_accepted(kind: Format, scored: Path, out: Path) -> None:
    """Write a scored file again, with false for every row in the column `accepted`."""

    def revoked(batch: Batch) -> Columns:
        columns: dict[str, Column] = {name: batch.columns[name] for name in names}
        confidence = columns.get(CONFIDENCE)
        if isinstance(confidence, NumpyColumn) and np.isnan(confidence.data).any():  # of bad rows, in text
            columns[CONFIDENCE] = NumpyColumn(confidence.data, np.isnan(confidence.data))
        return columns | {ACCEPTED: NumpyColumn(np.zeros(len(batch), dtype=bool))}

    with kind.open(LocalFile(scored)) as source:
        names = (LINE,) if LINE in source.names else source.names  # a line has all that was written
        numbers = [name for name in names if name == CONFIDENCE]
        others = [name for name in names if name != CONFIDENCE]
        kind.write(out, map(revoked, source.batches(numbers, others)))  # type: ignore[misc]


@dataclass(frozen=True)
class RevokeAcceptance:
    """What a process needs to set accepted=False in any part of a folder."""

    folder: File
    kind: Format

    def __call__(self, part: Part, tell: Tell) -> dict[str, Any]:
        """Write a part again, and return what is to be recorded of it."""
        file = self.folder / part.relative
        with file.local() as before, file.atomic_write() as temporary:
            clear_accepted(self.kind, before, temporary)
            written = digest(LocalFile(temporary))
        tell(0, 1.0)
        found = next(file.parts())
        return {"bytes": found.size, "written": found.modified, "digest": written}


# The record of a folder -----------------------------------------------------------------------------------------------

_FORMAT = 1  # of the record
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
        same_time = found.modified == self.written and found.modified != 0
        return found.size == self.bytes and (same_time or digest(found.file) == self.digest)


@dataclass
class Manifest:
    """The record of an output folder: what scores depend on besides the part, and the parts that are written."""

    folder: File
    made_with: dict[str, Any]
    parts: dict[str, Done] = field(default_factory=dict)
    output: OutputFormat | None = None
    _unrecorded: int = 0

    def keep(self, first_rows: OutputFormat, *, marks: bool) -> OutputFormat:
        """Return what the first rows of the first run decided, which holds for the parts of later ones too.

        `marks`: the parts get a column `in_fit`.
        """
        if marks and self.output is None and any(done.rows for done in self.parts.values()):
            raise InvalidInputError(
                f"{self.folder}: an earlier version of auxcal wrote these scores, some of them without the column "
                f"{IN_FIT}. Give another folder, or score all parts again with overwrite=True (--overwrite)."
            )
        self.output = self.output or first_rows
        return self.output

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
        record = {"format": _FORMAT, "made_with": self.made_with, "output": self.output, "parts": parts}
        with (self.folder / MANIFEST).atomic_write() as temporary:
            temporary.write_text(json.dumps(record))


def open_manifest(folder: File, made_with: dict[str, Any], names: Container[str], *, overwrite: bool) -> Manifest:
    """Return the record of a folder, new or not; refuse a folder that holds what a run did not leave there."""
    found, outputs = _read(folder), parts_in(folder)
    before, parts, output = found or ({}, {}, None)
    foreign = next((name for name in outputs if name not in parts and (found is None or name not in names)), None)
    if foreign is not None and (found is None or overwrite):
        raise InvalidInputError(
            f"{folder}: this folder holds files that auxcal score did not write, such as {foreign}. Give a new folder."
        )
    if found is None or overwrite:
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
    there = {name: done for name, done in parts.items() if name in outputs and done.digest}
    other = [name for name, done in there.items() if not done.is_unchanged(outputs[name])]
    if other:
        raise InvalidInputError(
            f"{folder / other[0]}: this is not what auxcal score wrote: it was changed or damaged since. Move it away, "
            f"and the part is scored again; or replace all parts with overwrite=True (--overwrite)."
        )
    return Manifest(folder, made_with, there, output)


def _read(folder: File) -> tuple[dict[str, Any], dict[str, Done], OutputFormat | None] | None:
    """Return what the record of a folder says, its parts, and their format; None if there is none."""
    file = folder / MANIFEST
    if not file.exists():
        return None
    with file.open() as opened:
        text = opened.read()
    try:
        found = dict(json.loads(text))
        check_like(found["made_with"], {})
        output = OutputFormat.restored(found.get("output"))
        parts = {name: Done(**done | {"bad": BadRows(**done["bad"])}) for name, done in found["parts"].items()}
        for done in parts.values():
            for name, count in (vars(done) | vars(done.bad)).items():
                if name not in ("bad", "modified", "written", "checked", "digest"):  # a file can be older than 1970
                    check_count(count, name)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise FileFormatError(
            f"{file}: this record of what was scored is damaged ({type(error).__name__}: {error}). Delete the folder, "
            f"or give another one."
        ) from error
    return found["made_with"], parts, output


# Processes ------------------------------------------------------------------------------------------------------------

Tell: TypeAlias = Callable[[int, float], None]
"""What a part is told of: rows that are done now, and the share of the part that is done so far."""

Work: TypeAlias = Callable[[Part, Tell], Any]

_ROWS, _BYTES, _STOP = range(3)  # what the processes share: what is done by all of them, and whether to stop
_GLANCE = 0.2  # seconds between looks at them


def run(work: Work, parts: Sequence[Part], jobs: int, report: RowReport) -> Iterator[tuple[int, Any]]:
    """Yield the place of each part and what the work on it returned, as they come; each process has one thread.

    What the work returns must be small, a page of memory at most: a process that is killed in the middle of a larger
    message leaves everybody waiting for the rest.
    """
    total = max(sum(part.size for part in parts), 1)
    if min(jobs, len(parts)) > 1:
        yield from _in_processes(work, parts, jobs, total, report)
        return
    counts = [0.0, 0.0, 0.0]
    for place, part in enumerate(parts):
        tell = _teller(counts, part, nullcontext(), lambda: report(counts[_BYTES] / total, int(counts[_ROWS])))
        with one_thread():
            result = work(part, tell)
        yield place, result


def _in_processes(
    work: Work, parts: Sequence[Part], jobs: int, total: int, report: RowReport
) -> Iterator[tuple[int, Any]]:
    context = multiprocessing.get_context("spawn")  # a fork would copy the locks of threads that it does not have
    # The lock is for those who add: one that is killed while it holds it must not stop whoever only looks.
    counts, lock = context.RawArray("d", 3), context.Lock()
    with ProcessPoolExecutor(min(jobs, len(parts)), context, _start, (work, counts, lock)) as pool:
        places = {pool.submit(_do, part): place for place, part in enumerate(parts)}
        waiting = set(places)
        try:
            while waiting:
                done, waiting = wait(waiting, _GLANCE, FIRST_COMPLETED)
                report(counts[_BYTES] / total, int(counts[_ROWS]))
                for future in done:
                    yield places[future], future.result()
        except BrokenProcessPool as error:
            raise ChildProcessError(
                f"a process was ended from outside, perhaps for want of memory; {len(parts) - len(waiting)} of "
                f"{len(parts)} parts were done. Start again: it resumes where it stopped."
            ) from error
        finally:
            counts[_STOP] = 1
            pool.shutdown(wait=False, cancel_futures=True)


def _teller(counts: Any, part: Part, lock: AbstractContextManager[Any], report: Callable[[], None]) -> Tell:
    """Return what adds the progress of a part to that of all."""
    before = 0.0

    def tell(rows: int, share: float) -> None:
        nonlocal before
        with lock:
            counts[_ROWS] += rows
            counts[_BYTES] += (share - before) * part.size
        before = share
        if counts[_STOP]:
            raise InterruptedError("the run was stopped")
        report()

    return tell


_own: list[Any] = []  # the work, what the processes share, and the lock of those who add to it


def _start(work: Work, counts: Any, lock: Any) -> None:
    _own[:] = work, counts, lock
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started it decides
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Wait for the end of the process that started this one, and end too: nobody asks for more work."""
    multiprocessing.parent_process().join()  # type: ignore[union-attr]
    os._exit(1)


def _do(part: Part) -> Any:
    work, counts, lock = _own
    with one_thread():
        return work(part, _teller(counts, part, lock, lambda: None))
