"""auxcal check: without labels, whether a calibrator still holds."""

from __future__ import annotations

from typing import Annotated

import typer

import auxcal
from auxcal._core.progress import progress_bar
from auxcal.cli._files import load_calibrator
from auxcal.cli._metrics import MetricsFile, check_metrics, metrics_of, save_metrics
from auxcal.cli._options import LOGITS, CalibratorFile, Files, Json, Level, TableSpec, table_options
from auxcal.cli.output import console, echo_json, echo_result, wrapped

EXIT_CODES = {"same": 0, "mix": 3, "new": 4}
"""The exit code of each verdict; 1 and 2 are those of broken pipes and of errors."""

PROMISE_FAILS = "The promise that is kept with the calibrator does not hold for these rows."
PROMISE_HOLDS = "The promise that is kept with the calibrator was found on rows like these, and stands."


def check(
    calibrator: CalibratorFile,
    files: Files,
    *,
    by: Annotated[str | None, "The column that splits the rows into slices: check each, the worst first."] = None,
    level: Level = 0.05,
    metrics: MetricsFile = None,
    table: Annotated[TableSpec, table_options(*LOGITS, "on_bad_rows")],
    json: Json = False,
) -> None:
    """Check without labels whether new rows look like those of the fit, are another mix, or something new.

    The exit code is 0 if no difference shows, 3 if they look like another mix, and 4 if no mix explains them, so that a
    pipeline can act on it. Where nothing changes, one check in twenty reports a change all the same; for a check each
    night use auxcal monitor, whose level is that of all nights. Labels that mean something else now never show.

    With --by, each slice is checked, and they are ranked by how far their confidence may be off: those to label first.
    The level is then that of all slices together, and the exit code that of the worst verdict.

    Examples
    --------
    auxcal check ccac-x.safetensors new.parquet
    auxcal check ccac-x.safetensors new.csv --level 0.01 --json
    auxcal check ccac-x.safetensors new.parquet --by hospital
    auxcal check ccac-x.safetensors new.parquet --metrics check.prom
    """
    check_metrics(metrics)
    fitted, numbers = load_calibrator(calibrator, files), metrics_of("check", calibrator)
    if by is not None:
        code = _check_slices(fitted, files, by, level, table, numbers, json=json)
        save_metrics(numbers, metrics)
        raise typer.Exit(code)
    sample = auxcal.monitoring.RowSample(fitted)
    with progress_bar("reading") as report:
        for logits, features in auxcal.tables.read_rows(fitted, *files, spec=table, report=report):
            sample.add(logits, features)
        found = sample.check(level=level)
    numbers.add("rows", sample.n_rows).add("mean_confidence_ratio", found.confidence)
    save_metrics(numbers.check(found).verdict(found.verdict), metrics)
    holds = sample.guarantee_holds()
    if holds is None and fitted.certificate_ is not None:  # an old certificate, without the rows that it was found on
        holds = found.verdict == "same"
    promise = PROMISE_FAILS if holds is False else PROMISE_HOLDS if holds and found.verdict != "same" else ""
    lines = wrapped([*found.sentences, *([promise] if promise else [])])
    echo_result(found.as_json() | {"promise_holds": holds}, lines, json=json)
    raise typer.Exit(EXIT_CODES[found.verdict])


def _check_slices(
    fitted: auxcal.Calibrator,
    files: Files,
    by: str,
    level: float,
    table: TableSpec,
    metrics: auxcal.monitoring.Metrics,
    *,
    json: bool,
) -> int:
    """Check each slice, print them by the harm that is expected, and return the exit code."""
    with progress_bar("reading") as report:
        rows = auxcal.tables.TimedTable(fitted, *files, by=by, spec=table)
        found = auxcal.monitoring.table_timeline(fitted, rows, level=level, report=report)
    for chunk in found.chunks:
        metrics.chunk(chunk, slice=chunk.name)
    if json:
        keys = ("name", "rows", "confidence", "verdict", "accuracy", "no_class", "harm")
        echo_json({"slices": [{key: chunk.as_json()[key] for key in keys} for chunk in found.ranked]})
    else:
        from auxcal.report.terminal import slices_to_rich, to_label

        screen = console()
        screen.print(*to_label(found), sep="\n")
        screen.print(slices_to_rich(found))
    return max(EXIT_CODES.get(chunk.verdict, 0) for chunk in found.chunks)
