"""The rows of a table that were not seen before: files that are new, and what was appended to others."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from auxcal._core.errors import InputWarning, InvalidInputError
from auxcal._core.files import STANDARD
from auxcal.calibrators import Calibrator
from auxcal.monitoring import SeenFile, Timed
from auxcal.tables.chunked import TimedTable
from auxcal.tables.discover import File, Part, as_file, check_complete, find_parts
from auxcal.tables.readers import format_of_all, open_part
from auxcal.tables.spec import TableSpec


class FoundFile(NamedTuple):
    """A file, and how many of its rows were seen before and are new."""

    name: str
    before: int
    new: int


_NOTHING = SeenFile(0, 0, "", -1, -1)  # what was seen of a file that is new; no file is of this size


class _Unit(NamedTuple):
    """What is read as one: a file, or a pair of `.npy` files."""

    parts: tuple[Part, ...]

    @property
    def files(self) -> tuple[File, ...]:
        return tuple(part.file for part in self.parts)

    @property
    def is_standard(self) -> bool:
        """Whether it is standard input, which can be read only once and is always new."""
        return str(self.parts[0].file) == STANDARD

    @property
    def key(self) -> str:
        """What it is known by."""
        return " + ".join(file.real if file.is_local else str(file) for file in self.files)

    @property
    def name(self) -> str:
        """What messages call it."""
        return " and ".join(map(str, self.files))

    @property
    def state(self) -> tuple[int, int]:
        """Its size, and when it was changed: while both stay, it is taken for the same."""
        return sum(part.size for part in self.parts), max(part.modified for part in self.parts)


class NewRows:
    r"""The rows of a table that were not seen before.

    A file that is new is read whole, also one whose rows another file had. A file that was seen and has not changed is
    not read. In one that has changed, the inputs of the rows seen before are compared with what they were, and the rows
    after them are new. A file that was renamed since is known by its size and time. Standard input is always new.

    Parameters
    ----------
    calibrator : Calibrator
        A fitted one; it knows its columns.
    *paths : path
        As in `read_predictions`.
    seen : mapping of SeenFile
        The files that were seen, by their paths.
    by : str or None
        The column of the chunks; with None, all rows are of the chunk `name`.
    replaced : bool
        Whether a file that was changed in the rows seen before is new, as one that is written anew each night.
    spec : TableSpec, optional
        Where things are in the table.

    Attributes
    ----------
    seen : dict of SeenFile
        With what has been read since.
    found : list of FoundFile
        The files, after all rows are read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from auxcal import Uncalibrated
    >>> from auxcal.tables import NewRows
    >>> fitted = Uncalibrated().fit([[2.0, 0.0]], [0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "rows.csv"
    ...     _ = path.write_text("logit_0,logit_1\n2.5,0.1\n")
    ...     first = NewRows(fitted, path, seen={}, name="monday")
    ...     print([rows.logits.tolist() for rows in first.batches()])
    ...     _ = path.write_text("logit_0,logit_1\n2.5,0.1\n0.3,0.9\n")
    ...     then = NewRows(fitted, path, seen=first.seen, name="tuesday")
    ...     print([rows.logits.tolist() for rows in then.batches()], then.found[0][1:])
    [[[2.5, 0.1]]]
    [[[0.3, 0.9]]] (1, 1)
    """

    def __init__(
        self,
        calibrator: Calibrator,
        *paths: str | os.PathLike[str],
        seen: Mapping[str, SeenFile],
        by: str | None = None,
        name: str = "",
        replaced: bool = False,
        spec: TableSpec | None = None,
    ) -> None:
        self._calibrator, self._paths, self._by, self._name, self._spec = calibrator, paths, by, name, spec
        self._replaced = replaced
        self.seen, self.found = dict(seen), list[FoundFile]()

    def batches(self) -> Iterator[Timed]:
        """Yield the new rows."""
        units = self._units()
        total = max(sum(unit.state[0] for unit in units), 1)
        done = 0
        for unit in units:
            size = unit.state[0]
            for rows in self._new_rows(unit):
                yield rows._replace(done=(done + (rows.done or 0) * size) / total)
            done += size

    def _units(self) -> list[_Unit]:
        for path in self._paths:
            check_complete(as_file(path))
        parts = find_parts(*self._paths)
        if format_of_all(parts).most_files > 1:
            return [_Unit(tuple(parts))]
        return [_Unit((part,)) for part in parts if not part.is_blank]

    def _new_rows(self, unit: _Unit) -> Iterator[Timed]:
        """Yield what was not seen of a file, and note what it has now."""
        before = self._before(unit)
        if (before.size, before.modified) == unit.state:
            self._note(unit, before, new=0)
            return
        try:
            yield from self._after(unit, before)
        except _ChangedError:  # before the first new row
            if not self._replaced:
                raise InvalidInputError(
                    f"{unit.name}: {before.rows:,} rows of this file were seen before, and they are not the same now. "
                    f"Append new rows to it, or give them in a new file; if the file is written anew each time, say so "
                    f"with replaced=True (--replaced); if rows were corrected, begin a new state with all of them."
                ) from None
            yield from self._after(unit, _NOTHING)

    def _before(self, unit: _Unit) -> SeenFile:
        """Return what is known of a file, also if it was renamed since."""
        if unit.key not in self.seen and all(file.is_local for file in unit.files):
            same = (key for key, file in self.seen.items() if (file.size, file.modified) == unit.state)
            renamed = next((key for key in same if not os.path.exists(key)), None)  # noqa: PTH110
            if renamed is not None:
                self.seen[unit.key] = self.seen.pop(renamed)
        return self.seen.get(unit.key, _NOTHING)

    def _after(self, unit: _Unit, before: SeenFile) -> Iterator[Timed]:
        """Yield the rows after those seen before, once these turn out to be the same."""
        digest, n_rows, n_labels, late = hashlib.sha256(), 0, 0, 0
        for rows in self._batches(unit):
            cut = min(max(before.rows - n_rows, 0), len(rows.logits))
            old, new = rows.take(slice(cut)), rows.take(slice(cut, None))
            n_rows, n_labels = n_rows + len(rows.logits), n_labels + _n_labels(rows)
            late += _n_labels(old)
            _add(digest, old)
            if cut and n_rows >= before.rows and digest.hexdigest() != before.digest:
                raise _ChangedError
            _add(digest, new)
            if len(new.logits):
                yield new
        if n_rows < before.rows:
            raise _ChangedError
        if late > before.labels:
            warnings.warn(
                f"{unit.name}: {late - before.labels:,} rows got their labels after they were seen; these labels are "
                f"not used. Give rows when they have their labels, with a state of their own.",
                InputWarning,
                stacklevel=2,
            )
        self._note(unit, SeenFile(n_rows, n_labels, digest.hexdigest(), *unit.state), new=n_rows - before.rows)

    def _batches(self, unit: _Unit) -> Iterator[Timed]:
        if _has_rows(unit):
            table = TimedTable(self._calibrator, *unit.files, by=self._by, name=self._name, spec=self._spec)
            yield from table.batches()

    def _note(self, unit: _Unit, file: SeenFile, *, new: int) -> None:
        self.found.append(FoundFile(unit.name, file.rows - new, new))
        if not unit.is_standard:
            self.seen[unit.key] = file


class _ChangedError(Exception):
    """The rows that were seen before are others now."""


def _has_rows(unit: _Unit) -> bool:
    """Whether a file has rows; one without, as a quiet night leaves it, is no error."""
    if unit.is_standard:
        return True
    with open_part(format_of_all(unit.parts), *unit.parts) as source:
        return any(map(len, islice(source.batches((), source.names[:1]), 1)))


def _n_labels(rows: Timed) -> int:
    return 0 if rows.labelled is None else int(rows.labelled.sum())


def _add(digest: Any, rows: Timed) -> None:
    """Add the inputs of rows to a digest: numbers by their values, in whatever precision they were written."""
    numbers = rows.logits if rows.features is None else np.hstack([rows.logits, rows.features])
    exact = np.asarray(numbers, dtype=np.float64) + 0.0  # -0.0 is 0.0
    digest.update(np.where(np.isnan(exact), np.nan, exact).tobytes())  # there are many kinds of NaN
