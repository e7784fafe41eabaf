"""What a monitor keeps from update to update, and how that becomes a file: alarms, evidence, rows without labels."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from functools import lru_cache
from pathlib import Path
from types import UnionType
from typing import Any, ClassVar, Literal, NamedTuple, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import ArrayLike

from auxcal._core.arrays import Floats, Ints, to_numpy
from auxcal._core.errors import FileFormatError, InvalidInputError

AlarmKind = Literal["data", "labels"]

_MOST = 2**62  # of a count: two of those add up within an int64
_LABELLED = -2  # in place of the prediction, once a row's label has come; no class and not NO_CLASS


@dataclass(frozen=True)
class Alarm:
    """What a monitor noticed, and when.

    Parameters
    ----------
    kind : {"data", "labels"}
        Whether rows differ from those of the fit, or labels from the confidence.
    after : int
        How many rows, or labels, it took.
    reason : str
        What is different.

    Examples
    --------
    >>> from auxcal.monitoring import Alarm
    >>> print(Alarm("labels", 1500, "the confidence is too high"))
    After 1,500 labels: the confidence is too high.
    """

    kind: AlarmKind
    after: int
    reason: str

    def __str__(self) -> str:
        return f"After {self.after:,} {'rows' if self.kind == 'data' else 'labels'}: {self.reason}."


class Evidence(NamedTuple):
    """The evidence after so many rows and labels, as odds: where one reaches 1 / level, there is an alarm.

    Parameters
    ----------
    n_rows, n_labels : int
        What was seen so far.
    data : float
        That rows differ from those of the fit.
    labels : float
        That the confidence is off.
    """

    n_rows: int
    n_labels: int
    data: float
    labels: float


class LabelBuffer:
    """The confidence and the prediction of the last rows of a stream, at most so many, until their labels come."""

    _CHANGING: ClassVar[dict[str, Any]] = {"_confidence": np.ndarray, "_prediction": np.ndarray, "n_rows": int}

    def __init__(self, most: int) -> None:
        self._confidence = np.zeros(most, dtype=np.float32)
        self._prediction = np.full(most, _LABELLED, dtype=np.int32)
        self.n_rows = 0

    def add(self, confidence: Floats, prediction: Ints, *, labelled: bool) -> Ints:
        """Keep rows in place of the oldest, and return their numbers; rows that have labels already don't wait."""
        rows = self.n_rows + np.arange(len(confidence))
        last = slice(max(0, len(rows) - len(self._confidence)), None)
        place = rows[last] % max(len(self._confidence), 1)
        self._confidence[place], self._prediction[place] = confidence[last], _LABELLED if labelled else prediction[last]
        self.n_rows += len(rows)
        return rows

    def check(self, rows: ArrayLike) -> Ints:
        """Validate the numbers of rows that still wait for their labels, and return them."""
        numbers, most = to_numpy(rows, "rows"), len(self._confidence)
        if numbers.ndim != 1 or (len(numbers) and not np.issubdtype(numbers.dtype, np.integer)):
            raise InvalidInputError(
                f"rows must be numbers of rows, as update returned them; got shape {numbers.shape} and dtype "
                f"{numbers.dtype}. Give some of those."
            )
        numbers = numbers.astype(np.intp)
        if (unseen := (numbers < 0) | (numbers >= self.n_rows)).any():
            raise InvalidInputError(
                f"rows must be numbers of the {self.n_rows:,} rows seen, counted from 0; got {numbers[unseen][0]}. "
                f"Give what update returned."
            )
        if (gone := numbers < self.n_rows - most).any():
            raise InvalidInputError(
                f"rows must be among the last {most:,} of the {self.n_rows:,} rows seen; got row {numbers[gone][0]}. "
                f"Keep more of them with Monitor(calibrator, keep=...)."
            )
        again = self._prediction[numbers % max(most, 1)] == _LABELLED
        again[np.setdiff1d(np.arange(len(numbers)), np.unique(numbers, return_index=True)[1])] = True
        if again.any():
            raise InvalidInputError(
                f"a row has one label; got another for row {numbers[again][0]}. Give each of them once."
            )
        return numbers

    def take(self, rows: Ints) -> tuple[Floats, Ints]:
        """Return the confidence and the prediction of rows that `check` returned, and discard them."""
        place = rows % max(len(self._confidence), 1)
        taken = self._confidence[place], self._prediction[place]
        self._prediction[place] = _LABELLED
        return taken


# Saved state ----------------------------------------------------------------------------------------------------------
#
# A class lists in _CHANGING which attributes change from row to row, and of what type they are. All else is made from
# the calibrator and the parameters again.


def state_of(value: Any) -> Any:
    """Return a copy of what changes in an object, as dicts, lists, arrays, numbers and text."""
    if hasattr(value, "_CHANGING"):
        return {name: state_of(getattr(value, name)) for name in value._CHANGING}
    if isinstance(value, np.random.Generator):
        return value.bit_generator.state
    if is_dataclass(value):
        value = tuple(getattr(value, field.name) for field in fields(value))
    if isinstance(value, dict):
        return {name: state_of(part) for name, part in value.items()}
    if isinstance(value, tuple | list):
        return [state_of(part) for part in value]
    return value.copy() if isinstance(value, np.ndarray) else value


def restore(fresh: Any, state: Any) -> None:
    """Give an object what `state_of` returned for one that was made as it was."""
    for name, kind in fresh._CHANGING.items():
        now, saved = getattr(fresh, name), state[name]
        if hasattr(kind, "_CHANGING"):
            restore(now, saved)
        elif kind is np.random.Generator:
            now.bit_generator.state = saved
        elif kind is np.ndarray:
            if (saved.shape, saved.dtype) != (now.shape, now.dtype) or not np.isfinite(saved).all():
                raise ValueError(f"{name} must be finite {now.dtype} of shape {now.shape}")
            setattr(fresh, name, saved.copy())
        else:
            setattr(fresh, name, _built(kind, saved))


def _built(kind: Any, state: Any) -> Any:
    """Return the object of a type that `state_of` was given."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is UnionType:  # with None
        return None if state is None else _built(parts[0], state)
    if origin is dict:
        return {name: _built(parts[1], part) for name, part in state.items()}
    if origin is list or (origin is tuple and parts[-1] is ...):
        return origin(_built(parts[0], part) for part in state)
    if origin is tuple:
        return tuple(_built(*pair) for pair in zip(parts, state, strict=True))
    if is_dataclass(kind) or hasattr(kind, "_fields"):
        return kind(*(_built(*pair) for pair in zip(_kinds(kind), state, strict=True)))
    if kind is float:
        fits = isinstance(state, int | float) and math.isfinite(state)
    elif kind is int:
        fits = isinstance(state, int) and 0 <= state <= _MOST
    else:
        fits = state in parts if origin is Literal else isinstance(state, kind)
    if not fits:
        raise ValueError(f"{kind} was expected, not {state!r:.100}")
    return state


@lru_cache
def _kinds(record: Any) -> tuple[Any, ...]:
    """Return the types of the fields of a dataclass or a named tuple."""
    return tuple(get_type_hints(record).values())


@contextmanager
def restoring(path: Path) -> Iterator[None]:
    """Name the file of a state that does not fit, and what to do then."""
    try:
        yield
    except InvalidInputError:
        raise
    except Exception as error:  # a state that does not fit can fail in as many ways as it has parts
        raise FileFormatError(
            f"{path}: the state does not fit a monitor: {type(error).__name__}: {error}. Begin a new one in another "
            f"file."
        ) from error
