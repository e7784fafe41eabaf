"""auxcal pick: which samples to label."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from auxcal.cli._own_files import Overwrite, refuse_overwrite
from auxcal.cli._terminal import (
    ColumnNames,
    FeatureNames,
    Json,
    OnBadRows,
    Probabilities,
    RandomState,
    as_columns,
    say,
    say_json,
)


def pick(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="[CALIBRATOR] FILE",
            show_default=False,
            help="A calibrator that auxcal fit saved, if there is one already, and the unlabelled logits.",
        ),
    ],
    n: Annotated[int, typer.Option("--n", min=1, help="How many samples to label.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write: .csv, .parquet.")] = Path("to-label.csv"),
    columns: ColumnNames = None,
    probabilities: Probabilities = None,
    features: FeatureNames = None,
    on_bad_rows: OnBadRows = "fail",
    random_state: RandomState = 0,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Pick the samples whose labels are most informative, and write them with their weights.

    Samples are more likely to be picked if it is uncertain whether the classifier is right; the rest are spread evenly.
    Fill in the labels, in the empty column that has the name of the calibrator's label, or y; rows without one are left
    out later. The column weight corrects for the unequal probabilities: pass --weight weight to the commands that use
    the labels. The column row is the place of each row in the input, from 0. Without a calibrator, the classifier's own
    confidence is used.

    Examples
    --------
    auxcal pick ccac-x.safetensors unlabelled.parquet --n 200 -o to-label.csv
    auxcal pick unlabelled.parquet --n 200 -o to-label.csv
    """
    from auxcal.persistence import load
    from auxcal.tables import pick_file

    refuse_overwrite(out, overwrite=overwrite, own=False)
    fitted = load(files[0]) if len(files) > 1 and files[0].suffix == ".safetensors" else None
    picks = pick_file(
        fitted,
        *(files if fitted is None else files[1:]),
        out=out,
        n=n,
        columns=as_columns(columns),
        probabilities=probabilities,
        features=as_columns(features),
        on_bad_rows=on_bad_rows,
        random_state=random_state,
    )
    weight = picks.sample_weight
    if json:
        say_json({"rows": len(picks.probability), "picked": n, "out": str(out)})
    elif str(out) != "-":
        say(
            f"{n:,} of {len(picks.probability):,} rows picked, with weights from {weight.min():.2f} to "
            f"{weight.max():.2f}. Saved: {out}"
        )
