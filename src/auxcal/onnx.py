"""Where classifiers are ONNX files: a calibrator as a graph of its own, or at the end of the classifier's.

A graph is built from the fitted numbers, with standard operators only and without torch. It is the smallest way to
serve: onnxruntime and one file. The graph follows the calibrator's program, see `auxcal.programs`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from auxcal._core.errors import FileFormatError, InvalidInputError
from auxcal._core.extras import needs
from auxcal._core.files import as_path
from auxcal._version import VERSION
from auxcal.calibrators import Calibrator
from auxcal.programs import run

with needs("onnx"):
    import onnx
    from onnx import (
        GraphProto,
        ModelProto,
        TensorProto,
        ValueInfoProto,
        checker,
        helper,
        numpy_helper,
        shape_inference,
        version_converter,
    )

__all__ = ["attach", "to_onnx"]

OPSET = 18  # the first in which all reductions take their axes as an input
IR_VERSION = 8  # released with opset 18, in ONNX 1.13: every runtime of that opset reads it
FEW_CLASSES = 64
"""Up to this many classes, use (classes, samples). The limit is a judgement."""
_OLDEST_OPSET = 13  # the first whose ReduceSum and Squeeze take axes as an input, as programs need
_FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.DOUBLE)


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


def attach(
    classifier: str | os.PathLike[str] | ModelProto,
    calibrator: Calibrator,
    *,
    output: str | None = None,
    features: str | None = None,
) -> ModelProto:
    """Return a classifier's ONNX model with prediction and confidence as further outputs.

    The model keeps its inputs and outputs, and gets two more outputs: `prediction`, int64, and `confidence`, float32,
    each of shape (n,). If the names are taken, they are prefixed with `auxcal_`.

    Parameters
    ----------
    classifier : path or onnx.ModelProto
        It is not changed.
    calibrator : Calibrator
        Fitted on the logits of this classifier.
    output : str, optional
        The name of the logits, an output or any other tensor of the model; by default its only output.
    features : str, optional
        The name of the tensor whose rows are the features, if the calibrator was fitted with features. More than two
        dimensions are flattened, as in `auxcal.torch.collect`.

    Returns
    -------
    onnx.ModelProto

    Examples
    --------
    >>> import onnx
    >>> import auxcal
    >>> from auxcal.onnx import attach
    >>> calibrator = auxcal.PlattScaling().fit([[2.0, 0.0], [0.0, 1.0], [3.0, 0.0]] * 2, [0, 1, 0, 0, 1, 1])
    >>> classifier = onnx.parser.parse_model('''
    ... <ir_version: 8, opset_import: ["": 18]>
    ... classifier (float[n, 2] x) => (float[n, 2] logits) { logits = Neg(x) }
    ... ''')
    >>> [output.name for output in attach(classifier, calibrator).graph.output]
    ['logits', 'prediction', 'confidence']
    """
    calibrator = calibrator._now()
    model = _upgraded(_copied(classifier))
    tensors = _tensors(model)
    outputs = [tensor.name for tensor in model.graph.output]
    logits = _named(output, "output", tensors) if output is not None else _only(outputs)
    if calibrator.inputs_.kind != "probabilities":
        _check_no_softmax(model, logits)
    _check_shape(tensors[logits], calibrator.n_features_in_)
    _check_features(features, calibrator.n_further_features_)
    few = calibrator.n_features_in_ <= FEW_CLASSES
    nodes = Graph(model.graph, _unused("auxcal/", tensors), _opset(model), transposed=few)
    names = _unused("prediction", tensors), _unused("confidence", tensors)
    further = None
    if features is not None:
        seen = tensors[_named(features, "features", tensors)]
        flat = nodes.node("Flatten", Tensor(nodes, seen.name), axis=1)
        further = nodes.matrix(flat.name, seen.type.tensor_type.elem_type)
    kind = tensors[logits].type.tensor_type.elem_type
    append_program(nodes, calibrator, nodes.matrix(logits, kind), further, names)
    if logits not in outputs:
        model.graph.output.append(tensors[logits])
    batch = _dims(tensors[logits])[:1] or ["n"]
    for name, kind in zip(names, (TensorProto.INT64, TensorProto.FLOAT), strict=True):
        model.graph.output.append(helper.make_tensor_value_info(name, kind, batch))
    add_metadata(model, calibrator)
    checker.check_model(model)
    return model


def _copied(classifier: str | os.PathLike[str] | ModelProto) -> ModelProto:
    """Return a copy of the model, or the one in the file."""
    if isinstance(classifier, ModelProto):
        copy = ModelProto()
        copy.CopyFrom(classifier)
        return copy
    path = as_path(classifier)
    if not path.is_file():
        raise FileNotFoundError(f"No such file or directory: {path}")
    try:
        model = onnx.load(path)
    except Exception as error:  # protobuf's own, which is no public one
        raise FileFormatError(f"{path}: expected an ONNX model; got another kind of file, or a part of one.") from error
    if not model.graph.output:
        raise FileFormatError(f"{path}: expected an ONNX model with outputs; got one without any.")
    return model


def _upgraded(model: ModelProto) -> ModelProto:
    """Convert the model to an opset that a program can be written in, if necessary."""
    opset = _opset(model)
    if opset < _OLDEST_OPSET:
        try:
            model = version_converter.convert_version(model, OPSET)
        except Exception as error:  # a RuntimeError or ConvertError, after the version of onnx
            raise InvalidInputError(
                f"classifier must be a model of opset {_OLDEST_OPSET} or newer; got {opset}, and the converter of onnx "
                f"can't raise it: {error}. Export the classifier again with opset {OPSET}."
            ) from error
    model.ir_version = max(model.ir_version, IR_VERSION)  # before version 4 every constant had to be an input as well
    return model


def _opset(model: ModelProto) -> int:
    return next((opset.version for opset in model.opset_import if opset.domain in ("", "ai.onnx")), 1)


def _tensors(model: ModelProto) -> dict[str, ValueInfoProto]:
    """Return what is known about each tensor, by name: type and shape, as far as they can be inferred."""
    graph = shape_inference.infer_shapes(model).graph
    names = [name for node in graph.node for name in node.output] + [tensor.name for tensor in graph.initializer]
    tensors = {name: ValueInfoProto(name=name) for name in names if name}
    return tensors | {tensor.name: tensor for tensor in [*graph.value_info, *graph.input, *graph.output]}


def _only(outputs: list[str]) -> str:
    if len(outputs) != 1:
        raise InvalidInputError(
            f"output must name the logits, since the classifier has {len(outputs)} outputs: {', '.join(outputs)}; got "
            f"none. Choose the one that the calibrator was fitted on."
        )
    return outputs[0]


def _named(name: str, argument: str, tensors: dict[str, ValueInfoProto]) -> str:
    if name not in tensors:
        near = " or ".join(map(repr, get_close_matches(name, tensors) or list(tensors)[-3:]))
        raise InvalidInputError(f"{argument} must name a tensor of the classifier; got {name!r}. Did you mean {near}?")
    return name


def _check_no_softmax(model: ModelProto, name: str) -> None:
    made_by = {output: node for node in model.graph.node for output in node.output}
    node = made_by.get(name)
    while node is not None and node.op_type == "Identity":
        node = made_by.get(node.input[0])
    if node is not None and node.op_type == "Softmax":
        raise InvalidInputError(
            f"output must name logits; got {name!r}, the probabilities that a Softmax makes of {node.input[0]!r}. Give "
            f"output={node.input[0]!r} for a calibrator that was fitted on these logits."
        )


def _check_features(name: str | None, n_features: int) -> None:
    if name is None and n_features:
        raise InvalidInputError(
            f"features must name the tensor of the {n_features} features that the calibrator was fitted with; got none."
        )
    if name is not None and not n_features:
        raise InvalidInputError(f"features must be left out for a calibrator that was fitted without; got {name!r}.")


def _check_shape(tensor: ValueInfoProto, n_columns: int) -> None:
    kind, dims = tensor.type.tensor_type.elem_type, _dims(tensor)
    if not kind:
        return
    fits = len(dims) == 2 and (dims[1] == n_columns or not isinstance(dims[1], int))
    if kind not in _FLOATS or (tensor.type.tensor_type.HasField("shape") and not fits):
        shape = f"({', '.join(map(str, dims))})"
        raise InvalidInputError(
            f"output must name a tensor of floats of shape (n, {n_columns}), as the calibrator was fitted; "
            f"{tensor.name!r} is {TensorProto.DataType.Name(kind).lower()} of shape {shape}. Name another one."
        )


def _dims(tensor: ValueInfoProto) -> list[int | str]:
    shape = tensor.type.tensor_type.shape
    return [dim.dim_value if dim.HasField("dim_value") else dim.dim_param or "?" for dim in shape.dim]


def _unused(name: str, tensors: dict[str, ValueInfoProto]) -> str:
    """Return the name, prefixed with auxcal_ if it is taken."""
    while any(taken == name or (name.endswith("/") and taken.startswith(name)) for taken in tensors):
        name = f"auxcal_{name}"
    return name


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
    facts = {entry.key: entry.value for entry in model.metadata_props} | {
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


def _infix(operator: str) -> Callable[[Tensor, Tensor | float], Tensor]:
    return lambda x, y: x._with(operator, y)


def _operator(name: str) -> Callable[..., Tensor]:
    return lambda graph, *inputs: graph.node(name, *inputs)


class Tensor:
    """A tensor of the graph, which is computed when the graph runs."""

    def __init__(self, graph: Graph, name: str, *, whole: bool = False) -> None:
        self.graph, self.name, self.whole = graph, name, whole

    def __rsub__(self, other: float) -> Tensor:
        return self.graph.like(self, other)._with("Sub", self)

    def __rtruediv__(self, other: float) -> Tensor:
        return self.graph.like(self, other)._with("Div", self)

    __add__, __sub__, __mul__, __truediv__ = _infix("Add"), _infix("Sub"), _infix("Mul"), _infix("Div")
    __radd__, __rmul__, __ge__ = __add__, __mul__, _infix("GreaterOrEqual")

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
        names = [tensor.name for tensor in inputs]
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

    exp, log, sqrt = _operator("Exp"), _operator("Log"), _operator("Sqrt")
    sigmoid, softplus, equal = _operator("Sigmoid"), _operator("Softplus"), _operator("Equal")

    def maximum(self, x: Tensor, y: Tensor | float) -> Tensor:
        return self.node("Max", x, self.like(x, y))

    def minimum(self, x: Tensor, y: Tensor | float) -> Tensor:
        return self.node("Min", x, self.like(x, y))

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
        if operator == "ReduceSum" or self._opset >= OPSET:
            return self.node(operator, x, self._whole(self._axis), whole=x.whole)
        return self.node(operator, x, axes=[self._axis], whole=x.whole)

    def _whole(self, number: int) -> Tensor:
        return self.initializer(np.array([number]), "number")

    def _new_name(self, stem: str) -> str:
        self._uses[stem] = self._uses.get(stem, 0) + 1
        return f"{self._prefix}{stem}_{self._uses[stem]}"
