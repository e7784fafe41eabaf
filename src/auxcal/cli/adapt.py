"""auxcal adapt: a calibrator for another mix, without labels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from auxcal._core.progress import progress_bar
from auxcal.cli._own_files import Overwrite, load_first
from auxcal.cli._terminal import (
    CalibratorFile,
    CalibratorOut,
    ClassNames,
    ColumnNames,
    FeatureNames,
    Files,
    Json,
    Label,
    NoClass,
    OnBadRows,
    Probabilities,
    UnknownIsNoClass,
    as_columns,
    as_names,
    calibrator_file,
    say,
    say_json,
)
from auxcal.cli.check import Level


def adapt(
    calibrator: CalibratorFile,
    files: Files,
    out: CalibratorOut,
    labelled: Annotated[
        Path | None, typer.Option(show_default=False, help="A file with rows of the new mix that have labels.")
    ] = None,
    if_new: Annotated[
        Literal["refuse", "warn"],
        typer.Option("--if-new", help="If the rows are something new: refuse, or warn and adapt."),
    ] = "refuse",
    level: Level = 0.05,
    label: Label = None,
    columns: ColumnNames = None,
    probabilities: Probabilities = None,
    features: FeatureNames = None,
    class_names: ClassNames = None,
    no_class: NoClass = None,
    unknown_is_no_class: UnknownIsNoClass = False,
    on_bad_rows: OnBadRows = "fail",
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

    fitted = load_first(calibrator, files)
    named: dict[str, Any] = {
        "label": label,
        "columns": as_columns(columns),
        "probabilities": probabilities,
        "features": as_columns(features),
        "on_bad_rows": on_bad_rows,
    }
    with calibrator_file(out, overwrite=overwrite) as temporary:
        with progress_bar("reading") as report:
            sample = sampled(fitted, read_rows(fitted, *files, **named, report=report))
        some = None
        if labelled is not None:
            some = read_predictions(
                labelled,
                **named,
                class_names=as_names(class_names),
                no_class=no_class or (),
                unknown_is_no_class=unknown_is_no_class,
                inputs=fitted.inputs_,
            )
        adapted = adapt_seen(fitted, sample.seen, sample.n_rows, some, if_new, level)
        adapted.save(temporary)
    if json:
        say_json(as_json(adapted) | {"out": str(out)})
        return
    say(f"{adapted.abbreviation} adapted to {facts(adapted)['adapted to']}.")
    say(f"Saved: {out}")
