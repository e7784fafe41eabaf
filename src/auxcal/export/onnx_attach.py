"""A calibrator at the end of its classifier's ONNX model."""

from __future__ import annotations

import os
from difflib import get_close_matches

from auxcal._core.errors import FileFormatError, InvalidInputError
from auxcal._core.extras import needs
from auxcal._core.files import as_path
from auxcal.calibrators import Calibrator
from auxcal.export.onnx_model import FEW_CLASSES, IR_VERSION, OPSET, Graph, Tensor, add_metadata, append_program

with needs("onnx"):
    import onnx
    from onnx import ModelProto, TensorProto, ValueInfoProto, checker, helper, shape_inference, version_converter


_OLDEST_OPSET = 13  # the first whose ReduceSum and Squeeze take axes as an input, as programs need
_FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.DOUBLE)


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
    outputs = [each.name for each in model.graph.output]
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
    return next((each.version for each in model.opset_import if each.domain in ("", "ai.onnx")), 1)


def _tensors(model: ModelProto) -> dict[str, ValueInfoProto]:
    """Return what is known about each tensor, by name: type and shape, as far as they can be inferred."""
    graph = shape_inference.infer_shapes(model).graph
    names = [name for node in graph.node for name in node.output] + [each.name for each in graph.initializer]
    tensors = {name: ValueInfoProto(name=name) for name in names if name}
    return tensors | {each.name: each for each in [*graph.value_info, *graph.input, *graph.output]}


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
    return [each.dim_value if each.HasField("dim_value") else each.dim_param or "?" for each in shape.dim]


def _unused(name: str, tensors: dict[str, ValueInfoProto]) -> str:
    """Return the name, prefixed with auxcal_ if it is taken."""
    while any(each == name or (name.endswith("/") and each.startswith(name)) for each in tensors):
        name = f"auxcal_{name}"
    return name
