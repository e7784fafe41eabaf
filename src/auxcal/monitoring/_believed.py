"""How far a change of the mix is believed: as far as the error of the shares does not explain it."""

from __future__ import annotations

import math

import numpy as np

from auxcal._core.arrays import Floats
from auxcal.monitoring._known import Known

_TINY = 1e-6  # a share of the classes; where nothing is left of them, their shares among each other are as they were


def believed(known: Known, shares: Floats, variance: Floats, n_rows: float = math.inf) -> Floats:
    """Return the shares of the groups, changed as far as their error does not explain the change.

    The share of none and those of the classes among each other are two questions, since either may change alone.

    Parameters
    ----------
    known : Known
        The rows of the reference, and the shares before.
    shares, variance : arrays of shape (groups,)
        The shares that were found, and the variances of their errors.
    n_rows : float
        How many rows the shares are of, infinitely many if of all that are to come. The shares of few rows change by
        chance, even where the mix is the same.
    """
    none = np.arange(len(shares)) == known.group[-1]
    if not known.none_is_alone:
        return _shrunk(shares, known.shares, variance, n_rows)
    share = _shrunk(shares[none], known.shares[none], variance[none], n_rows)[0]
    rest, before = max(shares[~none].sum(), _TINY), known.shares[~none].sum()
    among = _shrunk(shares[~none] / rest, known.shares[~none] / before, variance[~none] / rest**2, n_rows * rest)
    result = np.empty_like(shares)
    result[none], result[~none] = share, among * (1 - share)
    return result


def _shrunk(shares: Floats, before: Floats, variance: Floats, n_rows: float) -> Floats:
    """Return shares between those before and those found, by how much of the change is more than its error."""
    change, error = shares - before, float(variance.sum())
    by_chance = float(before @ (1 - before)) / n_rows
    real = max(float(change @ change) - error, by_chance)
    return before + change * (real / (real + error) if real > 0 else 0.0)
