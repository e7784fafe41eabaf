"""Rows that are nearly equal: neighbours that are far closer than chance allows.

Where rows are drawn apart, in d dimensions, the distances r of a row's nearest neighbours follow a law that knows no
scale: k · log(r_{k+1} / r_k) is exponential with the mean 1 / d, for each k. Frames of a video, or copies with a little
noise, break it: behind the last of them comes a gap. The median of a row's gaps tells d, whatever one of them is, so
each row is judged by its own surroundings.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from auxcal._core.arrays import Floats, Ints

# Chosen on random states that are not reported; benchmarks/evidence/hard_conditions.py measures what they bring.
# A gap that shows nearly equal rows: in nats, of which chance makes one in thirty rows; and in log r.
_CLEAR = 8.0, 0.25
_LIKELY = 5.0, 0.1  # a gap that separates them, where many have a clear one
_SHARE = 0.15  # of the rows that must have a clear gap: fewer hardly matter
_MOST = 100  # neighbours that a row is compared with, and so the largest set that is found
_FEWEST = 20  # rows, of which half can be neighbours: fewer tell no dimension
_DIMENSIONS = 32  # of more, as many random directions keep the ratios of distances
_CELL = 2048  # rows that are compared with each other at once
_PLACES, _JUDGED = 4, 256  # where to look first, and rows that are judged there: they tell whether to look further


def near_rows(x: Floats) -> Ints | None:
    """Return the same number for rows that are nearly equal, or None where hardly any are.

    Parameters
    ----------
    x : array of shape (n, d)
        Rows that differ, in an order that is random, or that of their hashes.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal._core.near_rows import near_rows
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(50, 5))
    >>> frames = x.repeat(4, axis=0) + 0.01 * rng.normal(size=(200, 5))
    >>> near_rows(rng.permutation(x)) is None, len(np.unique(near_rows(rng.permutation(frames))))
    (True, 50)
    """
    if len(x) < _FEWEST:
        return None
    if x.shape[1] > _DIMENSIONS:
        x = x @ np.random.default_rng(0).normal(size=(x.shape[1], _DIMENSIONS)).astype(x.dtype)
    x = x.astype(np.float64)
    found = [np.isfinite(_radii(_distances(*place), x.shape[1], _CLEAR)).mean() for place in _places(x)]
    if np.mean(found) < _SHARE:
        return None
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    first, second = np.concatenate([cell[_near_pairs(x[cell])] for cell in _cells(x)], axis=1)
    linked = coo_array((np.ones(len(first), np.int8), (first, second)), shape=(len(x), len(x)))
    return np.asarray(connected_components(linked, directed=False)[1])


def _places(x: Floats) -> Iterator[tuple[Floats, Floats]]:
    """Yield rows to judge, and all rows around them."""
    if len(x) <= _CELL:
        yield x[:_JUDGED], x
        return
    for centre in x[:_PLACES]:
        distances = np.square(x - centre) @ np.ones(x.shape[1])
        around = np.argpartition(distances, _CELL)[:_CELL]
        around = around[np.argsort(distances[around])]
        yield x[around[:_JUDGED]], x[around]


def _cells(x: Floats) -> Iterator[Ints]:
    """Yield rows near each other, twice: those that a border separates the first time are together the second."""
    turned = x @ np.linalg.qr(np.random.default_rng(0).normal(size=(x.shape[1], x.shape[1])))[0]
    for directions in (x, turned) if len(x) > _CELL else (x,):
        waiting = [np.arange(len(x))]
        while waiting:
            rows = waiting.pop()
            if len(rows) <= _CELL:
                yield rows
                continue
            part = directions[rows]
            order = np.argpartition(part[:, part.var(axis=0).argmax()], len(rows) // 2)
            waiting += [rows[order[: len(rows) // 2]], rows[order[len(rows) // 2 :]]]


def _distances(rows: Floats, others: Floats) -> Floats:
    """Return squared distances; one that is 0 but for rounding is 0."""
    centre = others.mean(axis=0)
    rows, others = rows - centre, others - centre
    lengths = np.square(others).sum(axis=1)
    return np.maximum(np.square(rows).sum(axis=1)[:, None] + lengths - 2 * rows @ others.T, 0)


def _radii(distances: Floats, n_dimensions: int, least: tuple[float, float]) -> Floats:
    """Return a squared radius for each row, in the middle of its widest gap; NaN where no gap is as large as asked."""
    most = min(_MOST, distances.shape[1] // 2)
    nearest = np.sort(np.partition(distances, most + 1, axis=1)[:, : most + 2], axis=1)[:, 1:]  # the first is itself
    log_r = np.log(np.maximum(nearest, np.finfo(np.float64).eps * max(distances.max(), 1e-300))) / 2
    gaps = np.diff(log_r, axis=1)
    scaled = gaps * np.arange(1, most + 1)
    dimension = np.log(2) / np.maximum(np.median(scaled, axis=1), np.log(2) / n_dimensions)
    rare, wide = least
    beyond_chance = (gaps > wide) & (scaled * dimension[:, None] > rare)
    widest = np.where(beyond_chance, gaps, 0).argmax(axis=1)
    row = np.arange(len(gaps))
    radii = np.exp(log_r[row, widest] + log_r[row, widest + 1])
    return np.where(beyond_chance[row, widest], radii, np.nan)


def _near_pairs(x: Floats) -> Ints:
    """Return pairs of rows that belong together, of shape (2, m).

    Rows with a gap do if each is within the radius of the other. A row without one belongs to the nearest of those
    within whose radius it is, and so links no two of them.
    """
    distances = _distances(x, x)
    radii = _radii(distances, x.shape[1], _LIKELY)
    clear = np.flatnonzero(np.isfinite(radii))
    if not len(clear):
        return np.empty((2, 0), dtype=np.intp)
    within = distances[:, clear] <= radii[clear]
    mutual = np.triu(within[clear] & within[clear].T, 1)
    unclear = np.flatnonzero(np.isnan(radii))
    nearest = np.where(within[unclear], distances[np.ix_(unclear, clear)], np.inf)
    joins = nearest.min(axis=1) < np.inf
    first, second = np.nonzero(mutual)
    joined = unclear[joins], clear[nearest.argmin(axis=1)[joins]]
    return np.stack([np.append(clear[first], joined[0]), np.append(clear[second], joined[1])])
