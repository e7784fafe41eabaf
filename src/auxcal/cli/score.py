"""auxcal score: the prediction and the confidence of every row."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from auxcal._progress import progress_bar
from auxcal.cli._terminal import (
    CalibratorFile,
    ColumnNames,
    FeatureNames,
    Files,
    Json,
    Label,
    Probabilities,
    as_columns,
    say,
    say_json,
)


def score(
    calibrator: CalibratorFile,
    files: Files,
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", help="The file to write: .parquet, .csv, .npz, .safetensors; - for CSV to standard output."
        ),
    ] = Path("-"),
    label: Label = None,
    columns: ColumnNames = None,
    probabilities: Probabilities = None,
    features: FeatureNames = None,
    json: Json = False,
) -> None:
    """Write the prediction and the confidence of every row next to its other columns.

    The calibrator knows its columns by name, and whether they hold logits or probabilities, so the options are only for
    files that differ from the one it was fitted on. The prediction is the name of the class, if the calibrator knows
    it. Logits and features are dropped; ids, y and all other columns are passed through. CSV and parquet are read and
    written in batches, so memory does not grow with the file. With hundreds of classes, a parquet file with one list
    column, logits, needs far less memory than one column per class.

    Examples
    --------
    auxcal score ccac-x.safetensors new.parquet -o scored.parquet
    auxcal score ccac-x.safetensors new.csv --columns p_cat,p_dog -o scored.csv
    cat new.csv | auxcal score ccac-x.safetensors - > scored.csv
    """
    from auxcal.formats import score_file
    from auxcal.persistence import load

    to_standard_output = str(out) == "-"
    if json and to_standard_output:
        raise typer.BadParameter("--json needs a file to write the scores to: give --out.")
    fitted = load(calibrator)
    with progress_bar("scoring") as report:
        rows = score_file(
            fitted,
            *files,
            out=out,
            label=label,
            columns=as_columns(columns),
            probabilities=probabilities,
            features=as_columns(features),
            report=report,
        )
    if json:
        say_json({"method": fitted.abbreviation, "rows": rows, "out": str(out)})
    elif not to_standard_output:
        say(f"{rows:,} rows scored with {fitted.abbreviation}. Saved: {out}")
