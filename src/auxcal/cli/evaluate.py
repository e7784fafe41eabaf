"""auxcal evaluate: every metric of a confidence, with intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

import auxcal
from auxcal._core.progress import progress_bar
from auxcal._core.text import percent, write_score
from auxcal.cli._files import errors_about, load_calibrator
from auxcal.cli._options import Json, RandomState, ScoredBy, ScoredFile, ScoredTable, TableSpec
from auxcal.cli.output import console, echo, echo_json, echo_result, slice_note, slice_table, wrapped

_NAMES = {
    "auroc": "Area under the ROC curve, AUROC",
    "aupr": "Area under precision-recall, AUPR",
    "p90": "Precision at 90 % recall, p.9",
    "ece": "Expected calibration error, ECE",
    "brier": "Brier score",
    "ece_mass": "Bins of equal mass, ECE (mass)",
    "mce": "Maximum calibration error, MCE",
    "nll": "Negative log-likelihood, NLL",
    "fpr95": "False positives at 95 % TPR, FPR95",
    "aurc": "Area under risk-coverage, AURC",
    "excess_aurc": "AURC above the best, E-AURC",
}
_FIRST = ("auroc", "aurc", "ece", "brier")  # two of telling right from wrong, one of honesty, and one of both

_MOST_SLICES = 12  # whose metrics are all printed; a screen or three. The others are in the JSON


def evaluate(
    file: ScoredFile,
    *,
    table: ScoredTable,
    by: Annotated[str | None, "A column to slice by: also show every metric for each of its values."] = None,
    all_: Annotated[bool, "Show every metric; without it, four. JSON has all of them."] = False,
    resamples: Annotated[
        int, typer.Option(min=0, help="The number of draws for the 95 % intervals; 0 for none.")
    ] = 200,
    unlabelled: Annotated[
        Path | None,
        "A scored file of further rows without labels: estimates accuracy, Brier score and ECE on all rows, with "
        "tighter intervals.",
    ] = None,
    calibrator: ScoredBy = None,
    random_state: RandomState = 0,
    json: Json = False,
) -> None:
    """Show the metrics of a scored file, with confidence intervals and the noise floor.

    Use rows that took no part in the fit. Even a perfectly calibrated confidence has an ECE above 0 on a finite sample.
    An ECE below this noise floor can't be told from perfect calibration. The interval of the ECE is about the true
    one, without that noise, so it can lie below the ECE. Rows without a score or a label are left out. With --by,
    slices whose ECE is within the noise floor and those of fewer than 50 rows are marked as noise.

    A billion rows take some 6 GB of memory.

    Examples
    --------
    auxcal evaluate scored.parquet --label y
    auxcal evaluate scored.parquet --label y --all
    auxcal evaluate scored.csv --calibrator ccac-x.safetensors
    auxcal evaluate labelled.parquet --unlabelled rest.parquet
    auxcal evaluate other-tool.csv --label truth --prediction answer --confidence probability
    auxcal score ccac.safetensors test.csv | auxcal evaluate - --json
    auxcal evaluate scored.csv --group patient --by hospital
    """
    table = with_labels_of(calibrator, table)
    if unlabelled is not None:
        if by is not None or table.group is not None:
            raise typer.BadParameter("--unlabelled estimates all rows together: leave --by and --group out.")
        _evaluate_with_unlabelled(file, unlabelled, table, json=json)
        return
    scored = auxcal.tables.read_scored(file, by=by, spec=table)
    with errors_about(file), progress_bar("resampling") as report:
        found = auxcal.tables.evaluate_scored(scored, bootstrap=resamples, random_state=random_state, report=report)
    if json:
        head = {"rows": found.rows, "accuracy": found.accuracy, "confidence": found.confidence}
        slices = {} if found.slices is None else {"by": [each.as_dict() for each in found.slices]}
        echo_json(head | found.scores | slices)
        return
    shown = tuple(auxcal.METRICS) if all_ else _FIRST
    _print(found, shown, intervals=resamples > 0)
    if by is not None:
        _print_slices(by, found.slices or [], shown)


def with_labels_of(calibrator: Path | None, table: TableSpec) -> TableSpec:
    """Return where things are in a scored table; what is not given, the calibrator that scored it knows."""
    if calibrator is None:
        return table
    inputs = load_calibrator(calibrator).inputs_
    return replace(
        table,
        label=table.label or inputs.label_name,
        correct=table.correct or (inputs.label_name if inputs.kind == "signals" else None),
        class_names=table.class_names or inputs.class_names,
        no_class=table.no_class or inputs.no_class or (),
    )


def _print(found: auxcal.tables.Evaluation, shown: Sequence[str], *, intervals: bool) -> None:
    echo(f"{found.rows:,} rows: accuracy {percent(found.accuracy)}, mean confidence {percent(found.confidence)}.")
    echo("")
    if intervals:
        echo(f"{'':<46}95 % interval")
    _print_scores(found.scores, shown)
    if len(shown) < len(auxcal.METRICS):
        echo(f"{len(auxcal.METRICS) - len(shown)} more: --all.")
    echo("")
    error, noise = found.scores["ece"], found.scores["ece_floor_p95"]
    if error <= noise:
        relation, reading = "within", "perfect calibration is possible, not proven"
    else:
        way = "high" if found.confidence > found.accuracy else "low"
        relation, reading = "above", f"the confidence is off, and on average too {way}"
    for line in wrapped([f"ECE {percent(error)} is {relation} the noise of {percent(noise)}: {reading}."]):
        echo(line)


def _print_scores(scores: dict[str, float], shown: Sequence[str]) -> None:
    for name in shown:
        ends = [scores.get(f"{name}_{end}", math.nan) for end in ("low", "high")]
        interval = "" if math.isnan(sum(ends)) else " to ".join(write_score(name, end) for end in ends)
        metric = auxcal.METRICS[name]
        better = "higher" if metric.higher_is_better else "lower"
        label = _NAMES.get(name, metric.label)
        echo(f"{label:<35}{write_score(name, scores[name]):>8}   {interval:<18}{better} is better")


def _print_slices(by: str, slices: Sequence[auxcal.metrics.Slice], shown: Sequence[str]) -> None:
    """Print a table of the slices, then the metrics of the largest ones."""
    echo("")
    console().print(slice_table(by, slices))
    echo(slice_note(slices))
    for each in slices[:_MOST_SLICES]:
        echo(f"\n{by} = {each.value}, {each.rows:,} rows")
        _print_scores(each.scores, shown)
    if len(slices) > _MOST_SLICES:
        echo(f"\nAll metrics of the other {len(slices) - _MOST_SLICES} slices: --json.")


def _evaluate_with_unlabelled(file: Path | str, unlabelled: Path, table: TableSpec, *, json: bool) -> None:
    """Print what labelled and unlabelled rows say together."""
    rest = auxcal.tables.read_confidence(unlabelled, confidence=table.confidence, on_bad_rows=table.on_bad_rows)
    scored = auxcal.tables.read_scored(file, spec=table)
    found = auxcal.labelling.estimate(scored.confidence, scored.correct, rest, sample_weight=scored.sample_weight)
    lines = [f"{len(scored.y):,} labelled and {len(rest):,} unlabelled rows.", "", f"{'':<23}95 % interval"]
    for name, each in found.items():
        value, low, high = (write_score(name, number) for number in each)
        label = auxcal.METRICS[name].label if name in auxcal.METRICS else name
        lines += [f"{label:<12}{value:>8}   {low} to {high}"]
    rows = {"rows": len(scored.y), "unlabelled": len(rest)}
    echo_result(rows | {name: each._asdict() for name, each in found.items()}, lines, json=json)
