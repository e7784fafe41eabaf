"""Programs in NumPy: the reference for other engines, and a check of a program without any of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[Any]


class NumpyOperations:
    """`Operations` that compute at once, in float32."""

    def constant(self, array: ArrayLike, name: str) -> Array:
        numbers = np.asarray(array)
        return numbers.astype(np.int64 if numbers.dtype.kind in "iu" else np.float32)

    def exp(self, x: Array) -> Array:
        with np.errstate(over="ignore"):
            return np.exp(x)

    def log(self, x: Array) -> Array:
        return np.log(x)

    def sqrt(self, x: Array) -> Array:
        return np.sqrt(x)

    def sigmoid(self, x: Array) -> Array:
        return np.exp(-np.logaddexp(0, -x))

    def softplus(self, x: Array) -> Array:
        return np.logaddexp(0, x)

    def maximum(self, x: Array, y: Array | float) -> Array:
        return np.maximum(x, y)

    def minimum(self, x: Array, y: Array | float) -> Array:
        return np.minimum(x, y)

    def equal(self, x: Array, y: Array) -> Array:
        return np.equal(x, y)

    def where(self, condition: Array, x: float, y: Array) -> Array:
        return np.where(condition, y.dtype.type(x), y)

    def matmul(self, x: Array, y: Array) -> Array:
        return x @ y

    def sum(self, x: Array) -> Array:
        return x.sum(axis=1, keepdims=True)

    def max(self, x: Array) -> Array:
        return x.max(axis=1, keepdims=True)

    def logsumexp(self, x: Array) -> Array:
        most = self.max(x)
        return most + self.log(self.sum(np.exp(x - most)))

    def log_softmax(self, x: Array) -> Array:
        shifted = x - self.max(x)
        return shifted - self.logsumexp(shifted)

    def count(self, condition: Array) -> Array:
        return condition.sum(axis=1, keepdims=True)

    def argmax(self, x: Array) -> Array:
        return x.argmax(axis=1)[:, None]

    def largest(self, x: Array, n: int) -> Array:
        return -np.sort(-x, axis=1)[:, :n]

    def columns(self, x: Array, start: int, stop: int) -> Array:
        return x[:, start:stop]

    def concatenate(self, parts: Sequence[Array]) -> Array:
        return np.concatenate(parts, axis=1)

    def at(self, x: Array, index: Array) -> Array:
        return np.take_along_axis(x, index, axis=1)

    def rows(self, table: Array, index: Array) -> Array:
        return table[index[:, 0]]
