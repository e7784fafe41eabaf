"""auxcal evaluate: how good a confidence is, with how sure that is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from auxcal.cli._terminal import Json, Label, RandomState, progress, say, say_json

if TYPE_CHECKING:
    from auxcal.formats import Scored

ScoredFile = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        show_default=False,
        help="What auxcal score wrote, with the true classes in it; - for CSV from standard input.",
    ),
]


def evaluate(
    file: ScoredFile,
    label: Label = "y",
    resamples: Annotated[
        int, typer.Option(min=0, help="How many resamples of the rows the 95 % intervals come from; 0 for none.")
    ] = 200,
    random_state: RandomState = 0,
    json: Json = False,
) -> None:
    """Show every metric of a scored file, with its interval and the noise floor.

    Use rows that took no part in the fit. An ECE is never 0 on a finite sample: below the noise floor it can't be told
    from that of a perfectly calibrated confidence.

    Examples
    --------
    auxcal evaluate scored.parquet --label y
    auxcal score ccac.safetensors test.csv | auxcal evaluate - --json
    """
    from auxcal.formats import read_scored
    from auxcal.metrics import evaluate as evaluate_metrics

    scored = read_scored(file, label)
    with progress("resampling"):
        scores = evaluate_metrics(scored.confidence, scored.correct, bootstrap=resamples, random_state=random_state)
    if json:
        averages = {"accuracy": float(scored.correct.mean()), "confidence": float(scored.confidence.mean())}
        say_json({"rows": len(scored.y)} | averages | scores)
        return
    say(_rows(scored))
    say("")
    for line in _table(scores):
        say(line)
    say("")
    say(_reading(scores, scored))


def _rows(scored: Scored) -> str:
    return (
        f"{len(scored.y):,} rows: the classifier has {scored.correct.mean():.1%} right, the confidence says "
        f"{scored.confidence.mean():.1%}."
    )


def _table(scores: dict[str, float]) -> list[str]:
    from auxcal.metrics import METRICS
    from auxcal.reports._format import write_score

    lines = []
    for name, metric in METRICS.items():
        interval = ""
        if f"{name}_low" in scores:
            low, high = (write_score(name, scores[f"{name}_{end}"]) for end in ("low", "high"))
            interval = f"{low} to {high}"
        better = "higher" if metric.higher_is_better else "lower"
        lines.append(f"{metric.label:<12}{write_score(name, scores[name]):>8}   {interval:<18}{better} is better")
    return lines


def _reading(scores: dict[str, float], scored: Scored) -> str:
    from auxcal.reports._format import write_score

    error, noise = (write_score("ece", scores[name]) for name in ("ece", "ece_floor_p95"))
    if scores["ece"] <= scores["ece_floor_p95"]:
        return f"ECE {error} is within the noise of {noise}: it can't be told from perfect calibration."
    way = "too confident" if scored.confidence.mean() > scored.correct.mean() else "not confident enough"
    return f"ECE {error} is above the noise of {noise}: confidence and accuracy differ, and on average it is {way}."
