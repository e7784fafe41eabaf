"""Evaluation that merges: what the metrics need of any number of rows, in bounded memory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from auxcal._core.arrays import Bools, Floats, Weight, as_groups
from auxcal._core.errors import FileFormatError, InvalidInputError
from auxcal._core.files import as_path
from auxcal._core.float_errors import ignore_float_errors
from auxcal._core.progress import Report, silent
from auxcal._core.state import (
    check_count,
    check_learned,
    check_like,
    from_json,
    read_state,
    state_bytes,
    to_json,
    write_state,
)
from auxcal.metrics._calibration_error import CELLS_PER_BIN, N_BINS, floor_of, largest_gap, mean_gap
from auxcal.metrics._cells import Cells, error_of
from auxcal.metrics._evaluate import METRICS, check_resamples, chosen_metrics, interval_ends
from auxcal.metrics.binning import Bins, bin_confidence
from auxcal.metrics.sample import Sample, as_sample

N_FINE = N_BINS * CELLS_PER_BIN
MEANS = ("brier", "nll")  # over the rows: their sums add up
_ROUNDING = 1e-5  # of sums of float32 numbers

FORMAT = 1  # of saved tallies

_OF_BINS = {"ece": mean_gap, "mce": largest_gap}
_CHUNK = 1 << 16  # rows that fit into the CPU cache


@dataclass(frozen=True, eq=False)
class Tally:
    """What the metrics need of some rows. Tallies of parts add up to the tally of the whole.

    ECE, MCE, Brier score, NLL and the noise floor are those of the rows. So are all others up to 65,536
    different confidences; with more, rows are counted in cells, and `evaluate` says how far each metric can be off. A
    tally takes at most 3 MB, and one of few rows a few kB.

    Parameters
    ----------
    n_rows : int
        The number of rows.
    sums : dict of str to float
        The sums of the metrics that are means.
    bins : Bins
        Sums over 640 bins of equal width.
    cells : Cells
        How often each confidence occurs.

    Examples
    --------
    >>> from auxcal.metrics import Tally
    >>> first = Tally.of([0.9, 0.8], [True, True])
    >>> both = first + Tally.of([0.6, 0.3], [False, False])
    >>> scores = both.evaluate()
    >>> both.n_rows, scores["auroc"], round(scores["brier"], 4)
    (4, 1.0, 0.125)
    """

    n_rows: int = 0
    sums: dict[str, float] = field(default_factory=lambda: dict.fromkeys(MEANS, 0.0))
    bins: Bins = field(default_factory=lambda: Bins.empty(N_FINE))
    cells: Cells = field(default_factory=Cells.empty)

    @classmethod
    @ignore_float_errors
    def of(cls, confidence: ArrayLike, correct: ArrayLike, sample_weight: ArrayLike | None = None) -> Tally:
        """Return the tally of some rows, as `auxcal.evaluate` takes them; a million at a time is quick."""
        if np.ndim(cast(Any, confidence)) == 1 and len(cast(Any, confidence)) == 0:
            return cls()
        return cls._of_rows(*as_sample(confidence, correct, sample_weight)[:3])

    @classmethod
    @ignore_float_errors
    def by_group(
        cls, confidence: ArrayLike, correct: ArrayLike, groups: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> dict[Any, Tally]:
        """Return the tally of each group, by its name.

        Examples
        --------
        >>> from auxcal.metrics import Tally
        >>> tallies = Tally.by_group([0.9, 0.8, 0.3], [True, False, False], ["day", "night", "day"])
        >>> {group: tally.n_rows for group, tally in tallies.items()}
        {'day': 2, 'night': 1}
        """
        rows = as_sample(confidence, correct, sample_weight)
        names, place = np.unique(as_groups(groups, n_rows=len(rows.correct)), return_inverse=True)
        parts = np.split(np.argsort(place, kind="stable"), np.cumsum(np.bincount(place))[:-1])
        return {name.item(): cls._of_rows(*rows.take(part)[:3]) for name, part in zip(names, parts, strict=True)}

    @classmethod
    def _of_rows(cls, confidence: Floats, correct: Bools, weight: Weight | None) -> Tally:
        if weight is not None and not weight.any():
            return cls()
        bins = bin_confidence(confidence, correct, N_FINE, "width", weight)
        sums = {name: _sum_of(name, confidence, correct, weight) for name in MEANS}
        return cls(len(confidence), sums, bins, Cells.of(confidence, correct, weight))

    def __add__(self, other: Tally) -> Tally:
        if not isinstance(other, Tally):
            return NotImplemented
        if not (self.n_rows and other.n_rows):
            return self if self.n_rows else other
        return Tally(
            self.n_rows + other.n_rows,
            {name: self.sums[name] + other.sums[name] for name in MEANS},
            self.bins + other.bins,
            self.cells + other.cells,
        )

    def __radd__(self, other: object) -> Tally:
        return self if other == 0 else NotImplemented  # so that sum(tallies) works

    @property
    def accuracy(self) -> float:
        """The share of correct predictions."""
        return float(self.bins.correct.sum() / self.bins.count.sum())

    @property
    def confidence(self) -> float:
        """The mean confidence."""
        return float(self.bins.confidence.sum() / self.bins.count.sum())

    @ignore_float_errors
    def evaluate(
        self,
        metrics: Sequence[str] | None = None,
        *,
        bootstrap: int = 0,
        level: float = 0.95,
        random_state: int | None = 0,
        report: Report = silent,
    ) -> dict[str, float]:
        """Return what `auxcal.evaluate` gives for the rows.

        Parameters
        ----------
        metrics : sequence of str, optional
            The names of the metrics; all by default.
        bootstrap, level, random_state, report
            As in `auxcal.evaluate`; draws are made from the counts, so they cost the same for any number of rows.

        Returns
        -------
        dict of str to float
            The metrics by name, with the noise floor. Where rows were counted in cells, `<metric>_error` is the most
            that a metric can differ from that of the rows, for each that can; NaN where that is not known.
        """
        if self.n_rows == 0:
            raise InvalidInputError("there are no rows to evaluate: the tally is empty. Add rows to it.")
        check_resamples(bootstrap, level)
        chosen = chosen_metrics(metrics)
        scores = {name: self._value(name) for name in chosen}
        floor = floor_of(self.bins, N_BINS, random_state=random_state)
        scores |= {"ece_floor": floor.mean, "ece_floor_p95": floor.p95}
        scores |= interval_ends(scores, chosen, self._rows(), bootstrap, level, random_state, report)
        if self.cells.exact:
            return scores
        inexact = [name for name in chosen if name not in (*MEANS, *_OF_BINS)]
        return scores | {f"{name}_error": error_of(name, self.cells, scores[name]) for name in inexact}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the tally to one file, safetensors and never pickle, which `Tally.load` reads."""
        write_state(as_path(path), *self._state())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Tally:
        """Read a tally that `save` wrote.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from auxcal.metrics import Tally
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "monday.safetensors"
        ...     Tally.of([0.9, 0.3], [True, False]).save(path)
        ...     Tally.load(path).n_rows
        2
        """
        return cls._from_state(as_path(path))

    def to_bytes(self) -> bytes:
        """Return what `save` writes, for an engine that moves it."""
        return state_bytes(*self._state())

    @classmethod
    def from_bytes(cls, contents: bytes) -> Tally:
        """Return the tally that `to_bytes` gave."""
        return cls._from_state(contents)

    def _value(self, name: str) -> float:
        if name in MEANS:
            return self.sums[name] / float(self.bins.count.sum())
        if name in _OF_BINS:
            return _OF_BINS[name](self.bins.merged(CELLS_PER_BIN))
        rows = self._rows()
        return METRICS[name].kernel(rows.confidence, rows.correct, sample_weight=rows.sample_weight)

    def _rows(self) -> Sample:
        """Return a row for each confidence that occurs, wrong or right, with the number of rows as its weight."""
        cells = self.cells
        weight = np.stack([cells.wrong, cells.right], axis=1).ravel().astype(np.float64)
        counted = np.flatnonzero(weight)
        return Sample(np.repeat(cells.confidence, 2)[counted], counted % 2 == 1, weight[counted])

    def _state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        used = np.flatnonzero(self.bins.count)
        bins = {"place": used} | {name: array[used] for name, array in vars(self.bins).items()}
        tensors: dict[str, NDArray[Any]] = {}
        state = {"n_rows": self.n_rows, "sums": self.sums, "bins": bins, "cells": vars(self.cells)}
        return {"format": FORMAT, "tally": to_json(state, "tally", tensors)}, tensors

    @classmethod
    def _from_state(cls, source: Any) -> Tally:
        header, tensors = read_state(source, "tally", {"tally": dict}, FORMAT)
        try:
            state = from_json(header["tally"], tensors)
            _check_state(**state)
            place, bins = state["bins"].pop("place"), {}
            for name, values in state["bins"].items():
                bins[name] = np.zeros(N_FINE, values.dtype)
                bins[name][place] = values
            return cls(state["n_rows"], state["sums"], Bins(**bins), Cells(**state["cells"]))
        except Exception as error:  # a state that does not fit can fail in as many ways as it has parts
            where = source if isinstance(source, Path) else f"{len(source)} bytes"
            raise FileFormatError(
                f"{where}: the state is not that of a tally: {type(error).__name__}: {error}. Save the tally again."
            ) from error


