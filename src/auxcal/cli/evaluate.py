"""auxcal evaluate: every metric of a confidence, with intervals."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from auxcal._progress import progress_bar
from auxcal.cli._terminal import Json, Label, RandomState, say, say_json

if TYPE_CHECKING:
    from auxcal.formats import Scored

BINNED = ("ece", "ece_mass", "mce")
"""The metrics without an interval: resampling adds noise to every bin, so their bootstrap is biased upward."""

ScoredFile = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        show_default=False,
        help="The output of auxcal score, with the true classes; - for CSV from standard input.",
    ),
]


def evaluate(
    file: ScoredFile,
    label: Label = "y",
    resamples: Annotated[
        int, typer.Option(min=0, help="The number of bootstrap resamples for the 95 % intervals; 0 for none.")
    ] = 200,
    random_state: RandomState = 0,
    json: Json = False,
) -> None:
    """Show every metric of a scored file, with confidence intervals and the noise floor.

    Use rows that took no part in the fit. Even a perfectly calibrated confidence has an ECE above 0 on a finite sample.
    An ECE below this noise floor can't be told from perfect calibration. The floor is shown next to the ECE, in place
    of an interval.

    Examples
    --------
    auxcal evaluate scored.parquet --label y
    auxcal score ccac.safetensors test.csv | auxcal evaluate - --json
    """
    from auxcal.formats import read_scored
    from auxcal.metrics import evaluate as evaluate_metrics

    scored = read_scored(file, label)
    with progress_bar("resampling") as report:
        scores = evaluate_metrics(
            scored.confidence, scored.correct, bootstrap=resamples, random_state=random_state, report=report
        )
    if json:
        averages = {"accuracy": float(scored.correct.mean()), "confidence": float(scored.confidence.mean())}
        say_json({"rows": len(scored.y)} | averages | scores)
        return
    say(_rows(scored))
    say("")
    if resamples:
        say(f"{'':<23}95 % interval")
    for line in _table(scores):
        say(line)
    say("")
    say(_reading(scores, scored))


def _rows(scored: Scored) -> str:
    from auxcal._formatting import percent

    return (
        f"{len(scored.y):,} rows: the classifier has {percent(scored.correct.mean())} right, the confidence says "
        f"{percent(scored.confidence.mean())}."
    )


def _table(scores: dict[str, float]) -> list[str]:
    from auxcal._formatting import write_score
    from auxcal.metrics import METRICS

    lines = []
    for name, metric in METRICS.items():
        beside = ""
        if name == "ece":
            beside = f"noise up to {write_score(name, scores['ece_floor_p95'])}"
        elif f"{name}_low" in scores and name not in BINNED:
            beside = " to ".join(write_score(name, scores[f"{name}_{end}"]) for end in ("low", "high"))
        better = "higher" if metric.higher_is_better else "lower"
        lines.append(f"{metric.label:<12}{write_score(name, scores[name]):>8}   {beside:<20}{better} is better")
    return lines


def _reading(scores: dict[str, float], scored: Scored) -> str:
    from auxcal._formatting import percent

    error, noise = percent(scores["ece"]), percent(scores["ece_floor_p95"])
    if scores["ece"] <= scores["ece_floor_p95"]:
        return f"ECE {error} is within the noise of {noise}: it can't be told from perfect calibration."
    way = "high" if scored.confidence.mean() > scored.correct.mean() else "low"
    return f"ECE {error} is above the noise of {noise}: the confidence is off, and on average too {way}."
