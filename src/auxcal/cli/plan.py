"""auxcal plan: how many samples to label."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer

import auxcal
from auxcal._core.text import percent
from auxcal.cli._options import CLASSES, SCORES, Json, TableSpec, table_options
from auxcal.cli.output import echo_result

_BAR = 24  # characters of the largest ECE, which leaves the lines below 80
_LABEL = (
    "The column of the true classes, in the pilot or, without one, in FILE, whose labelled rows are then the pilot: "
    "names or indices, as the predictions are; -1 for none of the classes. [default: y]"
)


def plan(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The rows: scored, or logits alone; all or some without labels.")
    ],
    *,
    pilot: Annotated[Path | None, "A scored file of about a hundred labelled rows."] = None,
    ece: Annotated[float | None, "A goal: the ECE of CCAC-X, the default."] = None,
    accuracy_within: Annotated[float | None, "A goal: the accuracy, known to ± this much."] = None,
    risk: Annotated[float | None, "A goal: a threshold that promises this risk."] = None,
    coverage: Annotated[
        float | None, "The share of predictions that the threshold should accept. [default: 0.5]"
    ] = None,
    table: Annotated[TableSpec, table_options(*SCORES, "columns", "probabilities", *CLASSES, label=_LABEL)],
    json: Json = False,
) -> None:
    """Forecast what more labels would gain, and how many labels a goal takes.

    All rows show how uncertain the predictions are; a pilot, the rows that have labels, shows whether the confidence
    can be trusted. Accuracy and Brier score are forecast well. The labels that a promise takes depend on a point or two
    of error, which a pilot can't show, and those for an ECE on its square: go by the range printed beside them.

    Examples
    --------
    auxcal plan rest.parquet --accuracy-within 0.01
    auxcal plan rest.parquet --pilot labelled.parquet --risk 0.05 --coverage 0.6
    """
    if coverage is not None and risk is None:
        raise typer.BadParameter("--coverage is that of a promise: give --risk too.")
    coverage = 0.5 if coverage is None else coverage
    labelled, rows, calibrated = _read(file, pilot, replace(table, on_bad_rows="skip"))
    found = auxcal.labelling.plan(
        *labelled, rows, ece=ece, accuracy_within=accuracy_within, risk=risk, coverage=coverage, calibrated=calibrated
    )
    error, within, promised, share = (f"{100 * (each or 0):g} %" for each in (ece, accuracy_within, risk, coverage))
    goals = {
        "ece": f"an ECE of {error}",
        "accuracy_within": f"the accuracy to ± {within}",
        "risk": f"a risk of {promised}, promised for {share}",
    }
    n_own = len(labelled[0]) if pilot is None and labelled[1] is not None else 0
    own = [f"{n_own:,} of {len(rows):,} rows have labels: they are the pilot."] if n_own else []
    echo_result(asdict(found), chain(own, _lines(found, goals)), json=json)


def _read(file: Path, pilot: Path | None, table: TableSpec) -> tuple[tuple[Any, Any], Any, bool]:
    """Return the pilot, by default the rows with labels; the confidence in all rows; and whether that is calibrated."""
    if pilot is not None:
        labelled = auxcal.tables.read_scored(pilot, spec=table)
        rows = auxcal.tables.read_confidence(file, table.confidence, on_bad_rows="skip")
        return (labelled.confidence, labelled.correct), rows, True
    rows, calibrated = auxcal.tables.read_any_confidence(
        file, table.confidence, columns=table.columns, probabilities=bool(table.probabilities)
    )
    own = auxcal.tables.read_own_pilot(file, spec=table)
    if own is None and (table.label is not None or table.no_class or table.unknown_is_no_class):
        raise typer.BadParameter(
            f"--label, --no-class and --unknown-is-no-class are about labels, and no row of {file.name} has one. Name "
            f"the column with --label, give labelled rows with --pilot, or leave these options out."
        )
    return own or (rows, None), rows, calibrated


def _lines(found: auxcal.labelling.Plan, goals: dict[str, str]) -> Iterator[str]:
    yield f"{'labels':>8}{'accuracy':>12}{'Brier':>8}{'ECE':>8}{'likely':>18}"
    most = max(each.ece for each in found.outlooks)
    for each in found.outlooks:
        likely = f"{percent(each.ece_low)} to {percent(each.ece_high)}"
        bar = "█" * max(1, round(_BAR * each.ece / most))
        within = f"± {percent(each.accuracy_within)}"
        yield f"{each.n:>8,}{within:>12}{each.brier:>8.3f}{percent(each.ece):>8}{likely:>18} {bar}"
    for goal, n in found.needed.items():
        yield f"{goals[goal]}: {_labels_needed(n, *found.between[goal])}"


def _labels_needed(n: int | None, low: int | None, high: int | None) -> str:
    """Return in words how many labels a goal takes, with the likely range.

    If the range is open above, the forecast is too often far too low to be printed: it is where to look again.
    """
    if low is None:
        return "no number of labels grants it"
    if n is None or high is None:
        return (
            f"can't be told: {low:,} labels or more, or no number grants it. Label {low if n is None else n:,} and run "
            f"auxcal threshold on them"
        )
    return f"about {n:,} labels, likely {low:,} to {high:,}"