def _sum_of(name: str, confidence: Floats, correct: Bools, weight: Weight | None) -> float:
    """Return the sum of a metric that is a mean, in chunks that fit into the cache."""
    kernel, total = METRICS[name].kernel, 0.0
    for start in range(0, len(confidence), _CHUNK):
        rows = slice(start, start + _CHUNK)
        times = None if weight is None else weight[rows]
        share = len(confidence[rows]) if times is None else float(times.sum())
        if share:
            total += share * kernel(confidence[rows], correct[rows], sample_weight=times)
    return total


def _check_state(n_rows: Any, sums: Any, bins: Any, cells: Any) -> None:
    """Validate saved state: keys, types, shapes, and sums that rows can have."""
    check_count(n_rows, "n_rows")
    check_like(sums, dict.fromkeys(MEANS, 0.0), "sums")
    check_learned(dict.fromkeys(("place", "count", "confidence", "correct"), ("n",)), bins, {})
    columns = {name: column for name, column in cells.items() if name != "exact"}
    check_learned(dict.fromkeys(("confidence", "right", "wrong"), ("n",)), columns, {})
    counts = bins["count"], bins["correct"], cells["right"], cells["wrong"]
    if len({each.dtype for each in counts}) > 1 or counts[0].dtype not in (np.int64, np.float64):
        raise ValueError("counts must be of one kind, int64 or float64")
    if not isinstance(cells.get("exact", True), bool):
        raise ValueError("exact must be true or false")
    count, right = float(bins["count"].sum()), float(bins["correct"].sum())
    hits = float(cells["right"].sum())
    both = hits + float(cells["wrong"].sum())
    if not (np.isclose(count, both) and np.isclose(right, hits) and np.isfinite([*sums.values(), count]).all()):
        raise ValueError("bins and cells must be of the same rows")
    if (bins["confidence"] > (1 + _ROUNDING) * bins["count"]).any() or sums["brier"] > (1 + _ROUNDING) * count:
        raise ValueError("sums must be those of numbers from 0 to 1")
    if count > 0 and n_rows == 0:
        raise ValueError("no rows have no sums")
