"""timeline and table_timeline: rows in memory, or of a table that need not fit there, checked and watched over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from auxcal._core.arrays import Bools, Floats, Ints, to_numpy
from auxcal._core.errors import InvalidInputError
from auxcal._core.progress import Report, silent
from auxcal.calibrators import Calibrator
from auxcal.monitoring._monitor import BATCH, Monitor
from auxcal.monitoring._open_chunks import OpenChunks
from auxcal.monitoring._options import as_calibrator
from auxcal.monitoring._timed import Names, Timed, TimedRows, check_names, chunk_names
from auxcal.monitoring._timeline import Chunk, Timeline


def timeline(
    calibrator: Calibrator,
    logits: ArrayLike,
    by: Sequence[Any] | np.ndarray[Any, Any],
    y: ArrayLike | None = None,
    features: ArrayLike | None = None,
    *,
    labelled: ArrayLike | None = None,
    level: float = 0.05,
    tolerance: float = 0.0,
    report: Report = silent,
) -> Timeline:
    """Check and watch rows over time.

    Parameters
    ----------
    calibrator : Calibrator
        A fitted one.
    logits : array of shape (n, K)
        What it takes.
    by : sequence of length n
        The chunk of each row, a day for instance. Chunks come in the order of these values: numbers by size, all else
        as text. The rows of a chunk are watched in random order.
    y : array of shape (n,), optional
        The true classes, by index or by the names of the fit.
    features : array of shape (n, d), optional
        The features, where the calibrator was fitted with such.
    labelled : array of shape (n,), optional
        Which rows have a label in `y`; all of them by default.
    level : float
        The probability that the monitor ever raises an alarm while nothing changes, and that any chunk gets another
        verdict than "same".
    tolerance : float, optional
        As in `Monitor`.
    report : callable
        Called every now and then with the share that is done.

    Returns
    -------
    Timeline

    Examples
    --------
    >>> import numpy as np
    >>> import auxcal
    >>> from auxcal.monitoring import timeline
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(3, size=900)
    >>> logits = rng.normal(size=(900, 3)) + 3 * np.eye(3)[y]
    >>> calibrator = auxcal.PlattScaling().fit(logits[:500], y[:500])
    >>> found = timeline(calibrator, logits[500:], ["monday"] * 200 + ["tuesday"] * 200)
    >>> [(chunk.name, chunk.verdict) for chunk in found.chunks]
    [('monday', 'same'), ('tuesday', 'same')]
    """
    calibrator = as_calibrator(calibrator)
    array, further = calibrator.validate_rows(logits, features)
    names = _names_of(by, len(array))
    if y is None:
        rows = _Arrays(array, further, None, None, names)
    else:
        true = calibrator.inputs_.as_y(y, n_rows=len(array), n_classes=array.shape[1])
        rows = _Arrays(array, further, true, _as_labelled(labelled, len(array)), names)
    return table_timeline(calibrator, rows, level=level, tolerance=tolerance, report=report)


def table_timeline(
    calibrator: Calibrator, table: TimedRows, *, level: float = 0.05, tolerance: float = 0.0, report: Report = silent
) -> Timeline:
    r"""Check and watch the rows of a table that need not fit into memory; the result is that of `timeline`.

    It keeps 14 bytes of every row, and at most 20,000 rows of every chunk as the calibrator sees them, until the chunk
    and those before it are whole.

    Parameters
    ----------
    calibrator : Calibrator
        A fitted one.
    table : TimedTable
        Its rows, in any order.
    level, tolerance, report
        As in `timeline`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import auxcal
    >>> from auxcal.formats import TimedTable
    >>> from auxcal.monitoring import table_timeline
    >>> calibrator = auxcal.PlattScaling().fit([[2.0, 0.0], [0.0, 1.0]] * 50, [0, 1, 1, 1] * 25)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "logits.csv"
    ...     _ = path.write_text("day,logit_0,logit_1\nmonday,2.0,0.0\ntuesday,0.0,1.0\n")
    ...     found = table_timeline(calibrator, TimedTable(calibrator, path, by="day"))
    >>> [(chunk.name, chunk.verdict) for chunk in found.chunks]
    [('monday', 'few'), ('tuesday', 'few')]
    """
    monitor = Monitor(calibrator, level, tolerance=tolerance, keep=0)
    waiting = OpenChunks(monitor, table.counts())
    chunks: list[Chunk] = []
    for batch in table.batches():
        chunks += waiting.add(batch)
        if batch.done is not None:
            report(batch.done)
    chunks += waiting.finish()
    counts, hits = monitor.reference.counts, monitor.reference.hits
    before = float(hits.sum() / counts.sum()), float(counts[-1] / counts.sum())
    return Timeline(tuple(chunks), level, *before)


@dataclass(frozen=True)
class _Arrays:
    """Rows in memory, as those of a table."""

    logits: Floats
    features: Floats | None
    y: Ints | None
    labelled: Bools | None
    by: Names

    def counts(self) -> Counter[str]:
        return Counter(self.by.tolist())

    def batches(self) -> Iterator[Timed]:
        for start in range(0, len(self.by), BATCH):
            rows = slice(start, start + BATCH)
            yield Timed(
                self.logits[rows],
                None if self.features is None else self.features[rows],
                None if self.y is None else self.y[rows],
                None if self.labelled is None else self.labelled[rows],
                self.by[rows],
                min(1.0, (start + BATCH) / len(self.by)),
            )


def _as_labelled(labelled: ArrayLike | None, n_rows: int) -> Bools:
    """Return which rows have a label: all of them by default."""
    if labelled is None:
        return np.ones(n_rows, dtype=bool)
    found = to_numpy(labelled, "labelled").astype(bool)
    if found.shape != (n_rows,):
        raise InvalidInputError(f"labelled must have one value for each of the {n_rows} rows; got shape {found.shape}.")
    return found


def _names_of(by: Sequence[Any] | np.ndarray[Any, Any], n_rows: int) -> Names:
    if len(by) != n_rows:
        raise InvalidInputError(f"by must have one value for each of the {n_rows} rows; got {len(by)}.")
    names = chunk_names(by)
    check_names(names, range(n_rows))
    return names
