"""auxcal check: without labels, whether a calibrator still holds."""

from __future__ import annotations

from typing import Annotated

import typer

from auxcal._core.progress import progress_bar
from auxcal.cli._own_files import load_first
from auxcal.cli._terminal import (
    CODES,
    STANDS,
    WITHDRAWN,
    CalibratorFile,
    ColumnNames,
    FeatureNames,
    Files,
    Json,
    Label,
    OnBadRows,
    Probabilities,
    as_columns,
    say,
    say_json,
)

Level = Annotated[float, typer.Option(help="How often a change may be reported where there is none, between 0 and 1.")]


def check(
    calibrator: CalibratorFile,
    files: Files,
    level: Level = 0.05,
    label: Label = None,
    columns: ColumnNames = None,
    probabilities: Probabilities = None,
    features: FeatureNames = None,
    on_bad_rows: OnBadRows = "fail",
    json: Json = False,
) -> None:
    """Check without labels whether new rows look like those of the fit, are another mix, or something new.

    The exit code is 0 if no difference shows, 3 if they look like another mix, and 4 if no mix explains them, so that a
    pipeline can act on it. Where nothing changes, one check in twenty reports a change all the same; for a check each
    night use auxcal monitor, whose level is that of all nights. Labels that mean something else now never show.

    Examples
    --------
    auxcal check ccac-x.safetensors new.parquet
    auxcal check ccac-x.safetensors new.csv --level 0.01 --json
    """
    from auxcal.monitoring import PromiseSample, RowSample
    from auxcal.tables import read_rows

    fitted = load_first(calibrator, files)
    sample, promise = RowSample(fitted), PromiseSample(fitted)
    with progress_bar("reading") as report:
        rows = read_rows(
            fitted,
            *files,
            label=label,
            columns=as_columns(columns),
            probabilities=probabilities,
            features=as_columns(features),
            on_bad_rows=on_bad_rows,
            report=report,
        )
        for logits, further in rows:
            sample.add(logits, further)
            promise.add(logits, further)
        found = sample.check(level=level)
    holds = promise.holds()
    if holds is None and fitted.certificate_ is not None:  # which does not know the rows that it was found on
        holds = found.verdict == "same"
    if json:
        say_json(found.as_json() | {"promise_holds": holds})
    else:
        of_promise = WITHDRAWN if holds is False else STANDS if holds and found.verdict != "same" else ""
        say(f"{found} {of_promise}".rstrip())
    raise typer.Exit(CODES[found.verdict])
