"""auxcal score: the prediction and the confidence of every row."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from auxcal._progress import progress_bar
from auxcal.cli._terminal import (
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
    calibrator: Annotated[Path, typer.Argument(help="A calibrator that auxcal fit saved.", show_default=False)],
    files: Files,
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", help="The file to write: .parquet, .csv, .npz, .safetensors; - for CSV to standard output."
        ),
    ] = Path("-"),
    label: Label = "y",
    columns: ColumnNames = None,
    probabilities: Probabilities = False,
    features: FeatureNames = None,
    json: Json = False,
) -> None:
    """Write the prediction and the confidence of every row next to its other columns.

    Logits and features are dropped; ids, y and all other columns are passed through. CSV and parquet are read and
    written in batches, so memory does not grow with the file. With hundreds of classes, a parquet file with one list
    column, logits, needs far less memory than one column per class.

    Examples
    --------
    auxcal score ccac-x.safetensors new.parquet -o scored.parquet
    auxcal score ccac-x.safetensors new.csv --probabilities -o scored.csv
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
