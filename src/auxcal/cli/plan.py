"""auxcal plan: how many samples to label."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer

import auxcal
from auxcal._core.text import percent
from auxcal.cli._options import CLASSES, SCORES, Json, Location, TableSpec, as_location, table_options
from auxcal.cli.output import echo_result

_LABEL = (
    "The column of the true classes, in the pilot or, without one, in FILE, whose labelled rows are then the pilot: "
    "names or indices, as the predictions are; -1 for none of the classes. [default: y]"
)


def plan(
    files: Annotated[
        list[Location],
        typer.Argument(
            metavar="FILE",
            parser=as_location,
            help="The rows: scored, or logits alone; all or some without labels. Several files, a folder or a quoted "
            "pattern are one table; it may be what a language model answered.",
        ),
    ],
    *,
    pilot: Annotated[Path | None, "A scored file of about a hundred labelled rows."] = None,
    accuracy_within: Annotated[float | None, "A goal: the accuracy, known to ± this much."] = None,
    risk: Annotated[float | None, "A goal: a threshold that promises this risk."] = None,
    coverage: Annotated[
        float | None, "The share of predictions that the threshold should accept. [default: 0.5]"
    ] = None,
    table: Annotated[TableSpec, table_options(*SCORES, "columns", "probabilities", "percent", *CLASSES, label=_LABEL)],
    json: Json = False,
) -> None:
    """Show how many labels a goal takes.

    A pilot, the rows that have labels, shows how often the predictions are right, and how rare errors are among the
    accepted. Draw it uniformly. The range beside a number is what the errors of so many rows allow, in four of five
    pilots.

    Examples
    --------
    auxcal plan rest.parquet --accuracy-within 0.01
    auxcal plan rest.parquet --pilot labelled.parquet --risk 0.1 --coverage 0.6
    """
    if coverage is not None and risk is None:
        raise typer.BadParameter("--coverage is that of a promise: give --risk too.")
    coverage = 0.5 if coverage is None else coverage
    labelled, rows = _read(files, pilot, replace(table, on_bad_rows="skip"))
    found = auxcal.labelling.plan(*labelled, rows, accuracy_within=accuracy_within, risk=risk, coverage=coverage)
    within, promised, share = (f"{100 * (each or 0):g} %" for each in (accuracy_within, risk, coverage))
    goals = {
        "accuracy_within": f"the accuracy to ± {within}",
        "risk": f"a risk of {promised}, promised for {share}",
    }
    n_own = len(labelled[0]) if pilot is None and labelled[1] is not None else 0
    own = [f"{n_own:,} of {len(rows):,} rows have labels: they are the pilot."] if n_own else []
    outlooks = [outlook._asdict() for outlook in found.outlooks]
    result = asdict(found) | {"accuracy": found.accuracy._asdict(), "outlooks": outlooks}
    echo_result(result, chain(own, _lines(found, goals)), json=json)


def _read(files: Sequence[Location], pilot: Path | None, table: TableSpec) -> tuple[tuple[Any, Any], Any]:
    """Return the pilot, by default the rows with labels, and the confidence in all rows."""
    if pilot is not None:
        labelled = auxcal.tables.read_scored(pilot, spec=table)
        rows = auxcal.tables.read_confidence(*files, confidence=table.confidence, on_bad_rows="skip")
        return (labelled.confidence, labelled.correct), rows
    if "-" in map(str, files):
        raise typer.BadParameter("standard input can be read once: name a file, or give labelled rows with --pilot.")
    rows, _ = auxcal.tables.read_any_confidence(
        *files,
        confidence=table.confidence,
        columns=table.columns,
        probabilities=bool(table.probabilities),
        percent=table.percent,
    )
    own = auxcal.tables.read_own_pilot(*files, spec=table)
    names = " and ".join(map(str, files))
    if own is None and (table.label is not None or table.no_class or table.unknown_is_no_class):
        raise typer.BadParameter(
            f"--label, --no-class and --unknown-is-no-class are about labels, and no row of {names} has one. Name the "
            f"column with --label, give labelled rows with --pilot, or leave these options out."
        )
    return own or (rows, None), rows


def _lines(found: auxcal.labelling.Plan, goals: dict[str, str]) -> Iterator[str]:
    yield f"{'labels':>8}{'accuracy':>12}"
    for outlook in found.outlooks:
        yield f"{outlook.n:>8,}{f'± {percent(outlook.accuracy_within)}':>12}"
    for goal, n in found.needed.items():
        yield f"{goals[goal]}: {_labels_needed(n, *found.between[goal])}"


def _labels_needed(n: int | None, low: int | None, high: int | None) -> str:
    """Return in words how many labels a goal takes, with the range."""
    if low is None:
        return "no number of labels grants it"
    if high is None:
        return (
            f"the pilot is too small: {low:,} labels or more, or no number grants it. Label {n or 2 * low:,} and run "
            f"auxcal threshold on them"
        )
    return f"about {n:,} labels, likely {low:,} to {high:,}"
