"""auxcal monitor: whether a calibrator still holds, day by day."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import auxcal
from auxcal._core.progress import progress_bar
from auxcal.cli._files import load_calibrator, refuse_overwrite
from auxcal.cli._options import CalibratorFile, Files, Json, NewTable, Overwrite
from auxcal.cli.check import EXIT_CODES
from auxcal.cli.output import console, echo_json


def monitor(
    calibrator: CalibratorFile,
    files: Files,
    by: Annotated[str, "The column that splits the rows into chunks, such as day."],
    *,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Where to write the page, an .html file.")] = None,
    level: Annotated[float, "The probability of ever raising an alarm while nothing has changed."] = 0.05,
    tolerance: Annotated[
        float,
        "How far the confidence may be off without an alarm, beyond the uncertainty of the fit: 0.02 for two points.",
    ] = 0.0,
    table: NewTable,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Show over time whether the calibrator still holds: accuracy, out-of-distribution samples, verdict, alarms.

    Each value of the column --by is a chunk. Numbers are sorted by size, everything else, such as 2026-11-17, by
    alphabet. For each chunk the table shows what auxcal check finds, and the measured accuracy where rows have labels;
    leave the label empty in rows without one. The level is for all chunks together: while nothing changes, one in
    1 / level such tables has an alarm, and one a verdict other than "the same", however long they are.

    The exit code is 0 if all is well, 3 if class proportions have changed since the fit in the last chunk or rows
    raised an alarm, and 4 if the last chunk is something new or labels raised an alarm.

    Examples
    --------
    auxcal monitor ccac-x.safetensors november.parquet --by day
    auxcal monitor ccac-x.safetensors november.parquet --by day --label truth --out monitor.html
    auxcal monitor ccac-x.safetensors november.csv --by week --json
    """
    if out is not None:
        from auxcal.report.html import save_timeline  # whose extra may be missing: say so before the work

        if out.suffix != ".html":
            raise typer.BadParameter(f"--out writes a page, an .html file; got {out.name!r}.")
        refuse_overwrite(out, overwrite=overwrite)
    fitted = load_calibrator(calibrator, files)
    with progress_bar("watching") as report:
        chunks = auxcal.tables.TimedTable(fitted, *files, by=by, spec=table)
        found = auxcal.monitoring.table_timeline(fitted, chunks, level=level, tolerance=tolerance, report=report)
    if out is not None:
        save_timeline(found, out, name=" ".join(Path(path).name for path in files))
    if json:
        echo_json(found.as_json() | ({} if out is None else {"out": str(out)}))
    else:
        _print(found, out)
    raise typer.Exit(_exit_code(found))


def _print(timeline: auxcal.monitoring.Timeline, out: Path | None) -> None:
    from auxcal.report.terminal import alarms, found, then, timeline_to_rich, to_label

    screen = console()
    screen.print(found(timeline), style="bold")
    screen.print(*alarms(timeline), *to_label(timeline), sep="\n")
    screen.print(f"{then(timeline)}\n", style="bold blue")
    screen.print(timeline_to_rich(timeline))
    if out is not None:
        screen.print(f"\nWritten: {out}", soft_wrap=True)


def _exit_code(timeline: auxcal.monitoring.Timeline) -> int:
    verdict, kinds = timeline.chunks[-1].verdict, {alarm.kind for _, alarm in timeline.alarms}
    if verdict == "new" or "labels" in kinds:
        return EXIT_CODES["new"]
    return EXIT_CODES["mix"] if verdict == "mix" or "data" in kinds else EXIT_CODES["same"]
