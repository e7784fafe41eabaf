"""auxcal plan: how many samples to label."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from auxcal._core.text import percent
from auxcal.cli._files import refuse_overwrite
from auxcal.cli._options import CLASSES, SCORES, Json, Overwrite, table_options
from auxcal.cli.output import echo, echo_json

if TYPE_CHECKING:
    from auxcal._core.arrays import Bools, Floats
    from auxcal.labelling import Plan
    from auxcal.tables import TableSpec

_BAR = 24  # characters of the largest ECE, which leaves the lines below 80
_PICTURES = (".png", ".svg", ".pdf")
_LABEL = Annotated[
    str | None,
    typer.Option(
        help="The column of the true classes, in the pilot or, without one, in FILE, whose labelled rows are then the "
        "pilot: names or indices, as the predictions are; -1 for none of the classes. [default: y]"
    ),
]


@table_options(*SCORES, "columns", "probabilities", *CLASSES, label=(_LABEL, None))
def plan(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The rows: scored, or logits alone; all or some without labels.")
    ],
    *,
    pilot: Annotated[Path | None, typer.Option(help="A scored file of about a hundred labelled rows.")] = None,
    ece: Annotated[float | None, typer.Option(help="A goal: the ECE of CCAC-X, the default.")] = None,
    accuracy_within: Annotated[float | None, typer.Option(help="A goal: the accuracy, known to ± this much.")] = None,
    risk: Annotated[float | None, typer.Option(help="A goal: a threshold that promises this risk.")] = None,
    coverage: Annotated[
        float | None, typer.Option(help="The share of predictions that the threshold should accept. [default: 0.5]")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Where to draw the curves: a .png, .svg or .pdf file.")] = None,
    table: TableSpec,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Forecast what more labels would gain, and how many labels a goal takes.

    All rows show how uncertain the predictions are; a pilot, the rows that have labels, shows whether the confidence
    can be trusted. Accuracy and Brier score are forecast well. The labels that a promise takes depend on a point or two
    of error, which a pilot can't show, and those for an ECE on its square: go by the range printed beside them.

    Examples
    --------
    auxcal plan rest.parquet --accuracy-within 0.01
    auxcal plan rest.parquet --pilot labelled.parquet --risk 0.05 --coverage 0.6 --plot plan.png
    """
    from auxcal.labelling import plan as make_plan

    if coverage is not None and risk is None:
        raise typer.BadParameter("--coverage is that of a promise: give --risk too.")
    if plot is not None:
        refuse_overwrite(plot, overwrite=overwrite)
    coverage = 0.5 if coverage is None else coverage
    labelled, rows, calibrated = _read(file, pilot, replace(table, on_bad_rows="skip"))
    found = make_plan(
        *labelled, rows, ece=ece, accuracy_within=accuracy_within, risk=risk, coverage=coverage, calibrated=calibrated
    )
    if plot is not None:
        _draw(found, plot, file.stem)
    if json:
        echo_json(asdict(found))
        return
    if pilot is None and labelled[1] is not None:
        echo(f"{len(labelled[0]):,} of {len(rows):,} rows have labels: they are the pilot.")
    error, within, promised, share = (f"{100 * (each or 0):g} %" for each in (ece, accuracy_within, risk, coverage))
    goals = {
        "ece": f"an ECE of {error}",
        "accuracy_within": f"the accuracy to ± {within}",
        "risk": f"a risk of {promised}, promised for {share}",
    }
    _print(found, goals)


def _read(file: Path, pilot: Path | None, table: TableSpec) -> tuple[tuple[Floats, Bools | None], Floats, bool]:
    """Return the pilot, the confidence in all rows, and whether it is a calibrator's.

    Without a pilot in another file it is the rows of this one that have labels.
    """
    from auxcal.tables import read_any_confidence, read_confidence, read_own_pilot, read_scored

    if pilot is not None:
        labelled = read_scored(pilot, spec=table)
        return (
            (labelled.confidence, labelled.correct),
            read_confidence(file, table.confidence, on_bad_rows="skip"),
            True,
        )
    layout: dict[str, Any] = {"columns": table.columns, "probabilities": bool(table.probabilities)}
    rows, calibrated = read_any_confidence(file, table.confidence, **layout)
    own = read_own_pilot(file, spec=table)
    if own is None and (table.label is not None or table.no_class or table.unknown_is_no_class):
        raise typer.BadParameter(
            f"--label, --no-class and --unknown-is-no-class are about labels, and no row of {file.name} has one. Name "
            f"the column with --label, give labelled rows with --pilot, or leave these options out."
        )
    return own or (rows, None), rows, calibrated


def _draw(found: Plan, path: Path, name: str) -> None:
    from auxcal._core.files import atomic_write
    from auxcal.inputs import time_now
    from auxcal.report.plots import PlanDisplay

    if path.suffix not in _PICTURES:
        raise typer.BadParameter(f"--plot writes {', '.join(_PICTURES)}; got {path.name!r}.")
    time_now()  # Matplotlib reads SOURCE_DATE_EPOCH too: if it is no time, this says so
    figure = PlanDisplay.from_plan(found).plot(title=name).figure_
    with atomic_write(path) as temporary:
        figure.savefig(temporary, format=path.suffix[1:])


def _print(found: Plan, goals: dict[str, str]) -> None:
    echo(f"{'labels':>8}{'accuracy':>12}{'Brier':>8}{'ECE':>8}{'likely':>18}")
    most = max(each.ece for each in found.outlooks)
    for each in found.outlooks:
        likely = f"{percent(each.ece_low)} to {percent(each.ece_high)}"
        bar = "█" * max(1, round(_BAR * each.ece / most))
        within = f"± {percent(each.accuracy_within)}"
        echo(f"{each.n:>8,}{within:>12}{each.brier:>8.3f}{percent(each.ece):>8}{likely:>18} {bar}")
    for goal, n in found.needed.items():
        echo(f"{goals[goal]}: {_labels_needed(n, *found.between[goal])}")


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
