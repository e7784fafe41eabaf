"""A calibrator as a torch module, alone or behind its classifier."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn
from torch.fx import Graph, GraphModule, Node, Proxy
from torch.fx.proxy import GraphAppendingTracer
from torch.nn import functional

from auxcal._core.errors import InvalidInputError
from auxcal.calibrators import Calibrator
from auxcal.programs import Value, run
from auxcal.torch._collect import find_logits, named_part, take_rows, without_tracer_warnings

Features: TypeAlias = str | Callable[[Any], Any]

# torch 2.4 to 2.6 tell an export from a compilation only in private.
_is_exporting = getattr(torch.compiler, "is_exporting", torch.compiler.is_compiling)


class Scored(NamedTuple):
    """The output of a classifier with confidence for a batch of n samples."""

    logits: Tensor
    """Of shape (n, K)."""
    prediction: Tensor
    """The class of the largest logit, int64 of shape (n,)."""
    confidence: Tensor
    """The probability that the prediction is correct, float32 of shape (n,)."""


def as_module(calibrator: Calibrator) -> nn.Module:
    """Return a fitted calibrator as a module: `forward(logits, features=None)` gives the confidence.

    The fitted numbers are its buffers. It moves with `.to(device)`, has a `state_dict`, takes batches of any size, and
    can be compiled, exported and differentiated. It computes in float32, even for logits in half precision, under
    autocast, and after `.half()`.

    Parameters
    ----------
    calibrator : Calibrator
        A fitted one.

    Returns
    -------
    nn.Module
        Takes logits of shape (n, K), and features of shape (n, d) if the calibrator was fitted with features; gives a
        confidence of shape (n,), float32.

    Examples
    --------
    >>> import torch
    >>> import auxcal
    >>> from auxcal.torch import as_module
    >>> calibrator = auxcal.PlattScaling().fit([[2.0, 0.0], [0.0, 1.0], [3.0, 0.0]] * 2, [0, 1, 0, 0, 1, 1])
    >>> as_module(calibrator)(torch.tensor([[2.0, 0.0], [0.0, 1.0]])).shape
    torch.Size([2])
    """
    return _CalibratorModule(calibrator)


def with_confidence(classifier: nn.Module, calibrator: Calibrator, *, features: Features | None = None) -> nn.Module:
    """Return a module that runs a classifier and adds the prediction and its confidence.

    Parameters
    ----------
    classifier : nn.Module
        Gives logits of shape (n, K), in any form that `auxcal.torch.collect` takes. It is not copied.
    calibrator : Calibrator
        A fitted one.
    features : str or callable, optional
        If the calibrator was fitted with features, the same as in `auxcal.torch.collect`: the name of the submodule
        that gives them, or a function of what the classifier returns. A hook keeps the output of a submodule, so such a
        module serves one thread at a time; an exported one has no such limit.

    Returns
    -------
    nn.Module
        Takes the arguments of the classifier, and gives a named tuple: logits, prediction, confidence. An exported one
        gives a plain tuple of the three, so that a saved program runs without auxcal. For ONNX,
        ``torch.onnx.export(module, (x,), "model.onnx", output_names=Scored._fields, dynamic_shapes=({0: "batch"},))``.

    Examples
    --------
    >>> import torch
    >>> import auxcal
    >>> from auxcal.torch import with_confidence
    >>> calibrator = auxcal.PlattScaling().fit([[2.0, 0.0], [0.0, 1.0], [3.0, 0.0]] * 2, [0, 1, 0, 0, 1, 1])
    >>> scored = with_confidence(torch.nn.Linear(5, 2), calibrator)(torch.zeros(3, 5))
    >>> scored.logits.shape, scored.prediction.shape, scored.confidence.shape
    (torch.Size([3, 2]), torch.Size([3]), torch.Size([3]))
    """
    return _WithConfidence(classifier, calibrator, features)


class _NotScripted(nn.Module):
    """A module for `torch.export` and `torch.jit.trace`: its checks can't be scripted."""

    def __prepare_scriptable__(self) -> nn.Module:
        raise InvalidInputError(
            f"{type(self).__name__.strip('_')} can't be scripted. Export it with torch.export.export(module, "
            f"(example,)), or trace it with torch.jit.trace(module, (example,))."
        )


