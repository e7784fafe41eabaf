"""auxcal adapt: a calibrator for other class proportions, without labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from auxcal._core.progress import progress_bar
from auxcal.cli._files import check_calibrator_out, load_calibrator
from auxcal.cli._options import (
    CLASSES,
    LOGITS,
    CalibratorFile,
    CalibratorOut,
    Files,
    Json,
    Level,
    Overwrite,
    table_options,
)
from auxcal.cli.output import echo, echo_json

if TYPE_CHECKING:
    from auxcal.tables import TableSpec


@table_options(*LOGITS, *CLASSES, "on_bad_rows")
def adapt(
    calibrator: CalibratorFile,
    files: Files,
    out: CalibratorOut,
    *,
    labelled: Annotated[Path | None, typer.Option(help="A file with rows of the new mix that have labels.")] = None,
    if_new: Annotated[
        Literal["refuse", "warn"],
        typer.Option("--if-new", help="If the rows are something new: refuse, or warn and adapt."),
    ] = "refuse",
    level: Level = 0.05,
    table: TableSpec,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Adapt a calibrator to another mix of the same kinds of data, without labels.

    The shares of the classes, and of samples of no class, are estimated from the new rows. If auxcal check finds that
    the rows are something new, no such shares explain them, and the command refuses.

    Examples
    --------
    auxcal adapt ccac-x.safetensors new.parquet -o adapted.safetensors
    auxcal adapt ccac-x.safetensors new.csv --labelled some.csv -o adapted.safetensors
    """
    from auxcal.calibrators.facts import as_json, facts
    from auxcal.monitoring import adapt_seen, sampled
    from auxcal.tables import read_predictions, read_rows

    fitted = load_calibrator(calibrator, files)
    check_calibrator_out(out, overwrite=overwrite)
    with progress_bar("reading") as report:
        sample = sampled(fitted, read_rows(fitted, *files, spec=table, report=report))
    some = None if labelled is None else read_predictions(labelled, spec=table.known_to(fitted.inputs_))
    adapted = adapt_seen(fitted, sample.seen, sample.n_rows, some, if_new, level)
    adapted.save(out)
    if json:
        echo_json(as_json(adapted) | {"out": str(out)})
        return
    echo(f"{adapted.abbreviation} adapted to {facts(adapted)['adapted to']}.")
    echo(f"Saved: {out}")
