"""The files of a table that were not seen before, for a job that runs each night."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from auxcal._core.errors import InvalidInputError
from auxcal._core.files import STANDARD
from auxcal.calibrators import Calibrator
from auxcal.monitoring import SeenFile, Timed
from auxcal.tables.parts import File, LocalFile, Part, as_file, check_complete, find_parts
from auxcal.tables.readers import format_of_all, open_part
from auxcal.tables.spec import TableSpec
from auxcal.tables.timed_table import TimedTable


class FoundFile(NamedTuple):
    """A file, and how many of its rows were seen before and are new."""

    name: str
    before: int
    new: int


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
        """Its size, and when it was changed: while both stay, it is taken for the same.

        On this machine that is when the system last changed it, since the time of the contents can be set to any.
        """
        paths = [part.file.path for part in self.parts if isinstance(part.file, LocalFile) and part.file.exists()]
        times = [part.modified for part in self.parts] + [path.stat().st_ctime_ns for path in paths]
        return sum(part.size for part in self.parts), max(times)


class NewRows:
    r"""The rows of the files of a table that were not seen before.

    A file that is new is read whole. A file that was seen is not read while its size and time stay; if they changed,
    its rows must be the same, also where it was renamed since. A file with other rows is refused: new rows come in
    files of their own. Standard input is always new.

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
        Whether a file with other rows than before is new, as one that is written anew each night.
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
    ...     _ = (Path(folder) / "monday.csv").write_text("logit_0,logit_1\n2.5,0.1\n")
    ...     first = NewRows(fitted, folder, seen={}, name="monday")
    ...     print([rows.logits.tolist() for rows in first.batches()])
    ...     _ = (Path(folder) / "tuesday.csv").write_text("logit_0,logit_1\n0.3,0.9\n")
    ...     then = NewRows(fitted, folder, seen=first.seen, name="tuesday")
    ...     print([rows.logits.tolist() for rows in then.batches()], [file[1:] for file in then.found])
    [[[2.5, 0.1]]]
    [[[0.3, 0.9]]] [(1, 0), (0, 1)]
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
        """Yield the rows of a file that was not seen, and note what it has."""
        before = None if unit.is_standard else self.seen.get(unit.key)
        if before is not None and (before.size, before.modified) == unit.state:
            self._note(unit, before, new=0)
            return
        same = before or self._renamed(unit)
        if same is not None and _digest(self._batches(unit)) == same.digest:
            self._note(unit, same, new=0)
            return
        if before is not None and not self._replaced:
            raise InvalidInputError(
                f"{unit.name}: {before.rows:,} rows of this file were seen before, and it has changed since. Give new "
                f"rows in a new file; if the file is written anew each time, use replaced=True (--replaced); if rows "
                f"or labels were corrected, begin a new state with all of them."
            )
        digest, n_rows = hashlib.sha256(), 0
        for rows in self._batches(unit):
            n_rows += len(rows.logits)
            _add(digest, rows)
            if len(rows.logits):
                yield rows
        self._note(unit, SeenFile(n_rows, digest.hexdigest(), *unit.state), new=n_rows)

    def _renamed(self, unit: _Unit) -> SeenFile | None:
        """Return a file that was seen, is gone, and had the size of this one."""
        if unit.is_standard or not all(file.is_local for file in unit.files):
            return None
        alike = (key for key, file in self.seen.items() if file.size == unit.state[0])
        gone = next((key for key in alike if not os.path.exists(key)), None)  # noqa: PTH110
        return None if gone is None else self.seen[gone]

    def _batches(self, unit: _Unit) -> Iterator[Timed]:
        if _has_rows(unit):
            table = TimedTable(self._calibrator, *unit.files, by=self._by, name=self._name, spec=self._spec)
            yield from table.batches()

    def _note(self, unit: _Unit, file: SeenFile, *, new: int) -> None:
        self.found.append(FoundFile(unit.name, file.rows - new, new))
        if not unit.is_standard:
            self.seen[unit.key] = SeenFile(file.rows, file.digest, *unit.state)


def _has_rows(unit: _Unit) -> bool:
    """Whether a file has rows; one without, as a quiet night leaves it, is no error."""
    if unit.is_standard:
        return True
    with open_part(format_of_all(unit.parts), *unit.parts) as source:
        return any(map(len, islice(source.batches((), source.names[:1]), 1)))


def _digest(batches: Iterable[Timed]) -> str:
    digest = hashlib.sha256()
    for rows in batches:
        _add(digest, rows)
    return digest.hexdigest()


def _add(digest: Any, rows: Timed) -> None:
    """Add rows and their labels to a digest: numbers by their values, in whatever precision they were written."""
    columns: list[NDArray[Any]] = [rows.logits]
    columns += [] if rows.features is None else [rows.features]
    columns += [] if rows.y is None or rows.labelled is None else [rows.y[:, None], rows.labelled[:, None]]
    exact = np.hstack(columns, dtype=np.float64) + 0.0  # -0.0 is 0.0
    digest.update(np.where(np.isnan(exact), np.nan, exact).tobytes())  # there are many kinds of NaN
