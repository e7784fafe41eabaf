"""A table scored part by part into a folder, by several processes; a run that was stopped goes on where it was."""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from zlib import crc32

from numpy.random import default_rng

from auxcal._core.arrays import Floats
from auxcal._core.errors import InvalidInputError
from auxcal._core.files import held, is_temporary
from auxcal._core.progress import RowReport
from auxcal._core.sampling import Reservoir
from auxcal.persistence import fingerprint
from auxcal.tables._format import Columns, Format
from auxcal.tables._joined import check_names, is_blank
from auxcal.tables._manifest import SUCCESS, Done, Manifest, digest_of, open_manifest
from auxcal.tables._parts import Part, is_below, part_at
from auxcal.tables._pool import Tell, run
from auxcal.tables._scored_batches import Habits, ScoredBatch, TableScorer, Watch
from auxcal.tables._sources import format_of_all, open_part, open_source
from auxcal.tables._stores import File, as_file, atomic_write, remove
from auxcal.tables._withdrawn import Holds, Withdrawal
from auxcal.tables.scores import BadRows

_WATCHED = 20_000  # rows, as many as auxcal check looks at
_AT_LEAST = 1000  # of them from each part
_HIDDEN = ".*"


class Totals(NamedTuple):
    """The rows of all parts, the bad ones, the parts and those that were there already, and whether a promise fell."""

    rows: int
    bad: BadRows
    parts: int
    resumed: int
    withdrawn: bool


def score_folder(
    scorer: TableScorer,
    paths: Sequence[str | os.PathLike[str]],
    parts: Sequence[Part],
    folder: File,
    jobs: int,
    report: RowReport,
    watch: Watch | None,
    holds: Holds | None,
    *,
    overwrite: bool,
) -> Totals:
    """Score every part that is not in the folder yet, show a sample of their good rows to `watch`, and ask `holds`."""
    kind = format_of_all(parts)
    _check_apart(parts, paths, folder, kind)
    with _held(folder):
        made_with = {"calibrator": fingerprint(scorer.calibrator)} | scorer.options
        manifest = open_manifest(folder, _plain(made_with), {part.relative for part in parts}, overwrite=overwrite)
        # Where a run was stopped before it could ask, there must be rows to watch again.
        to_do = [part for part in parts if not manifest.is_done(part)] or (manifest.unchecked(parts) if holds else [])
        resumed = len(parts) - len(to_do)
        if to_do:
            _clear(folder)
            manifest.forget(to_do)
            with TemporaryDirectory() as samples:
                watched = None if watch is None else Watched(Path(samples), _bytes_of(to_do))
                work = _work(scorer, paths, parts, folder, kind, watched)
                for place, done in run(work, to_do, jobs, report):
                    manifest.add(to_do[place].relative, replace(done, checked=holds is None))
                seen = sum(map(Reservoir.load, sorted(Path(samples).iterdir())), Reservoir(_WATCHED, default_rng(0)))
            if watch is not None and seen.n_rows:
                watch(seen.rows["logits"], seen.rows.get("features"))
        withdrawn = _settle(manifest, parts, kind, jobs, holds)
        manifest.save()
        totals = _totals(manifest, len(parts), resumed, withdrawn=withdrawn)
        if totals.rows == totals.bad.total:
            raise InvalidInputError(f"{paths[0]}: no row could be scored; of {totals.rows:,} there are {totals.bad}.")
        with atomic_write(folder / SUCCESS) as temporary:
            temporary.touch()
        return totals


def _settle(manifest: Manifest, parts: Sequence[Part], kind: Format, jobs: int, holds: Holds | None) -> bool:
    """Accept nothing in the new parts if the promise does not hold for them; return whether that is so."""
    new = [] if holds is None else manifest.unchecked(parts)
    withdrawn = holds is not None and bool(new) and not holds()
    if withdrawn:
        filled = [part for part in new if not is_blank(part)]
        before = dict(manifest.parts)
        manifest.forget(filled)
        for place, output in run(Withdrawal(manifest.folder, kind), filled, jobs, lambda done, rows: None):
            name = filled[place].relative
            manifest.add(name, replace(before[name], **output))
    for part in new:
        manifest.parts[part.relative] = replace(manifest.parts[part.relative], checked=True)
    return withdrawn


class Watched(NamedTuple):
    """Where the processes leave samples of the rows that are watched, and how many bytes all parts have.

    In files, since a process that is killed while it hands over many rows would leave the others waiting for ever.
    """

    samples: Path
    n_bytes: int

    def sample_of(self, part: Part) -> Reservoir:
        """Return a sample that draws numbers of its own, with twice the part's share of the rows that are watched."""
        n = _AT_LEAST + 2 * _WATCHED * part.size // max(self.n_bytes, 1)
        return Reservoir(n, default_rng(crc32(part.relative.encode())))

    def keep(self, sample: Reservoir, part: Part) -> None:
        """Leave a sample to the process that asked for it."""
        sample.save(self.samples / f"{sha256(part.relative.encode()).hexdigest()}.npz")


