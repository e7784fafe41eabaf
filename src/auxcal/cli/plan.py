"""auxcal plan: how many samples to label."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from auxcal._core.text import percent
from auxcal.cli._own_files import Overwrite, refuse_overwrite
from auxcal.cli._terminal import (
    ClassNames,
    ColumnNames,
    Json,
    NoClass,
    Probabilities,
    UnknownIsNoClass,
    as_columns,
    as_names,
    say,
    say_json,
)
from auxcal.cli.evaluate import ConfidenceColumn, PredictionColumn

if TYPE_CHECKING:
    from auxcal._core.arrays import Bools, Floats
    from auxcal.labelling import Plan

_BAR = 24  # characters of the largest ECE
_PICTURES = (".png", ".svg", ".pdf")


def plan(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", show_default=False, help="The rows: scored, or logits alone; all or some without labels."
        ),
    ],
    pilot: Annotated[
        Path | None, typer.Option(show_default=False, help="A scored file of about a hundred labelled rows.")
    ] = None,
    ece: Annotated[
        float | None, typer.Option(show_default=False, help="A goal: the ECE of CCAC-X, the default.")
    ] = None,
    accuracy_within: Annotated[
        float | None, typer.Option(show_default=False, help="A goal: the accuracy, known to ± this much.")
    ] = None,
    risk: Annotated[
        float | None, typer.Option(show_default=False, help="A goal: a threshold that promises this risk.")
    ] = None,
    coverage: Annotated[
        float | None,
        typer.Option(
            show_default=False, help="The share of predictions that the threshold should accept. [default: 0.5]"
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(show_default=False, help="Where to draw the curves: a .png, .svg or .pdf file.")
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(
            show_default=False,
            help="The column of the true classes, in the pilot or, without one, in FILE, whose labelled rows are then "
            "the pilot: names or indices, as the predictions are; -1 for none of the classes. [default: y]",
        ),
    ] = None,
    prediction: PredictionColumn = "prediction",
    confidence: ConfidenceColumn = "confidence",
    columns: ColumnNames = None,
    probabilities: Probabilities = None,
    class_names: ClassNames = None,
    no_class: NoClass = None,
    unknown_is_no_class: UnknownIsNoClass = False,
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
    named: dict[str, Any] = {"prediction": prediction, "confidence": confidence, "no_class": no_class or ()}
    named["class_names"] = as_names(class_names)
    named["unknown_is_no_class"] = unknown_is_no_class
    layout: dict[str, Any] = {"columns": as_columns(columns), "probabilities": bool(probabilities)}
    labelled, rows, calibrated = _read(file, pilot, label, named, layout)
    found = make_plan(
        *labelled, rows, ece=ece, accuracy_within=accuracy_within, risk=risk, coverage=coverage, calibrated=calibrated
    )
    if plot is not None:
        _draw(found, plot, file.stem)
    if json:
        say_json(asdict(found))
    else:
        if pilot is None and labelled[1] is not None:
            say(f"{len(labelled[0]):,} of {len(rows):,} rows have labels: they are the pilot.")
        error, within, promised, share = (f"{100 * (each or 0):g} %" for each in (ece, accuracy_within, risk, coverage))
        wishes = {
            "ece": f"an ECE of {error}",
            "accuracy_within": f"the accuracy to ± {within}",
            "risk": f"a risk of {promised}, promised for {share}",
        }
        _say(found, wishes)


def _read(
    file: Path, pilot: Path | None, label: str | None, named: dict[str, Any], layout: dict[str, Any]
) -> tuple[tuple[Floats, Bools | None], Floats, bool]:
    """Return the pilot, the confidence in all rows, and whether it is a calibrator's.

    Without a pilot in another file it is the rows of this one that have labels.
    """
    from auxcal.tables import read_any_confidence, read_confidence, read_own_pilot, read_scored

    if pilot is not None:
        labelled = read_scored(pilot, label or "y", **named, on_bad_rows="skip")
        rows = read_confidence(file, named["confidence"], on_bad_rows="skip")
        return (labelled.confidence, labelled.correct), rows, True
    rows, calibrated = read_any_confidence(file, named["confidence"], **layout)
    own = read_own_pilot(file, label, **named, **layout)
    if own is None and (label is not None or named["no_class"] or named["unknown_is_no_class"]):
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


def _say(found: Plan, wishes: dict[str, str]) -> None:
    say(f"{'labels':>8}{'accuracy':>12}{'Brier':>8}{'ECE':>8}{'likely':>18}")
    most = max(each.ece for each in found.outlooks)
    for each in found.outlooks:
        likely = f"{percent(each.ece_low)} to {percent(each.ece_high)}"
        bar = "█" * max(1, round(_BAR * each.ece / most))
        within = f"± {percent(each.accuracy_within)}"
        say(f"{each.n:>8,}{within:>12}{each.brier:>8.3f}{percent(each.ece):>8}{likely:>18} {bar}")
    for wish, n in found.needed.items():
        low, high = found.between[wish]
        say(f"{wishes[wish]}: {_takes(n, low, high)}")


def _takes(n: int | None, low: int | None, high: int | None) -> str:
    """Return in words how many labels a wish takes, with the range in which the number likely is.

    If the range is open above, the forecast is too often far too low to be told: it is where to look again.
    """
    if low is None:
        return "no number of labels grants it"
    if n is None or high is None:
        return (
            f"can't be told: {low:,} labels or more, or no number grants it. Label {low if n is None else n:,} and run "
            f"auxcal threshold on them"
        )
    return f"about {n:,} labels, likely {low:,} to {high:,}"
