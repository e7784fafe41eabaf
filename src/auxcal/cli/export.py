"""auxcal export: a calibrator as an ONNX model, alone or at the end of its classifier."""

from pathlib import Path
from typing import Annotated

import typer

from auxcal._core.files import atomic_write
from auxcal.cli._files import check_out, load_calibrator
from auxcal.cli._options import CalibratorFile, Json, Overwrite
from auxcal.cli.output import echo_result


def export(
    calibrator: CalibratorFile,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write, .onnx.")],
    into: Annotated[Path | None, "The classifier's ONNX model; the result returns its outputs and two more."] = None,
    output: Annotated[str | None, "The tensor of the logits in the classifier. [default: its only output]"] = None,
    features: Annotated[str | None, "The tensor of the features, if the calibrator was fitted with any."] = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Write a calibrator as an ONNX model, which runs without auxcal.

    By itself, the model maps logits (and features) to prediction and confidence. With --into, it is added to the
    classifier's own model, which then returns prediction and confidence beside its logits.

    Examples
    --------
    auxcal export ccac-x.safetensors -o ccac-x.onnx
    auxcal export ccac-x.safetensors --into classifier.onnx --output logits -o confident.onnx
    """
    from auxcal.onnx import attach, to_onnx

    if into is None and (output or features):
        raise typer.BadParameter("--output and --features name tensors of a classifier: give it with --into.")
    check_out(out, "an ONNX model", ".onnx", overwrite=overwrite)
    fitted = load_calibrator(calibrator)
    model = to_onnx(fitted) if into is None else attach(into, fitted, output=output, features=features)
    with atomic_write(out) as temporary:
        temporary.write_bytes(model.SerializeToString())
    inputs, outputs = ([each.name for each in part] for part in (model.graph.input, model.graph.output))
    found = {"method": fitted.abbreviation, "inputs": inputs, "outputs": outputs, "out": str(out)}
    line = f"{fitted.abbreviation} as ONNX: {', '.join(inputs)} → {', '.join(outputs)}. Saved: {out}"
    echo_result(found, [line], json=json)
