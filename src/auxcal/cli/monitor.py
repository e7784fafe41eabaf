"""auxcal monitor: whether a calibrator still holds, day by day, in one run or from night to night."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

import auxcal
from auxcal._core.errors import InvalidInputError
from auxcal._core.files import locked
from auxcal._core.progress import progress_bar
from auxcal.cli._files import load_calibrator, refuse_overwrite
from auxcal.cli._metrics import MetricsFile, check_metrics, metrics_of, save_metrics
from auxcal.cli._options import Files, Json, NewTable, Overwrite, TableSpec
from auxcal.cli.check import EXIT_CODES
from auxcal.cli.output import console, echo_error, echo_json

if TYPE_CHECKING:
    from auxcal.monitoring import Alarm

    Raised: TypeAlias = tuple[tuple[str, Alarm], ...]

_SHOWN = 14  # chunks of a state that the terminal shows: two weeks of nights; the page shows all that it keeps


def monitor(
    calibrator: Annotated[
        Path, typer.Argument(help="Calibrator file from auxcal fit; a --state that is there knows it already.")
    ],
    files: Files = (),  # type: ignore[assignment]  # typer's list
    by: Annotated[
        str | None,
        "The column that splits the rows into chunks, such as day. [default with --state: the new rows are one chunk]",
    ] = None,
    *,
    state: Annotated[
        Path | None,
        "The file that remembers what was seen, so that a nightly job goes on where it stopped. It is made if it is "
        "not there.",
    ] = None,
    replaced: Annotated[
        bool,
        "With --state: a file that has changed is a new one, as one that is written anew each night.",
    ] = False,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Where to write the page, an .html file.")] = None,
    level: Annotated[
        float | None,
        "The probability of ever raising an alarm while nothing has changed. [default: 0.05, or that of the state]",
    ] = None,
    tolerance: Annotated[
        float | None,
        "How far the confidence may be off without an alarm, beyond the uncertainty of the fit: 0.02 for two points. "
        "[default: 0, or that of the state]",
    ] = None,
    metrics: MetricsFile = None,
    table: NewTable,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Show over time whether the calibrator still holds: accuracy, out-of-distribution samples, verdict, alarms.

    Each value of the column --by is a chunk. Numbers are sorted by size, everything else, such as 2026-11-17, by
    alphabet. For each chunk the table shows what auxcal check finds, and the measured accuracy where rows have labels;
    leave the label empty in rows without one. The level is for all chunks together: while nothing changes, one in
    1 / level such tables has an alarm, and one a verdict other than "the same", however long they are.

    With --state, each run looks only at files that no run before it has seen; a file that changed is refused. The
    level is then that of all runs together, however many there will be. A second run at the same time waits for the
    first. A run that is killed changes nothing: start it again.

    The exit code is 0 if all is well, 3 if class proportions have changed since the fit in the last chunk or rows
    raised an alarm, and 4 if the last chunk is something new or labels raised an alarm. With --state, alarms stand
    until a new state is begun.

    Examples
    --------
    auxcal monitor ccac-x.safetensors november.parquet --by day
    auxcal monitor ccac-x.safetensors november.parquet --by day --label truth --out monitor.html
    auxcal monitor ccac-x.safetensors november.csv --by week --json
    auxcal monitor ccac-x.safetensors new.parquet --state monitor.state
    auxcal monitor --state monitor.state new.parquet
    auxcal monitor ccac-x.safetensors logits/ --state monitor.state --metrics monitor.prom
    """
    if by is None and state is None:
        raise typer.BadParameter("name the column that splits the rows into chunks with --by, or a --state to keep.")
    if replaced and state is None:
        raise typer.BadParameter("--replaced is for runs with a --state.")
    if out is not None:
        from auxcal.report.html import save_timeline  # whose extra may be missing: say so before the work

        if out.suffix != ".html":
            raise typer.BadParameter(f"--out writes a page, an .html file; got {out.name!r}.")
        refuse_overwrite(out, overwrite=overwrite)
    check_metrics(metrics)
    fitted = load_calibrator(calibrator, files)

    def write_page(found: auxcal.monitoring.Timeline) -> None:
        if out is not None:
            save_timeline(found, out, name=" ".join(Path(path).name for path in files))

    if state is None:
        with progress_bar("watching") as report:
            chunks = auxcal.tables.TimedTable(fitted, *files, by=by, spec=table)
            found = auxcal.monitoring.table_timeline(
                fitted, chunks, level=level or 0.05, tolerance=tolerance or 0.0, report=report
            )
        write_page(found)
        facts, lines, raised = found.as_json(), list[str](), found.alarms
    else:
        found, facts, lines, raised = _go_on(
            fitted, calibrator, files, by, state, level, tolerance, table, replaced=replaced, keep=write_page
        )
    last, alarms = found.chunks[-1], tuple(alarm for _, alarm in raised)
    numbers = metrics_of("monitor", calibrator).chunk(last, n_rows=facts.get("new_rows"))
    save_metrics(numbers.monitored(last.evidence, alarms, found.level), metrics)
    if json:
        from auxcal.report.terminal import unlike_check

        why = unlike_check(found)
        echo_json(facts | ({"unlike_check": why} if why else {}) | ({} if out is None else {"out": str(out)}))
    else:
        _print(found, lines, out, most=None if state is None else _SHOWN)
    raise typer.Exit(_exit_code(found, raised))