@dataclass(frozen=True)
class Work:
    """What a process needs to score any part."""

    scorer: TableScorer
    habits: Habits
    first: Part
    names: tuple[str, ...]
    folder: File
    kind: Format
    watched: Watched | None

    def __call__(self, part: Part, tell: Tell) -> Done:
        """Score a part, leave a sample of its good rows if they are watched, and return what to remember of it."""
        target = self.folder / part.relative
        if isinstance(target, Path):
            target.parent.mkdir(parents=True, exist_ok=True)
        rows, bad = 0, BadRows()
        sample = None if self.watched is None else self.watched.sample_of(part)

        def columns(batches: Iterator[ScoredBatch]) -> Iterator[Columns]:
            nonlocal rows, bad
            for batch in batches:
                yield batch.columns
                rows, bad = rows + batch.rows, bad + batch.bad
                tell(batch.rows, batch.done or 0)

        with atomic_write(target) as temporary:
            if is_blank(part):
                temporary.touch()
            else:
                with closing(self._batches(part, sample)) as batches:
                    self.kind.write(temporary, columns(batches))  # type: ignore[misc]
            digest = digest_of(temporary)
        if self.watched is not None and sample is not None:
            self.watched.keep(sample, part)
        output = part_at(target)
        return Done(part.size, part.modified, output.size, rows, bad, written=output.modified, digest=digest)

    def _batches(self, part: Part, sample: Reservoir | None) -> Generator[ScoredBatch, None, None]:
        in_path = part.relative.split("/")[:-1]
        with open_part(self.kind, part) as source:
            check_names(source.names, part, self.names, self.first)
            for batch in self.scorer.batches(source, self.habits, None if sample is None else partial(_watch, sample)):
                # What the folders of the output say need not be said again in its files.
                said = [name for name, value in part.keys.items() if any(name == f.partition("=")[0] for f in in_path)]
                kept = {name: column for name, column in batch.columns.items() if name not in said}
                yield batch._replace(columns=kept)


def _watch(sample: Reservoir, logits: Floats, features: Floats | None) -> None:
    sample.add({"logits": logits} | ({} if features is None else {"features": features}))


def _work(
    scorer: TableScorer,
    paths: Sequence[str | os.PathLike[str]],
    parts: Sequence[Part],
    folder: File,
    kind: Format,
    watched: Watched | None,
) -> Work:
    """Look at the first rows, which decide for all parts, before any process starts."""
    with open_source(*paths) as source:
        habits, names = scorer.habits(source), source.names
    first = next(part for part in parts if not is_blank(part))
    return Work(scorer, habits, first, names, folder, kind, watched)


def _check_apart(parts: Sequence[Part], paths: Sequence[str | os.PathLike[str]], folder: File, kind: Format) -> None:
    """Refuse a folder that is read itself, and formats that have no parts or are only read."""
    if kind.write is None or kind.most_files > 1:
        ending = parts[0].file.suffix
        raise InvalidInputError(f"{folder}: {ending} files have no parts to write. Name a file to write, not a folder.")
    read = next((part.file for part in parts if is_below(part.file, folder)), None)
    if read is not None or any(is_below(folder, as_file(path)) for path in paths):
        raise InvalidInputError(f"{folder}: is read, or in a folder that is read. Write to a folder beside it.")


def _held(folder: File) -> AbstractContextManager[None]:
    """Make the folder, and hold it: another run would clear away what this one is writing."""
    if not isinstance(folder, Path):
        return nullcontext()
    if not folder.parent.is_dir():
        raise InvalidInputError(f"the folder {str(folder.parent)!r} does not exist. Create it first.")
    folder.mkdir(exist_ok=True)
    return held(folder)


def _clear(folder: File) -> None:
    """Let the folder be not whole from now on, and clear away what a killed process was writing."""
    if isinstance(folder, Path):
        for left in filter(is_temporary, folder.rglob(_HIDDEN)):
            left.unlink(missing_ok=True)
    remove(folder / SUCCESS)


def _bytes_of(parts: Sequence[Part]) -> int:
    return max(sum(part.size for part in parts), 1)


def _totals(manifest: Manifest, parts: int, resumed: int, *, withdrawn: bool) -> Totals:
    bad = sum((done.bad for done in manifest.parts.values()), BadRows())
    return Totals(sum(done.rows for done in manifest.parts.values()), bad, parts, resumed, withdrawn)


def _plain(made_with: dict[str, Any]) -> Any:
    """Return what the record will give back."""
    return json.loads(json.dumps(made_with))
