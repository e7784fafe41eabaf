"""auxcal evaluate: every metric of a confidence, with intervals."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from auxcal._core.progress import progress_bar
from auxcal.cli._evaluating import bounds, evaluated
from auxcal.cli._slices import say_slices
from auxcal.cli._terminal import (
    ClassNames,
    GroupColumn,
    Json,
    NoClass,
    Place,
    RandomState,
    UnknownIsNoClass,
    WeightColumn,
    as_names,
    as_place,
    errors_named_after,
    say,
    say_json,
)

if TYPE_CHECKING:
    from auxcal._core.arrays import Floats
    from auxcal.tables import Scored

ScoredFile = Annotated[
    Place,
    typer.Argument(
        metavar="FILE",
        parser=as_place,
        show_default=False,
        help="The output of auxcal score, or of another tool, with the true classes: a file, a folder, a quoted "
        "pattern or a URL; - for CSV from standard input.",
    ),
]
ScoredLabel = Annotated[
    str,
    typer.Option(
        "--label",
        help="The column of the true classes: names or indices, as the predictions are; -1 for none of the classes.",
    ),
]
KnownLabel = Annotated[
    str | None,
    typer.Option(
        "--label",
        show_default=False,
        help="The column of the true classes: names or indices, as the predictions are; -1 for none of the classes. "
        "[default: y, or that of --calibrator]",
    ),
]
ScoredBy = Annotated[
    Path | None,
    typer.Option(
        "--calibrator",
        show_default=False,
        help="The calibrator that scored the file: it knows the column of the true classes, their names, and what is "
        "none of them.",
    ),
]
PredictionColumn = Annotated[str, typer.Option("--prediction", help="The column of the predictions.")]
ConfidenceColumn = Annotated[str, typer.Option("--confidence", help="The column of the confidence, from 0 to 1.")]
OnBadScores = Annotated[
    Literal["fail", "skip"],
    typer.Option(
        "--on-bad-rows",
        help="How to treat rows with half a score, or a confidence that is not from 0 to 1: stop with an error, or "
        "leave them out. Rows without a score are always left out.",
    ),
]


def evaluate(
    file: ScoredFile,
    label: KnownLabel = None,
    prediction: PredictionColumn = "prediction",
    confidence: ConfidenceColumn = "confidence",
    class_names: ClassNames = None,
    no_class: NoClass = None,
    unknown_is_no_class: UnknownIsNoClass = False,
    weight: WeightColumn = None,
    group: GroupColumn = None,
    on_bad_rows: OnBadScores = "fail",
    by: Annotated[
        str | None,
        typer.Option(show_default=False, help="A column to slice by: also show every metric for each of its values."),
    ] = None,
    resamples: Annotated[
        int, typer.Option(min=0, help="The number of draws for the 95 % intervals; 0 for none.")
    ] = 200,
    unlabelled: Annotated[
        Path | None,
        typer.Option(
            show_default=False,
            help="A scored file of further rows without labels: estimates accuracy, Brier score and ECE on all rows, "
            "with tighter intervals.",
        ),
    ] = None,
    calibrator: ScoredBy = None,
    random_state: RandomState = 0,
    json: Json = False,
) -> None:
    """Show every metric of a scored file, with confidence intervals and the noise floor.

    Use rows that took no part in the fit. Even a perfectly calibrated confidence has an ECE above 0 on a finite sample.
    An ECE below this noise floor can't be told from perfect calibration. The interval of the ECE is about the true
    one, without that noise, so it can lie below the ECE. Rows without a score or a label are left out. With --by,
    slices whose ECE is within the noise floor and those of fewer than 50 rows are marked as noise.

    Up to two million rows are kept in memory. More rows are counted as they are read, so that memory does not grow, and
    the output says how far off a metric can be. With --group or --unlabelled, all rows are kept in memory.

    Examples
    --------
    auxcal evaluate scored.parquet --label y
    auxcal evaluate scored.csv --calibrator ccac-x.safetensors
    auxcal evaluate labelled.parquet --unlabelled rest.parquet
    auxcal evaluate other-tool.csv --label truth --prediction answer --confidence probability
    auxcal score ccac.safetensors test.csv | auxcal evaluate - --json
    auxcal evaluate scored.csv --group patient --by hospital
    """
    from auxcal.tables import read_confidence, read_scored, read_scored_or_tally

    label, known = labels_of(calibrator, label, class_names, no_class)
    named: dict[str, Any] = {
        "prediction": prediction,
        "confidence": confidence,
        **known,
        "unknown_is_no_class": unknown_is_no_class,
        "weight": weight,
        "group": group,
        "by": by,
        "on_bad_rows": on_bad_rows,
    }
    if unlabelled is not None:
        if by is not None or group is not None:
            raise typer.BadParameter("--unlabelled estimates all rows together: leave --by and --group out.")
        rest = read_confidence(unlabelled, confidence, on_bad_rows=on_bad_rows)
        _say_powered(read_scored(file, label, **named), rest, json=json)
        return
    found = read_scored_or_tally(file, label, **named)
    with errors_named_after(file), progress_bar("resampling") as report:
        rows, averages, scores, slices = evaluated(found, resamples, random_state, report)
    if json:
        of_slices = {} if slices is None else {"by": [each.as_dict() for each in slices]}
        say_json({"rows": rows} | averages | scores | of_slices)
        return
    say(_rows(rows, averages))
    say("")
    if resamples:
        say(f"{'':<23}95 % interval")
    for line in _table(scores):
        say(line)
    say("")
    say(_reading(scores, averages))
    if (inexact := bounds(scores)) is not None:
        say(inexact)
    if by is not None:
        say_slices(by, slices or [], _table)


def labels_of(
    calibrator: Path | None, label: str | None, class_names: str | None, no_class: list[str] | None
) -> tuple[str, dict[str, Any]]:
    """Return the column of the true classes, and their names: as given, or else as the calibrator knows them."""
    from auxcal.inputs import Inputs
    from auxcal.persistence import load

    known = Inputs() if calibrator is None else load(calibrator).inputs_
    names = as_names(class_names) or known.class_names
    return label or known.label_name or "y", {"class_names": names, "no_class": no_class or known.no_class or ()}


def _say_powered(scored: Scored, rest: Floats, *, json: bool) -> None:
    """Show what labelled and unlabelled rows say together."""
    from auxcal._core.text import write_score
    from auxcal.labelling import estimate
    from auxcal.metrics import METRICS

    found = estimate(scored.confidence, scored.correct, rest, sample_weight=scored.sample_weight)
    if json:
        say_json(
            {"rows": len(scored.y), "unlabelled": len(rest)} | {name: each._asdict() for name, each in found.items()}
        )
        return
    say(f"{len(scored.y):,} labelled and {len(rest):,} unlabelled rows.")
    say("")
    say(f"{'':<23}95 % interval")
    for name, each in found.items():
        value, low, high = (write_score(name, number) for number in each)
        label = METRICS[name].label if name in METRICS else name
        say(f"{label:<12}{value:>8}   {low} to {high}")


def _rows(rows: int, averages: dict[str, float]) -> str:
    from auxcal._core.text import percent

    return (
        f"{rows:,} rows: the classifier has {percent(averages['accuracy'])} right, the confidence says "
        f"{percent(averages['confidence'])}."
    )


def _table(scores: dict[str, float]) -> list[str]:
    from auxcal._core.text import write_score
    from auxcal.metrics import METRICS

    lines = []
    for name, metric in METRICS.items():
        ends = [scores.get(f"{name}_{end}", math.nan) for end in ("low", "high")]
        beside = "" if math.isnan(sum(ends)) else " to ".join(write_score(name, end) for end in ends)
        noise = f", noise up to {write_score(name, scores['ece_floor_p95'])}" if name == "ece" else ""
        better = "higher" if metric.higher_is_better else "lower"
        lines.append(f"{metric.label:<12}{write_score(name, scores[name]):>8}   {beside:<20}{better} is better{noise}")
    return lines


def _reading(scores: dict[str, float], averages: dict[str, float]) -> str:
    from auxcal._core.text import percent

    error, noise = percent(scores["ece"]), percent(scores["ece_floor_p95"])
    if scores["ece"] <= scores["ece_floor_p95"]:
        return f"ECE {error} is within the noise of {noise}: perfect calibration is possible, not proven."
    way = "high" if averages["confidence"] > averages["accuracy"] else "low"
    return f"ECE {error} is above the noise of {noise}: the confidence is off, and on average too {way}."
