"""auxcal pick: which samples to label."""

from pathlib import Path
from typing import Annotated

import typer

import auxcal
from auxcal.cli._files import load_calibrator, refuse_overwrite
from auxcal.cli._options import Json, Location, Overwrite, RandomState, TableSpec, as_location, table_options
from auxcal.cli.output import echo_result


def pick(
    files: Annotated[
        list[Location],
        typer.Argument(
            metavar="[CALIBRATOR] FILE",
            parser=as_location,
            help="Calibrator file from auxcal fit, if there is one already, and the unlabelled logits: files, a "
            "folder or a quoted pattern; or what a language model answered.",
        ),
    ],
    n: Annotated[int, typer.Option("--n", min=1, help="How many samples to label.")],
    *,
    by: Annotated[
        str | None, "The column of slices, such as day: pick more rows where the confidence may be off more."
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write: .csv, .parquet.")] = Path("to-label.csv"),
    table: Annotated[
        TableSpec, table_options("columns", "probabilities", "percent", "features", "signals", "on_bad_rows")
    ],
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
    auxcal pick ccac-x.safetensors unlabelled.parquet --n 200 --by day
    """
    refuse_overwrite(out, overwrite=overwrite, own=False)
    fitted = None
    if len(files) > 1 and Path(files[0]).suffix == ".safetensors":
        fitted, files = load_calibrator(Path(files[0])), files[1:]
    picks = auxcal.tables.pick_file(fitted, *files, out=out, n=n, by=by, spec=table, random_state=random_state)
    n_rows, weight = len(picks.probability), picks.sample_weight
    weights = f"with weights from {weight.min():.2f} to {weight.max():.2f}"
    if json or str(out) != "-":
        line = f"{n:,} of {n_rows:,} rows picked, {weights}. Saved: {out}"
        echo_result({"rows": n_rows, "picked": n, "out": str(out)}, [line], json=json)
