"""auxcal monitor: does the calibrator still hold, day by day."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from auxcal._core.progress import progress_bar
from auxcal.cli._own_files import Overwrite, load_first, refuse_overwrite
from auxcal.cli._terminal import (
    CODES,
    CalibratorFile,
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
    console,
    say_json,
)

if TYPE_CHECKING:
    from auxcal.monitoring import Timeline


def monitor(
    calibrator: CalibratorFile,
    files: Files,
    by: Annotated[
        str, typer.Option("--by", show_default=False, help="The column that splits the rows into chunks, such as day.")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", show_default=False, help="Where to write the page, an .html file.")
    ] = None,
    level: Annotated[
        float, typer.Option(help="The probability of ever raising an alarm while nothing has changed.")
    ] = 0.05,
    tolerance: Annotated[
        float,
        typer.Option(
            help="How far the confidence may be off without an alarm, beyond the uncertainty of the fit: 0.02 for two "
            "points."
        ),
    ] = 0.0,
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
    """Show over time whether the calibrator still holds: accuracy, foreign samples, verdict, alarms.

    Each value of the column --by is a chunk. Numbers are sorted by size, everything else, such as 2026-11-17, by
    alphabet. For each chunk the table shows what auxcal check finds, and the measured accuracy where rows have labels;
    leave the label empty in rows without one. The level is for all chunks together: while nothing changes, one in
    1 / level such tables has an alarm, and one a verdict other than "the same", however long they are.

    The exit code is 0 if all is well, 3 if the last chunk is another mix of the data of the fit or its rows raised an
    alarm, and 4 if it is something new or labels raised an alarm.

    Examples
    --------
    auxcal monitor ccac-x.safetensors november.parquet --by day
    auxcal monitor ccac-x.safetensors november.parquet --by day --label truth --out monitor.html
    auxcal monitor ccac-x.safetensors november.csv --by week --json
    """
    from auxcal.monitoring import table_timeline
    from auxcal.tables import TimedTable

    if out is not None:
        from auxcal.report.html import save_timeline

        if out.suffix != ".html":
            raise typer.BadParameter(f"--out writes a page, an .html file; got {out.name!r}.")
        refuse_overwrite(out, overwrite=overwrite)
    fitted = load_first(calibrator, files)
    table = TimedTable(
        fitted,
        *files,
        by=by,
        label=label,
        columns=as_columns(columns),
        probabilities=probabilities,
        features=as_columns(features),
        class_names=as_names(class_names),
        no_class=no_class or (),
        unknown_is_no_class=unknown_is_no_class,
        on_bad_rows=on_bad_rows,
    )
    with progress_bar("watching") as report:
        found = table_timeline(fitted, table, level=level, tolerance=tolerance, report=report)
    if out is not None:
        save_timeline(found, out, name=" ".join(Path(path).name for path in files))
    if json:
        say_json(found.as_json() | ({} if out is None else {"out": str(out)}))
    else:
        _show(found, out)
    raise typer.Exit(_exit_code(found))


def _show(timeline: Timeline, out: Path | None) -> None:
    from rich.text import Text

    from auxcal.report.terminal import alarms, found, then, timeline_to_rich

    screen = console()
    screen.print(Text(found(timeline), style="bold"))
    for line in alarms(timeline):
        screen.print(Text(line))
    screen.print(Text(then(timeline), style="bold blue"))
    screen.print()
    screen.print(timeline_to_rich(timeline))
    if out is not None:
        screen.print(f"\nWritten: {out}", soft_wrap=True)


def _exit_code(timeline: Timeline) -> int:
    verdict, kinds = timeline.chunks[-1].verdict, {alarm.kind for _, alarm in timeline.alarms}
    if verdict == "new" or "labels" in kinds:
        return CODES["new"]
    return CODES["mix"] if verdict == "mix" or "data" in kinds else CODES["same"]
