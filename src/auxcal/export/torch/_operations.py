"""A program as a graph of torch functions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import nn
from torch.fx import Graph, GraphModule, Node, Proxy
from torch.fx.proxy import GraphAppendingTracer
from torch.nn import functional

from auxcal.calibrators import Calibrator
from auxcal.programs import Value, run


@torch.inference_mode(False)  # or its buffers could not be used where gradients are wanted
def program_module(calibrator: Calibrator) -> GraphModule:
    """Return a module of float32 logits and features, if there are any, that gives prediction and confidence."""
    graph = Graph()
    operations = _Operations(graph)
    logits = operations.value(graph.placeholder("logits"))
    features = operations.value(graph.placeholder("features")) if calibrator.n_further_features_ else None
    graph.output(tuple(value.squeeze(1).node for value in run(operations, calibrator, logits, features)))
    return GraphModule(operations.constants, graph, type(calibrator).__name__)


class _Operations:
    """`Operations` that append to a torch.fx graph; the constants are buffers of a module."""

    def __init__(self, graph: Graph) -> None:
        self.constants = nn.Module()
        self._graph, self._tracer = graph, GraphAppendingTracer(graph)

    def value(self, node: Node) -> Proxy:
        """Return a node as a value of the program."""
        return Proxy(node, self._tracer)

    def constant(self, array: ArrayLike, name: str) -> Value:
        numbers = np.asarray(array)
        numbers = numbers.astype(np.int64 if numbers.dtype.kind in "iu" else np.float32, order="C")
        taken = sum(buffer.rstrip("_0123456789") == name for buffer, _ in self.constants.named_buffers())
        name = f"{name}_{taken + 1}" if taken else name
        buffer = torch.tensor(numbers)  # on the default device, as those of any module
        self.constants.register_buffer(name, torch.from_numpy(numbers) if buffer.is_meta else buffer)
        return self.value(self._graph.get_attr(name))

    def exp(self, x: Value) -> Value:
        return torch.exp(x)

    def log(self, x: Value) -> Value:
        return torch.log(x)

    def sqrt(self, x: Value) -> Value:
        return torch.sqrt(x)

    def sigmoid(self, x: Value) -> Value:
        return torch.sigmoid(x)

    def softplus(self, x: Value) -> Value:
        return functional.softplus(x)

    def maximum(self, x: Value, y: Value | float) -> Value:
        return torch.clamp(x, min=y) if isinstance(y, float) else torch.maximum(x, y)

    def minimum(self, x: Value, y: Value | float) -> Value:
        return torch.clamp(x, max=y) if isinstance(y, float) else torch.minimum(x, y)

    def equal(self, x: Value, y: Value) -> Value:
        return torch.eq(x, y)

    def where(self, condition: Value, x: float, y: Value) -> Value:
        return torch.where(condition, x, y)

    def matmul(self, x: Value, y: Value) -> Value:
        return torch.matmul(x, y)

    def sum(self, x: Value) -> Value:
        return x.sum(dim=1, keepdim=True)

    def max(self, x: Value) -> Value:
        return x.amax(dim=1, keepdim=True)

    def logsumexp(self, x: Value) -> Value:
        return torch.logsumexp(x, dim=1, keepdim=True)

    def log_softmax(self, x: Value) -> Value:
        return torch.log_softmax(x, dim=1)

    def count(self, condition: Value) -> Value:
        return condition.sum(dim=1, keepdim=True)

    def argmax(self, x: Value) -> Value:
        return x.argmax(dim=1, keepdim=True)

    def largest(self, x: Value, n: int) -> Value:
        return torch.topk(x, n, dim=1)[0]

    def columns(self, x: Value, start: int, stop: int) -> Value:
        return x.narrow(1, start, stop - start)

    def concatenate(self, parts: Sequence[Value]) -> Value:
        return torch.cat(list(parts), dim=1)

    def at(self, x: Value, index: Value) -> Value:
        return torch.gather(x, 1, index)

    def rows(self, table: Value, index: Value) -> Value:
        return torch.index_select(table, 0, index.squeeze(1))
