"""Signals: numbers and categories that are known of an answer, where there are no logits.

A table of them is validated once, here, and becomes a matrix of numbers. What a column is follows from its type and
from what the user states by name, never from its values.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import chain
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from auxcal._core.arrays import LEAST_PROBABILITY, Bools, Floats, Ints, to_numpy
from auxcal._core.errors import InvalidInputError
from auxcal._core.logits import expit, logit
from auxcal._core.text import did_you_mean

SignalKind = Literal["number", "probability", "category"]

MOST_LEVELS = 10_000
"""Levels of a category that are remembered, the most frequent ones; others count as new. They take 200 KB of a file."""

UNSEEN = -1
"""The code of a level that the fit did not have."""

LARGEST = 1e30
"""What an infinity counts as: beyond all numbers that are measured, and within float32."""


class SignalColumns(NamedTuple):
    """The columns of a table of signals: their names, what they are, and the levels of categories.

    Parameters
    ----------
    names : tuple of str
        The names, in the order of the matrix.
    kinds : tuple of {"number", "probability", "category"}
        What each column is; booleans are numbers, and a probability counts by its log-odds.
    levels : tuple of tuples of str
        The levels of each category, whose places are their codes; empty for all others.

    Examples
    --------
    >>> from auxcal.signals import SignalColumns
    >>> table = {"verbal": [0.9, None, 0.5], "topic": ["law", "law", "maths"]}
    >>> columns = SignalColumns.of(table, probabilities=["verbal"])
    >>> columns.kinds, columns.levels
    (('probability', 'category'), ((), ('law', 'maths')))
    >>> columns.encode({"topic": ["maths", "art", None], "verbal": [0.5, 0.5, None]})
    array([[ 0.,  1.],
           [ 0., -1.],
           [nan, nan]])
    """

    names: tuple[str, ...]
    kinds: tuple[SignalKind, ...]
    levels: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, signals: Any, probabilities: Iterable[str] = ()) -> SignalColumns:
        """Return what a table has; those of the columns that are probabilities are named."""
        table = read_columns(signals)
        of_odds = check_names(probabilities, table, "probabilities")
        for name in of_odds:
            if _is_text(table[name]):
                raise InvalidInputError(
                    f"probabilities: the column {name!r} must hold numbers; it holds text. Leave it out of them."
                )
        kinds: tuple[SignalKind, ...] = tuple(
            "category" if _is_text(column) else "probability" if name in of_odds else "number"
            for name, column in table.items()
        )
        return cls(tuple(table), kinds, tuple(_levels(column) if _is_text(column) else () for column in table.values()))

    @property
    def are_numbers(self) -> Bools:
        """Which columns are not categories."""
        return np.array([kind != "category" for kind in self.kinds])

    @property
    def n_levels(self) -> Ints:
        """How many levels each category has."""
        named = zip(self.kinds, self.levels, strict=True)
        return np.array([len(levels) for kind, levels in named if kind == "category"], np.intp)

    def parts(self, x: Floats) -> tuple[Floats, Ints]:
        """Return the numbers of a matrix, and the places of levels among the effects of each category."""
        categories = np.flatnonzero(~self.are_numbers)
        codes = np.empty((len(x), len(categories)), np.intp)
        for k, (j, n) in enumerate(zip(categories, self.n_levels, strict=True)):
            codes[:, k] = places_of_levels(x[:, j], int(n))
        return x[:, self.are_numbers], codes

    def in_order_of(self, names: Sequence[str], x: Floats) -> tuple[SignalColumns, Floats]:
        """Return the columns, and their matrix, in the order of the same names; unchanged if the names are others."""
        if sorted(names) != sorted(self.names):
            return self, x
        places = [self.names.index(name) for name in names]
        kinds, levels = tuple(self.kinds[place] for place in places), tuple(self.levels[place] for place in places)
        return SignalColumns(tuple(names), kinds, levels), x[:, places]

    def encode(self, signals: Any) -> Floats:
        """Return the matrix of a table with these columns, in any order; others are ignored.

        It is of shape (n, d) and of float64. Gaps are NaN, categories the codes of their levels or `UNSEEN`, booleans 0
        and 1, and an infinity the largest number.
        """
        table = read_columns(signals, names=self.names)
        for name in self.names:
            if name not in table:
                raise InvalidInputError(
                    f"signals must have the columns that the calibrator was fitted with; there is no "
                    f"{name!r}{did_you_mean(name, list(table))}. Add it, empty where it is not known."
                )
        parts = zip(self.names, self.kinds, self.levels, strict=True)
        return np.stack([_encoded(table[name], name, kind, levels) for name, kind, levels in parts], axis=1)

    def write(self, x: Floats, rows: Sequence[int]) -> dict[str, dict[int, str]]:
        """Return the text of some rows of a matrix that `encode` gave, by column and row; gaps are left out."""
        texts: dict[str, dict[int, str]] = {}
        for j, (name, kind, levels) in enumerate(zip(self.names, self.kinds, self.levels, strict=True)):
            known = {i: x[i, j] for i in rows if not np.isnan(x[i, j])}
            if kind == "category":
                texts[name] = {i: levels[int(code)] if code >= 0 else "a new level" for i, code in known.items()}
            else:
                texts[name] = {
                    i: f"{expit(value) if kind == 'probability' else value:.4g}" for i, value in known.items()
                }
        return texts

    def check(self, n_columns: int | None = None) -> None:
        """Reject what no table can have."""
        same = len(self.names) == len(self.kinds) == len(self.levels) == (n_columns or len(self.names)) > 0
        known = set(self.kinds) <= set(get_args(SignalKind))
        text = all(isinstance(name, str) for name in (*self.names, *chain.from_iterable(self.levels)))
        if not (same and known and text and len(set(self.names)) == len(self.names)):
            raise ValueError("the names, kinds and levels of the signals must fit each other")


class FeatureTable(NamedTuple):
    """A table of features as numbers alone, for a method that takes numbers: gaps filled, categories as effects.

    Beside what `SignalColumns` has there are `fills`, the mean of each column or the effect of a gap, which stand for
    gaps; `with_gaps`, the numbers that had gaps in the fit, each of which gets a column that marks where; and
    `effects`, of each level of a category on the log-odds of a right prediction, empty for numbers.
    """

    names: tuple[str, ...]
    kinds: tuple[SignalKind, ...]
    levels: tuple[tuple[str, ...], ...]
    fills: tuple[float, ...]
    with_gaps: tuple[int, ...]
    effects: tuple[tuple[float, ...], ...]

    @property
    def columns(self) -> SignalColumns:
        """The columns that a table must have."""
        return SignalColumns(self.names, self.kinds, self.levels)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the columns of numbers."""
        return (*self.names, *(f"{self.names[j]} is missing" for j in self.with_gaps))

    def encode(self, features: Any) -> Floats:
        """Return a table as numbers; a new level counts as the average one."""
        return self.fill(self.columns.encode(features))

    def fill(self, x: Floats) -> Floats:
        """Return the numbers of a matrix that `SignalColumns.encode` gave."""
        numbers = np.concatenate([x, np.isnan(x[:, list(self.with_gaps)])], axis=1)
        for j, (fill, effects) in enumerate(zip(self.fills, self.effects, strict=True)):
            column = x[:, j]
            if self.kinds[j] == "category":
                known = np.where(column >= 0, column, len(effects)).astype(np.intp)
                numbers[:, j] = np.append(effects, 0.0)[known]
            numbers[np.isnan(column), j] = fill
        return numbers

    def check(self, n_features: int) -> None:
        """Reject what no fit can have saved."""
        self.columns.check()
        same = len(self.fills) == len(self.effects) == len(self.names)
        known = all(len(levels) == len(effects) for levels, effects in zip(self.levels, self.effects, strict=False))
        numbers = all(isinstance(number, float) for number in (*self.fills, *chain.from_iterable(self.effects)))
        if not (same and known and numbers and len(self.feature_names) == n_features):
            raise ValueError("the table of features must fit its columns")


