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
from auxcal.programs import run


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

    def constant(self, array: ArrayLike, name: str) -> Proxy:
        numbers = np.asarray(array)
        numbers = numbers.astype(np.int64 if numbers.dtype.kind in "iu" else np.float32)
        taken = sum(buffer.rstrip("_0123456789") == name for buffer, _ in self.constants.named_buffers())
        name = f"{name}_{taken + 1}" if taken else name
        self.constants.register_buffer(name, torch.tensor(numbers))
        return self.value(self._graph.get_attr(name))

    def exp(self, x: Proxy) -> Proxy:
        return torch.exp(x)

    def log(self, x: Proxy) -> Proxy:
        return torch.log(x)

    def sqrt(self, x: Proxy) -> Proxy:
        return torch.sqrt(x)

    def sigmoid(self, x: Proxy) -> Proxy:
        return torch.sigmoid(x)

    def softplus(self, x: Proxy) -> Proxy:
        return functional.softplus(x)

    def maximum(self, x: Proxy, y: Proxy | float) -> Proxy:
        return torch.maximum(x, y) if isinstance(y, Proxy) else torch.clamp(x, min=y)

    def minimum(self, x: Proxy, y: Proxy | float) -> Proxy:
        return torch.minimum(x, y) if isinstance(y, Proxy) else torch.clamp(x, max=y)

    def equal(self, x: Proxy, y: Proxy) -> Proxy:
        return torch.eq(x, y)

    def where(self, condition: Proxy, x: float, y: Proxy) -> Proxy:
        return torch.where(condition, x, y)

    def matmul(self, x: Proxy, y: Proxy) -> Proxy:
        return torch.matmul(x, y)

    def sum(self, x: Proxy) -> Proxy:
        return x.sum(dim=1, keepdim=True)

    def max(self, x: Proxy) -> Proxy:
        return x.amax(dim=1, keepdim=True)

    def logsumexp(self, x: Proxy) -> Proxy:
        return torch.logsumexp(x, dim=1, keepdim=True)

    def log_softmax(self, x: Proxy) -> Proxy:
        return torch.log_softmax(x, dim=1)

    def count(self, condition: Proxy) -> Proxy:
        return condition.sum(dim=1, keepdim=True)

    def argmax(self, x: Proxy) -> Proxy:
        return x.argmax(dim=1, keepdim=True)

    def largest(self, x: Proxy, n: int) -> Proxy:
        return torch.topk(x, n, dim=1)[0]

    def columns(self, x: Proxy, start: int, stop: int) -> Proxy:
        return x.narrow(1, start, stop - start)

    def concatenate(self, parts: Sequence[Proxy]) -> Proxy:
        return torch.cat(list(parts), dim=1)

    def at(self, x: Proxy, index: Proxy) -> Proxy:
        return torch.gather(x, 1, index)

    def rows(self, table: Proxy, index: Proxy) -> Proxy:
        return torch.index_select(table, 0, index.squeeze(1))
