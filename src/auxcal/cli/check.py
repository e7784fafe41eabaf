"""auxcal check: without labels, whether a calibrator still holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from auxcal._core.progress import progress_bar
from auxcal.cli._files import load_calibrator
from auxcal.cli._options import LOGITS, CalibratorFile, Files, Json, Level, table_options
from auxcal.cli.output import echo, echo_json

if TYPE_CHECKING:
    from auxcal.tables import TableSpec

EXIT_CODES = {"same": 0, "mix": 3, "new": 4}
"""The exit code of each verdict; 1 and 2 are those of broken pipes and of errors."""

PROMISE_FAILS = "The promise that is kept with the calibrator does not hold for these rows."
PROMISE_HOLDS = "The promise that is kept with the calibrator was found on rows like these, and stands."


@table_options(*LOGITS, "on_bad_rows")
def check(
    calibrator: CalibratorFile, files: Files, *, level: Level = 0.05, table: TableSpec, json: Json = False
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

    fitted = load_calibrator(calibrator, files)
    sample, promise = RowSample(fitted), PromiseSample(fitted)
    with progress_bar("reading") as report:
        for logits, features in read_rows(fitted, *files, spec=table, report=report):
            sample.add(logits, features)
            promise.add(logits, features)
        found = sample.check(level=level)
    holds = promise.guarantee_holds()
    if holds is None and fitted.certificate_ is not None:  # an old certificate, without the rows that it was found on
        holds = found.verdict == "same"
    if json:
        echo_json(found.as_json() | {"promise_holds": holds})
    else:
        about_promise = PROMISE_FAILS if holds is False else PROMISE_HOLDS if holds and found.verdict != "same" else ""
        echo(f"{found} {about_promise}".rstrip())
    raise typer.Exit(EXIT_CODES[found.verdict])