def _go_on(
    fitted: auxcal.Calibrator,
    calibrator: Path,
    files: Files,
    by: str | None,
    state: Path,
    level: float | None,
    tolerance: float | None,
    table: TableSpec,
    *,
    replaced: bool,
    keep: Callable[[auxcal.monitoring.Timeline], None],
) -> tuple[auxcal.monitoring.Timeline, dict[str, Any], list[str], Raised]:
    """Watch what is new, keep the state, and return what it knows, as JSON, in words, and all alarms."""
    name = auxcal.inputs.time_now().replace("T", " ")[: len("2026-11-18 03:00")]
    with _nightly(fitted, state, level, tolerance) as nightly, progress_bar("watching") as report:
        rows = auxcal.tables.NewRows(fitted, *files, seen=nightly.seen, by=by, name=name, replaced=replaced, spec=table)
        new = nightly.watch(rows.batches(), report)
        nightly.seen, nightly.calibrator_path = rows.seen, os.path.realpath(calibrator)
        if not nightly.chunks:
            raise InvalidInputError(f"{' and '.join(map(str, files))}: there are no rows, and none were seen before.")
        keep(nightly.timeline)  # before the state is saved: where it can't be written, the rows are still new
    found, evidence = nightly.timeline, nightly.monitor.evidence
    n_new, n_before = sum(file.new for file in rows.found), sum(file.before for file in rows.found)
    facts = {
        **found.as_json(),
        "alarms": [{"chunk": name, "kind": alarm.kind, "reason": alarm.reason} for name, alarm in nightly.alarms],
        "chunks": [chunk.as_json() for chunk in new],
        "state": str(state),
        "new_rows": n_new,
        "rows": evidence.n_rows,
        "labels": evidence.n_labels,
        "evidence": {"data": evidence.data, "labels": evidence.labels},
        "n_chunks": nightly.n_chunks,
        "files": [file._asdict() for file in rows.found],
    }
    with_new = sum(file.new > 0 for file in rows.found)
    words = f"{n_new:,} new row{'' if n_new == 1 else 's'} in {with_new:,} of {len(rows.found):,} files"
    lines = [f"{words}; {n_before:,} rows were seen before."]
    if not n_new:
        lines = [f"No new rows: all {n_before:,} were seen before. What follows was found then."]
    return found, facts, lines, nightly.alarms


@contextmanager
def _nightly(
    fitted: auxcal.Calibrator, path: Path, level: float | None, tolerance: float | None
) -> Iterator[auxcal.monitoring.Nightly]:
    """Give the state of a file to one process at a time, and save it at the end, whole."""
    with locked(path, lambda: echo_error(f"{path}: another run has this state; waiting for its end.")):
        if path.exists():
            nightly = auxcal.monitoring.Nightly.load(path, fitted)
            for name, given in {"level": level, "tolerance": tolerance}.items():
                kept = getattr(nightly.monitor, name)
                if given not in (None, kept):
                    raise InvalidInputError(
                        f"{path}: this state was begun with --{name} {kept:g}, which holds for all its runs; got "
                        f"{given:g}. Leave it out, or begin a new state."
                    )
        else:
            nightly = auxcal.monitoring.Nightly(fitted, level or 0.05, tolerance=tolerance or 0.0)
        yield nightly
        nightly.save(path)


def _print(timeline: auxcal.monitoring.Timeline, lines: list[str], out: Path | None, most: int | None) -> None:
    from auxcal.report.terminal import alarms, found, then, timeline_to_rich, to_label, unlike_check

    screen = console()
    screen.print(*lines, *([""] if lines else []), sep="\n", end="")
    screen.print(found(timeline), style="bold")
    screen.print(*alarms(timeline), *unlike_check(timeline), *to_label(timeline), sep="\n")
    screen.print(f"{then(timeline)}\n", style="bold blue")
    screen.print(timeline_to_rich(timeline, most))
    if out is not None:
        screen.print(f"\nWritten: {out}", soft_wrap=True)


def _exit_code(timeline: auxcal.monitoring.Timeline, standing: Raised = ()) -> int:
    """Return the code of the last chunk and of all alarms, also those of earlier runs."""
    verdict, kinds = timeline.chunks[-1].verdict, {alarm.kind for _, alarm in (*timeline.alarms, *standing)}
    if verdict == "new" or "labels" in kinds:
        return EXIT_CODES["new"]
    return EXIT_CODES["mix"] if verdict == "mix" or "data" in kinds else EXIT_CODES["same"]
