"""Bets that rows differ from those of the reference, reading by reading, without labels."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from auxcal._core.arrays import Bools, Floats, Ints
from auxcal.adaptation import Adaptation
from auxcal.monitoring._cells import N_CELLS, Cells
from auxcal.monitoring._wealth import Numbers, Wealth
from auxcal.reference import READINGS, Reference, read_logits, stratum_of

Found: TypeAlias = NDArray[np.uint8]
"""The cell of each reading of some rows."""

PREDICTION = "predicted class"

FAVOURITE, FAVOURED = "energy", 0.5
"""The reading that tells foreign samples best, over many classifiers, and its share of the rows' level."""

_SURPRISING = 0.3  # the share of the rows that a bettor takes for different
_POWERS = (0.2, 0.5)


def _bets() -> dict[str, Numbers]:
    """Return by what each bettor multiplies its stakes in each cell, up to a constant: (cells, bettors)."""
    place = (np.arange(N_CELLS) + 0.5) / N_CELLS
    low = [place ** (power - 1) for power in _POWERS]
    parts = [np.floor(place * 2**depth) == part for depth in range(1, 5) for part in range(2**depth)]
    found = {"ordered": [*low, *(each[::-1] for each in low)], "unordered": parts}
    return {
        kind: np.stack([1 - _SURPRISING + _SURPRISING * each / each.mean() for each in bets], axis=1)
        for kind, bets in found.items()
    }


_BETS = _bets()


class RowBets:
    """Bets on the cell that each reading of a row falls into.

    A bettor expects more rows at one end of a reading, or in one part of the classes, than the reference has. Each
    reading is a group of bettors. Its wealth is a martingale as long as only its own ranks are looked at, so readings
    may not be averaged: the evidence of each counts a share, as in Bonferroni's correction. The energy has half, the
    others divide the rest.

    Parameters
    ----------
    reference : Reference
        That of the calibrator.
    adaptation : Adaptation or None
        What the calibrator was adapted to since; then rows of the reference are drawn, so that they are of that mix.
    random_state : int
        For breaking ties.
    """

    def __init__(self, reference: Reference, adaptation: Adaptation | None, random_state: int) -> None:
        self._rng = np.random.default_rng(random_state)
        kept = slice(None) if adaptation is None else _of_the_mix(reference, adaptation, self._rng)
        readings = _named(reference.readings[kept], reference.prediction[kept])
        n_rows = len(readings[PREDICTION])
        chance = self._rng.random((n_rows, len(readings)))
        self._cells = {name: Cells.of(each, chance[:, i]) for i, (name, each) in enumerate(readings.items())}
        self._sums = {name: cells.slots @ _bets_on(name) for name, cells in self._cells.items()}
        self._wealth = Wealth([_bets_on(name).shape[1] for name in readings])
        self._n_slots = n_rows + 1
        even = (1 - FAVOURED) / (len(readings) - 1)
        self._shares = np.array([FAVOURED if name == FAVOURITE else even for name in readings])

    @property
    def names(self) -> list[str]:
        """The readings."""
        return list(self._cells)

    def find(self, logits: Floats) -> Found:
        """Return the cell of each reading of new rows, of shape (n, readings): all that a bet needs to know of them."""
        readings = _named(read_logits(logits), logits.argmax(axis=1))
        chance = self._rng.random((len(logits), len(readings)))
        found = np.empty(chance.shape, dtype=np.uint8)
        for i, (name, reading) in enumerate(readings.items()):
            found[:, i] = self._cells[name].find(reading, chance[:, i])
        return found

    def update(self, found: Found) -> Numbers:
        """Bet on the cells of rows, and return the evidence of each reading after every row, of shape (n, readings)."""
        totals = self._n_slots + self._wealth.n_rows + np.arange(len(found))
        factors = [self._factors(name, found[:, i], totals) for i, name in enumerate(self._cells)]
        return self._wealth.grow(np.concatenate(factors, axis=1)) * self._shares

    def state(self) -> dict[str, Any]:
        """Return what changes from row to row."""
        return {"rng": self._rng.bit_generator.state, "sums": self._sums, "wealth": self._wealth.state()}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where another one was."""
        if any((state["sums"][name] < sums).any() for name, sums in self._sums.items()):
            raise ValueError("sums must be those of the reference, and more")
        self._rng.bit_generator.state = state["rng"]
        self._sums = {name: state["sums"][name] for name in self._cells}
        self._wealth.restore(state["wealth"])

    def _factors(self, name: str, cells: Found, totals: NDArray[np.int64]) -> Numbers:
        """Return the bets on these cells over their mean in the urn at the time."""
        bets = _bets_on(name)[cells]
        sums = np.cumsum(np.concatenate([self._sums[name][None], bets]), axis=0)
        self._sums[name] = sums[-1]
        return bets * totals[:, None] / sums[:-1]


def _of_the_mix(reference: Reference, adaptation: Adaptation, rng: np.random.Generator) -> Bools:
    """Draw rows of a reference, each with the probability that makes them one of the new mix."""
    ratio = adaptation.ratio[stratum_of(reference)]
    return rng.random(len(ratio)) * ratio.max() < ratio


def _bets_on(name: str) -> Numbers:
    return _BETS["unordered" if name == PREDICTION else "ordered"]


def _named(readings: Floats, prediction: Ints) -> dict[str, Any]:
    """Return the readings of rows by name.

    What the calibrator says of a row is none of them: of rows that it was fitted on it says something else than of new
    ones, whether these were held out or not, and on a long stream that is seen.
    """
    return {name: readings[:, i] for i, name in enumerate(READINGS)} | {PREDICTION: prediction}
