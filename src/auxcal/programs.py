"""Programs: how a calibrator scores a row, in operations that torch and ONNX share.

Python scores with `_confidence`, in NumPy. For a torch module or an ONNX graph, a calibrator writes the same in its
`_program(ops, rows)`, which runs once, when the module or the graph is built: `ops` records the operations.
`auxcal.torch` and `auxcal.onnx` each have their own `Operations`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from auxcal._core.arrays import LEAST_PROBABILITY, Floats
from auxcal._core.errors import InvalidInputError
from auxcal._core.float_errors import ignore_float_errors
from auxcal.inputs import Inputs

if TYPE_CHECKING:
    from auxcal.adaptation import Adaptation

Value: TypeAlias = Any
"""A matrix of a row for each sample, float32 or int64, known only when the program runs.

+, −, ·, / and >= work on two values, or a value and a number, as in NumPy.
"""

_ONE_LOOK = 64  # edges up to which all are compared at once
_HAIR = 5e-7  # by which edges are lowered: an edge is often the score of a row, which other machines round otherwise


class Rows(NamedTuple):
    """The inputs of a program."""

    logits: Value
    """Of shape (n, K)."""
    prediction: Value
    """The column of the largest logit, of shape (n, 1)."""
    features: Value | None
    """Of shape (n, d); None after a fit without features."""


class Programmed(Protocol):
    """A calibrator that has a program."""

    inputs_: Inputs

    @property
    def adaptation_(self) -> Adaptation | None:
        """The mix that it was adapted to, if any."""

    def _program(self, ops: Operations, rows: Rows) -> Value: ...


class Operations(Protocol):
    """The operations that a program can use."""

    def constant(self, array: ArrayLike, name: str) -> Value:
        """Return fitted numbers, as float32, or int64 if they are integers; the name is for readers of the graph."""

    def exp(self, x: Value) -> Value:
        """Return e^x."""

    def log(self, x: Value) -> Value:
        """Return the natural logarithm."""

    def sqrt(self, x: Value) -> Value:
        """Return the square root."""

    def sigmoid(self, x: Value) -> Value:
        """Return 1 / (1 + e^−x)."""

    def softplus(self, x: Value) -> Value:
        """Return log(1 + e^x)."""

    def maximum(self, x: Value, y: Value | float) -> Value:
        """Return the larger of two."""

    def minimum(self, x: Value, y: Value | float) -> Value:
        """Return the smaller of two."""

    def equal(self, x: Value, y: Value) -> Value:
        """Return whether x is y."""

    def where(self, condition: Value, x: float, y: Value) -> Value:
        """Return the number x where the condition holds, elsewhere y."""

    def matmul(self, x: Value, y: Value) -> Value:
        """Return the matrix product."""

    def sum(self, x: Value) -> Value:
        """Return the sum of each row, of shape (n, 1)."""

    def max(self, x: Value) -> Value:
        """Return the largest number of each row, of shape (n, 1)."""

    def logsumexp(self, x: Value) -> Value:
        """Return log Σ e^x of each row, of shape (n, 1)."""

    def log_softmax(self, x: Value) -> Value:
        """Return x − log Σ e^x."""

    def count(self, condition: Value) -> Value:
        """Return in how many columns of each row the condition holds, of shape (n, 1)."""

    def argmax(self, x: Value) -> Value:
        """Return the column of the largest number of each row, the first in a tie, of shape (n, 1)."""

    def largest(self, x: Value, n: int) -> Value:
        """Return the n largest numbers of each row in descending order."""

    def columns(self, x: Value, start: int, stop: int) -> Value:
        """Return some neighbouring columns."""

    def concatenate(self, parts: Sequence[Value]) -> Value:
        """Return the columns of all parts side by side."""

    def at(self, x: Value, index: Value) -> Value:
        """Return the number in one column of each row, of shape (n, 1)."""

    def rows(self, table: Value, index: Value) -> Value:
        """Return the row of a constant table that each sample's index names."""


@ignore_float_errors
def run(ops: Operations, calibrator: Programmed, given: Value, features: Value | None) -> tuple[Value, Value]:
    """Run the program of a calibrator, and return prediction and confidence, of shape (n, 1).

    The input is logits, or probabilities if it was fitted on those. The confidence of a row with NaN or infinity, which
    Python rejects, is NaN.
    """
    is_probabilities = calibrator.inputs_.kind == "probabilities"
    logits = ops.log(ops.maximum(given, LEAST_PROBABILITY)) if is_probabilities else given
    prediction = ops.argmax(logits)
    confidence = calibrator._program(ops, Rows(logits, prediction, features))
    if calibrator.adaptation_ is not None:
        confidence = calibrator.adaptation_.program(ops, confidence)
    confidence = ops.minimum(ops.maximum(confidence, 0.0), 1.0)
    # A search among edges gives NaN a place like any other, and runtimes may lose it in a maximum: so add it last.
    for values in (given,) if features is None else (given, features):
        confidence = confidence + ops.sum(values) * 0.0
    return prediction, confidence