class _CalibratorModule(_NotScripted):
    def __init__(self, calibrator: Calibrator) -> None:
        super().__init__()
        calibrator = calibrator._now()
        self.n_classes, self.n_features = calibrator.n_features_in_, calibrator.n_further_features_
        self.takes_signals = calibrator.takes_signals
        self.program = program_module(calibrator)

    def forward(self, logits: Tensor, features: Tensor | None = None) -> Tensor:
        if self.takes_signals:  # in place of logits
            signals = _checked(logits, self.n_features, "signals")
            return self.scored(torch.zeros_like(signals[:, :1]), signals)[1]
        return self.scored(logits, features)[1]

    def scored(self, logits: Tensor, features: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return prediction and confidence."""
        inputs = [_checked(logits, self.n_classes, "logits")]
        if features is not None or self.n_features:
            inputs.append(_checked(features, self.n_features, "features"))
        kind = logits.device.type
        # Where nothing is on there is nothing to switch off, and exporters know nothing of the switch.
        off = torch.autocast(kind, enabled=False) if torch.is_autocast_enabled(kind) else nullcontext()
        with off:
            return self.program(*(tensor.float() for tensor in inputs))

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> nn.Module:
        """Move the buffers, and keep their precision: half of it would change the confidence."""
        before = dict(self.program.named_buffers())
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        for name, buffer in self.program.named_buffers():
            if buffer.dtype != before[name].dtype:
                setattr(self.program, name, before[name].to(buffer.device))
        return self

    def extra_repr(self) -> str:
        features = f", features=(n, {self.n_features})" if self.n_features else ""
        return f"logits=(n, {self.n_classes}){features}"


class _WithConfidence(_NotScripted):
    def __init__(self, classifier: nn.Module, calibrator: Calibrator, features: Features | None) -> None:
        super().__init__()
        self.classifier = classifier
        self.calibrator = _CalibratorModule(calibrator)
        self.features = features
        self._kept: list[Any] | None = None
        if (features is None) != (self.calibrator.n_features == 0):
            had = f"{self.calibrator.n_features} features" if self.calibrator.n_features else "no features"
            raise InvalidInputError(
                f"features must name the part of the classifier whose output the calibrator was fitted with; it was "
                f"fitted with {had}, and got features={features!r}."
            )
        if isinstance(features, str):
            named_part(classifier, features).register_forward_hook(self._keep)

    # The first argument has a name, so that exporters take `dynamic_shapes=({0: "batch"},)`; it may be missing.
    def forward(self, x: Any = None, *args: Any, **kwargs: Any) -> Scored | tuple[Tensor, ...]:
        self._kept = []  # what the hook keeps in this pass
        output = self.classifier(*(() if x is None else (x,)), *args, **kwargs)
        kept, self._kept = self._kept, None
        logits = find_logits(output)
        features = None
        if self.features is not None:
            kept = [self.features(output)] if callable(self.features) else kept
            features = take_rows(kept, f"features={self.features!r}", logits.shape[0])
        scored = Scored(logits, *self.calibrator.scored(logits, features))
        return tuple(scored) if _is_exporting() else scored

    def _keep(self, part: nn.Module, inputs: Any, output: Any) -> None:
        if self._kept is not None:
            self._kept.append(output)


def _checked(values: Tensor | None, n_columns: int, name: str) -> Tensor:
    with without_tracer_warnings():
        fits = values is not None and values.ndim == 2 and bool(values.shape[1] == n_columns)
    if values is None or not fits:
        got = "none" if values is None else f"shape {tuple(values.shape)}"
        expected = f"shape (n, {n_columns}), as in the fit of the calibrator" if n_columns else "none, as in the fit"
        raise InvalidInputError(f"{name} must have {expected}; got {got}.")
    return values


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

    exp, log, sqrt = staticmethod(torch.exp), staticmethod(torch.log), staticmethod(torch.sqrt)
    sigmoid, softplus = staticmethod(torch.sigmoid), staticmethod(functional.softplus)
    equal, matmul = staticmethod(torch.eq), staticmethod(torch.matmul)

    def maximum(self, x: Value, y: Value | float) -> Value:
        return torch.clamp(x, min=y) if isinstance(y, float) else torch.maximum(x, y)

    def minimum(self, x: Value, y: Value | float) -> Value:
        return torch.clamp(x, max=y) if isinstance(y, float) else torch.minimum(x, y)

    def where(self, condition: Value, x: float, y: Value) -> Value:
        return torch.where(condition, x, y)

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