def check_names(wanted: Iterable[str], table: Mapping[str, Any], what: str) -> tuple[str, ...]:
    """Return the names of an option, which must be columns."""
    if isinstance(wanted, str):
        raise InvalidInputError(f"{what} must be a list of names of columns; got {wanted!r}. Give [{wanted!r}].")
    for name in wanted:
        if name not in table:
            raise InvalidInputError(
                f"{what} must name columns of the signals; there is no {name!r}{did_you_mean(str(name), list(table))}."
            )
    return tuple(wanted)


def read_columns(signals: Any, names: Sequence[str] | None = None) -> dict[str, NDArray[Any]]:
    """Return the columns of a table by name: float64 with NaN for gaps, or text as objects.

    The table is a data frame, an Arrow table or a mapping of columns; or an array of shape (n, d) or (n,), whose
    columns have these names, by default "signal 0", "signal 1" and so on.
    """
    columns = _by_name(signals, names)
    table = {str(name): _as_column(column, str(name)) for name, column in columns}
    sizes = {name: len(column) for name, column in table.items()}
    if not table or len(set(sizes.values())) > 1 or len(table) < len(columns):
        raise InvalidInputError(
            f"signals must have columns of one length, each with a name of its own; got "
            f"{', '.join(f'{name} of {n}' for name, n in sizes.items()) or 'none'}. Check the table."
        )
    return table


def _by_name(signals: Any, names: Sequence[str] | None) -> list[tuple[Any, Any]]:
    """Return names and columns, as they came."""
    if isinstance(signals, Mapping):
        return list(signals.items())
    if hasattr(signals, "columns") or hasattr(signals, "column_names"):
        import narwhals as nw

        frame = nw.from_native(signals, eager_only=True, pass_through=True)
        if isinstance(frame, nw.DataFrame):
            return [(name, frame.get_column(name)) for name in frame.columns]
    array = to_numpy(signals, "signals")
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or (names is not None and array.shape[1] != len(names)):
        wanted = "d" if names is None else len(names)
        raise InvalidInputError(
            f"signals must be a DataFrame, a mapping of columns, or an array of shape (n, {wanted}); got shape "
            f"{array.shape}. A signal is a column, an answer a row."
        )
    return list(zip(names or [f"signal {j}" for j in range(array.shape[1])], array.T, strict=True))