def no_program(calibrator: object, method: str) -> InvalidInputError:
    """Return the error of a calibrator without a program."""
    return InvalidInputError(
        f"{type(calibrator).__name__} must have a method {method} to become a torch module or an ONNX graph; it has "
        f"none. Write one as auxcal.programs explains, or score with predict_confidence."
    )


def softmax_at(ops: Operations, scores: Value, index: Value) -> Value:
    """Return softmax(scores) in one column of each row."""
    return 1.0 / ops.sum(ops.exp(scores - ops.at(scores, index)))


def without(ops: Operations, x: Value, index: Value, n_columns: int) -> Value:
    """Return x with −∞ in one column of each row."""
    return ops.where(ops.equal(index, ops.constant(np.arange(n_columns)[None], "columns")), -np.inf, x)


def log_odds(ops: Operations, rows: Rows, n_classes: int) -> Value:
    """Return the log-odds of the prediction by the softmax of the logits, as `top_scores` does."""
    z = rows.logits - ops.at(rows.logits, rows.prediction)
    return 0.0 - ops.logsumexp(without(ops, z, rows.prediction, n_classes))


def of_map(ops: Operations, table: Floats, maps: Value | None, name: str) -> Value:
    """Return the row of a table for the map of each sample; the first if there is only one map."""
    constant = ops.constant(table, name)
    return constant if maps is None else ops.rows(constant, maps)


def in_bins(ops: Operations, x: Value, edges: Floats, values: Floats, maps: Value | None = None) -> Value:
    """Return the value of the bin that x, of shape (n, 1), falls into.

    The edges (m, t) are the inner ones of m maps, in order; a bin has its lower edge. The values are of shape (m, t +
    1). `maps` is the map of each sample, None if there is only one.
    """
    place, width = _search(ops, x, edges - _HAIR * np.maximum(np.abs(edges), 1), maps)
    return ops.rows(ops.constant(_flat(values, width), "values"), place)


def between_knots(ops: Operations, x: Value, knots: Sequence[Floats], maps: Value | None = None) -> Value:
    """Evaluate maps that are linear between their knots, and constant beyond them, at x, of shape (n, 1).

    The knots of a map are an array of shape (2, t): their places, in order, and the values there. `maps` is the map of
    each sample, None if there is only one.
    """
    longest = max(knots_of_map.shape[1] for knots_of_map in knots)
    place, width = _search(ops, x, _padded([knots_of_map[0] for knots_of_map in knots], longest, np.inf), maps)
    lines = [_lines(*knots_of_map.astype(np.float64)) for knots_of_map in knots]
    origin, value, slope = (
        ops.rows(ops.constant(_flat(_padded(list(parts), longest + 1, 0), width), name), place)
        for name, parts in zip(("origins", "values", "slopes"), zip(*lines, strict=True), strict=True)
    )
    return value + (x - origin) * slope


def _search(ops: Operations, x: Value, edges: Floats, maps: Value | None) -> tuple[Value, int]:
    """Return the number of edges that are not above x, and how many such numbers there can be.

    The number of the map times the latter is added to it. Many edges are searched in two passes, every b-th edge and
    then those in between, since neither torch's exporters nor ONNX have a binary search.
    """
    t = edges.shape[1]
    if t <= _ONE_LOOK:
        index, width = ops.count(x >= of_map(ops, edges, maps, "edges")), t + 1
    else:
        b = int(np.ceil(np.sqrt(t)))
        wide = _padded(list(edges), b * b, np.inf)
        block = ops.count(x >= of_map(ops, wide[:, b::b], maps, "blocks"))
        inside = block if maps is None else maps * b + block
        index = block * b + ops.count(x >= ops.rows(ops.constant(wide.reshape(-1, b), "edges"), inside))
        width = b * b + 1
    return (index if maps is None else maps * width + index), width


def _lines(knots: Floats, values: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the lines before, between and after the knots: where each starts, its value there and its slope."""
    most = np.finfo(np.float32).max  # so that a step is steep, and 0 times its slope still 0
    slopes = np.clip(np.diff(values) / np.diff(knots), -most, most)
    return np.append(knots[0], knots), np.append(values[0], values), np.concatenate([[0], slopes, [0]])


def _padded(parts: list[Floats], width: int, filler: float) -> Floats:
    """Return rows of different lengths as one matrix."""
    return np.stack([np.pad(part, (0, width - len(part)), constant_values=filler) for part in parts])


def _flat(table: Floats, width: int) -> Floats:
    """Return the rows of a table below each other as one column, each as long as the search counts."""
    return _padded(list(table), width, 0).reshape(-1, 1)
