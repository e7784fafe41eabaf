"""A calibrator as an ONNX model of its own."""

from __future__ import annotations

import json

from auxcal._core.extras import needs
from auxcal._version import VERSION
from auxcal.calibrators import Calibrator
from auxcal.export.onnx._graph import Graph, Tensor
from auxcal.programs import run

with needs("onnx"):
    from onnx import ModelProto, TensorProto, checker, helper

OPSET = 18
FEW_CLASSES = 64
"""Up to so many, matrices lie: then the samples are what is long."""
IR_VERSION = 8  # of the time of that opset: every runtime that knows the one reads the other


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
    inputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", k])]
    if d:
        inputs.append(helper.make_tensor_value_info("features", TensorProto.FLOAT, ["n", d]))
    outputs = [
        helper.make_tensor_value_info("prediction", TensorProto.INT64, ["n"]),
        helper.make_tensor_value_info("confidence", TensorProto.FLOAT, ["n"]),
    ]
    graph = helper.make_graph([], type(calibrator).__name__, inputs, outputs)
    nodes = Graph(graph, "", OPSET, lying=k <= FEW_CLASSES)
    append_program(nodes, calibrator, nodes.matrix("logits"), nodes.matrix("features") if d else None)
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
        **_known(calibrator),
    }
    helper.set_model_props(model, {name: str(fact) for name, fact in facts.items()})


def _known(calibrator: Calibrator) -> dict[str, str]:
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
