"""A calibrator as an ONNX model of its own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from auxcal._core.extras import needs
from auxcal._version import VERSION
from auxcal.calibrators import Calibrator
from auxcal.programs import run

with needs("onnx"):
    from onnx import GraphProto, ModelProto, TensorProto, checker, helper, numpy_helper


_AXES_ARE_INPUTS = 18  # by ONNX's changelog of operators


class Tensor:
    """A tensor of the graph, which is computed when the graph runs."""

    def __init__(self, graph: Graph, name: str, *, whole: bool = False) -> None:
        self.graph, self.name, self.whole = graph, name, whole

    def __add__(self, other: Tensor | float) -> Tensor:
        return self._with("Add", other)

    def __sub__(self, other: Tensor | float) -> Tensor:
        return self._with("Sub", other)

    def __mul__(self, other: Tensor | float) -> Tensor:
        return self._with("Mul", other)

    def __truediv__(self, other: Tensor | float) -> Tensor:
        return self._with("Div", other)

    def __rsub__(self, other: float) -> Tensor:
        return self.graph.like(self, other)._with("Sub", self)

    def __rtruediv__(self, other: float) -> Tensor:
        return self.graph.like(self, other)._with("Div", self)

    def __ge__(self, other: Tensor | float) -> Tensor:
        return self._with("GreaterOrEqual", other)

    __radd__, __rmul__ = __add__, __mul__

    def _with(self, operator: str, other: Tensor | float) -> Tensor:
        return self.graph.node(operator, self, self.graph.like(self, other), whole=self.whole)


class Graph:
    """`Operations` that append nodes and constants to an ONNX graph.

    Parameters
    ----------
    graph : GraphProto
        What the nodes are appended to.
    prefix : str
        The prefix of all new names, for a graph that has other nodes.
    opset : int
        The version of the standard operators, 13 or newer.
    transposed : bool
        Whether all matrices are transposed, with a column for each sample. Runtimes are several times faster along a
        long axis: that of the samples, if there are few classes.
    """

    def __init__(self, graph: GraphProto, prefix: str, opset: int, *, transposed: bool) -> None:
        self._graph, self._prefix, self._opset = graph, prefix, opset
        self._transposed, self._axis = transposed, 0 if transposed else 1
        self._shared: dict[tuple[Any, ...], Tensor] = {}
        self._uses: dict[str, int] = {}

    def node(self, operator: str, *inputs: Tensor, name: str | None = None, whole: bool = False, **more: Any) -> Tensor:
        """Append a node, and return its first output; equal nodes are shared."""
        names = [each.name for each in inputs]
        key = (operator, *names, name, repr(more))
        if key not in self._shared:
            output = name or self._new_name(operator)
            outputs = [output, f"{output}_indices"] if operator == "TopK" else [output]
            self._graph.node.append(helper.make_node(operator, names, outputs, name=output, **more))
            self._shared[key] = Tensor(self, output, whole=whole)
        return self._shared[key]

    def constant(self, array: ArrayLike, name: str) -> Tensor:
        """Add an initializer, transposed like all other matrices."""
        numbers = np.asarray(array)
        return self.initializer(np.atleast_2d(numbers).T if self._transposed and numbers.ndim else numbers, name)

    def initializer(self, numbers: NDArray[Any], name: str) -> Tensor:
        """Add an initializer; equal arrays are shared."""
        whole = numbers.dtype.kind in "iu"
        numbers = numbers.astype(np.int64 if whole else np.float32, order="C")
        key = (numbers.dtype, numbers.shape, numbers.tobytes())
        if key not in self._shared:
            new = self._new_name(name)
            self._graph.initializer.append(numpy_helper.from_array(numbers, new))
            self._shared[key] = Tensor(self, new, whole=whole)
        return self._shared[key]

    def like(self, tensor: Tensor, number: Tensor | float) -> Tensor:
        """Return a number as a constant of the type of a tensor."""
        if isinstance(number, Tensor):
            return number
        kind: type[np.generic] = np.int64 if tensor.whole else np.float32
        return self.initializer(np.asarray(kind(number)), "number")

    def exp(self, x: Tensor) -> Tensor:
        return self.node("Exp", x)

    def log(self, x: Tensor) -> Tensor:
        return self.node("Log", x)

    def sqrt(self, x: Tensor) -> Tensor:
        return self.node("Sqrt", x)

    def sigmoid(self, x: Tensor) -> Tensor:
        return self.node("Sigmoid", x)

    def softplus(self, x: Tensor) -> Tensor:
        return self.node("Softplus", x)

    def maximum(self, x: Tensor, y: Tensor | float) -> Tensor:
        return self.node("Max", x, self.like(x, y))

    def minimum(self, x: Tensor, y: Tensor | float) -> Tensor:
        return self.node("Min", x, self.like(x, y))

    def equal(self, x: Tensor, y: Tensor) -> Tensor:
        return self.node("Equal", x, y)

    def where(self, condition: Tensor, x: float, y: Tensor) -> Tensor:
        return self.node("Where", condition, self.like(y, x), y)

    def matmul(self, x: Tensor, y: Tensor) -> Tensor:
        return self.node("MatMul", *((y, x) if self._transposed else (x, y)))

    def sum(self, x: Tensor) -> Tensor:
        return self._reduce("ReduceSum", x)

    def max(self, x: Tensor) -> Tensor:
        return self._reduce("ReduceMax", x)

    def logsumexp(self, x: Tensor) -> Tensor:
        # The runtime's own ReduceLogSumExp is not stable: it gives −∞ for the likes of −1e4.
        most = self.max(x)
        return most + self.log(self.sum(self.exp(x - most)))

    def log_softmax(self, x: Tensor) -> Tensor:
        return self.node("LogSoftmax", x, axis=self._axis)

    def count(self, condition: Tensor) -> Tensor:
        return self._reduce("ReduceSum", self.node("Cast", condition, whole=True, to=TensorProto.INT64))

    def argmax(self, x: Tensor) -> Tensor:
        return self.node("ArgMax", x, axis=self._axis, keepdims=1, whole=True)

    def largest(self, x: Tensor, n: int) -> Tensor:
        return self.node("TopK", x, self._whole(n), axis=self._axis)

    def columns(self, x: Tensor, start: int, stop: int) -> Tensor:
        return self.node("Slice", x, self._whole(start), self._whole(stop), self._whole(self._axis), whole=x.whole)

    def concatenate(self, parts: Sequence[Tensor]) -> Tensor:
        return self.node("Concat", *parts, axis=self._axis)

    def at(self, x: Tensor, index: Tensor) -> Tensor:
        return self.node("GatherElements", x, index, axis=self._axis)

    def rows(self, table: Tensor, index: Tensor) -> Tensor:
        return self.node("Gather", table, self.squeeze(index), axis=1 - self._axis)

    def matrix(self, name: str, kind: int = TensorProto.FLOAT) -> Tensor:
        """Return a float tensor of the graph with a row for each sample as a value of the program."""
        x = Tensor(self, name)
        x = x if kind == TensorProto.FLOAT else self.node("Cast", x, to=TensorProto.FLOAT)
        return self.node("Transpose", x, perm=[1, 0]) if self._transposed else x

    def squeeze(self, x: Tensor, name: str | None = None) -> Tensor:
        """Return a column as a vector."""
        return self.node("Squeeze", x, self._whole(self._axis), name=name, whole=x.whole)

    def _reduce(self, operator: str, x: Tensor) -> Tensor:
        if operator == "ReduceSum" or self._opset >= _AXES_ARE_INPUTS:
            return self.node(operator, x, self._whole(self._axis), whole=x.whole)
        return self.node(operator, x, axes=[self._axis], whole=x.whole)

    def _whole(self, number: int) -> Tensor:
        return self.initializer(np.array([number]), "number")

    def _new_name(self, stem: str) -> str:
        self._uses[stem] = self._uses.get(stem, 0) + 1
        return f"{self._prefix}{stem}_{self._uses[stem]}"


OPSET = 18  # the first in which all reductions take their axes as an input
FEW_CLASSES = 64
"""Up to this many classes, use (classes, samples). The limit is a judgement."""
IR_VERSION = 8  # released with opset 18, in ONNX 1.13: every runtime of that opset reads it


def to_onnx(calibrator: Calibrator) -> ModelProto:
    """Return a fitted calibrator as an ONNX model.

    Its inputs are `logits`, float32 of shape (n, K), or probabilities if it was fitted on those; and `features`,
    float32 of shape (n, d), if it was fitted with any. Its outputs are `prediction`, int64 of shape (n,), and
    `confidence`, float32 of shape (n,). n is free. The model needs opset 18. Its metadata, whose names begin with
    `auxcal.`, describe the calibrator.

    Parameters
    ----------
    calibrator : Calibrator
        A fitted one.

    Returns
    -------
    onnx.ModelProto
        To be written with `onnx.save`, or served as it is: `model.SerializeToString()`.

    Examples
    --------
    >>> import auxcal
    >>> from auxcal.onnx import to_onnx
    >>> calibrator = auxcal.PlattScaling().fit([[2.0, 0.0], [0.0, 1.0], [3.0, 0.0]] * 2, [0, 1, 0, 0, 1, 1])
    >>> [output.name for output in to_onnx(calibrator).graph.output]
    ['prediction', 'confidence']
    """
    calibrator = calibrator._now()
    k, d = calibrator.n_features_in_, calibrator.n_further_features_
    names = ("signals",) if calibrator.takes_signals else ("logits", "features") if d else ("logits",)
    widths = {"logits": k, "features": d, "signals": d}
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", widths[name]]) for name in names]
    outputs = [
        helper.make_tensor_value_info("prediction", TensorProto.INT64, ["n"]),
        helper.make_tensor_value_info("confidence", TensorProto.FLOAT, ["n"]),
    ]
    graph = helper.make_graph([], type(calibrator).__name__, inputs, outputs)
    nodes = Graph(graph, "", OPSET, transposed=k <= FEW_CLASSES)
    given = [nodes.matrix(name) for name in names]
    if calibrator.takes_signals:
        given.insert(0, nodes.columns(given[0], 0, 1) * 0.0)
    append_program(nodes, calibrator, given[0], given[1] if d else None)
    model = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="auxcal",
        producer_version=VERSION,
    )
    add_metadata(model, calibrator)
    checker.check_model(model, full_check=True)
    return model


def append_program(
    nodes: Graph,
    calibrator: Calibrator,
    logits: Tensor,
    features: Tensor | None,
    names: tuple[str, str] = ("prediction", "confidence"),
) -> None:
    """Append the nodes of the prediction and the confidence, with the given names."""
    for value, name in zip(run(nodes, calibrator, logits, features), names, strict=True):
        nodes.squeeze(value, name)


def add_metadata(model: ModelProto, calibrator: Calibrator) -> None:
    """Add a description of the calibrator to the model's metadata."""
    facts = {each.key: each.value for each in model.metadata_props} | {
        "auxcal.method": calibrator.abbreviation,
        "auxcal.class": type(calibrator).__name__,
        "auxcal.version": VERSION,
        "auxcal.classes": calibrator.n_features_in_,
        "auxcal.features": calibrator.n_further_features_,
        "auxcal.converged": str(calibrator.converged_).lower(),
        **_provenance(calibrator),
    }
    helper.set_model_props(model, {name: str(fact) for name, fact in facts.items()})


def _provenance(calibrator: Calibrator) -> dict[str, str]:
    """Return what the calibrator remembers about its inputs and the rows it was fitted on, lists as JSON."""
    inputs, rows = calibrator.inputs_, calibrator.fitted_on_
    facts = {
        "inputs": inputs.kind,
        "class_names": inputs.class_names and json.dumps(inputs.class_names, ensure_ascii=False),
        "feature_names": inputs.feature_names and json.dumps(inputs.feature_names, ensure_ascii=False),
        "fitted_rows": rows.n_rows,
        "fitted_no_class": rows.n_no_class,
        "fitted_date": rows.date,
    }
    return {f"auxcal.{name}": str(fact) for name, fact in facts.items() if fact is not None}