def _as_column(column: Any, name: str) -> NDArray[Any]:
    """Return numbers and booleans as float64, and text as objects."""
    import narwhals as nw

    series = nw.from_native(column, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        if series.dtype == nw.Boolean:
            series = series.cast(nw.Int8)
        if series.dtype.is_numeric():
            return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
        if series.dtype in (nw.Categorical, nw.Enum):
            series = series.cast(nw.String)
        array = np.asarray(series.to_numpy())
    elif isinstance(column, list | tuple):
        array = np.array(column, dtype=object)  # NumPy would make text of numbers among text
    else:
        array = to_numpy(column, f"signals: the column {name!r}")
    if array.ndim == 1 and array.dtype.kind in "biuf":
        return array.astype(np.float64)
    if array.ndim == 1 and array.dtype.kind in "UT":
        return array.astype(object)
    if array.ndim == 1 and array.dtype.kind == "O":
        return _of_objects(array, name)
    raise InvalidInputError(
        f"signals: the column {name!r} must hold numbers, booleans or text, one for each answer; got dtype "
        f"{array.dtype} of shape {array.shape}. Make numbers of it, such as the hour of a time, or text."
    )


def _of_objects(array: NDArray[Any], name: str) -> NDArray[Any]:
    """Return a column of objects, which must be of one type."""
    known = [value for value in array.tolist() if not _is_missing(value)]
    if all(isinstance(value, str) for value in known):
        return array
    if all(isinstance(value, int | float | Decimal | np.number | np.bool_) for value in known):
        return np.array([np.nan if _is_missing(value) else _as_float(value) for value in array.tolist()])
    types = sorted({type(value).__name__ for value in known})
    raise InvalidInputError(
        f"signals: the column {name!r} must hold numbers, booleans or text, with None for gaps; got "
        f"{', '.join(types[:3])}. Convert it to one of them."
    )


def _as_float(value: Any) -> float:
    """Return a number; an integer beyond float64 is infinite, as one in a file is."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _is_missing(value: Any) -> bool:
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )


def _is_text(column: NDArray[Any]) -> bool:
    return column.dtype.kind == "O"


def _encoded(column: NDArray[Any], name: str, kind: SignalKind, levels: tuple[str, ...]) -> Floats:
    """Return a column as numbers; one that is all gaps may have any type."""
    was_text = kind == "category"
    if _is_text(column) != was_text:
        empty = all(map(_is_missing, column.tolist()))
        if not empty:
            before, now = ("text", "numbers") if was_text else ("numbers", "text")
            raise InvalidInputError(
                f"signals: the column {name!r} held {before} in the fit; now it holds {now}. Convert it to {before}."
            )
        return np.full(len(column), np.nan)
    if was_text:
        return _codes(column, levels)
    numbers = np.clip(column, -LARGEST, LARGEST)
    return _log_odds(numbers, name) if kind == "probability" else numbers


def _levels(column: NDArray[Any]) -> tuple[str, ...]:
    """Return the levels of a category in alphabetical order; of too many, the most frequent ones."""
    counts = Counter(value for value in column.tolist() if not _is_missing(value))
    frequent = sorted(counts, key=lambda level: (-counts[level], level))[:MOST_LEVELS]
    return tuple(sorted(frequent))


def _codes(column: NDArray[Any], levels: tuple[str, ...]) -> Floats:
    code = {level: float(place) for place, level in enumerate(levels)}
    codes = np.array([code.get(value, UNSEEN) for value in column.tolist()], dtype=np.float64)
    other = np.flatnonzero(codes == UNSEEN)
    codes[other[[_is_missing(value) for value in column[other].tolist()]]] = np.nan
    return codes


def places_of_levels(codes: Floats, n_levels: int) -> Ints:
    """Return the places of levels among effects: a gap comes after the levels, and a new level last."""
    return np.where(np.isnan(codes), n_levels, np.where(codes < 0, n_levels + 1, codes)).astype(np.intp)


def _log_odds(p: Floats, name: str) -> Floats:
    """Return log-odds of probabilities; 0 and 1 are clipped."""
    if not (np.isnan(p) | ((p >= 0) & (p <= 1))).all():
        odd = p[~(np.isnan(p) | ((p >= 0) & (p <= 1)))][0]
        raise InvalidInputError(
            f"signals: the column {name!r} must hold probabilities, from 0 to 1; got {odd:.6g}. Divide percentages by "
            f"100, or leave the column out of probabilities."
        )
    return np.asarray(logit(np.clip(p, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)))
