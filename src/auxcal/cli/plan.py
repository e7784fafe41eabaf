"""auxcal plan: how many samples to label."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from auxcal.cli._terminal import Json, NoClass, UnknownIsNoClass, say, say_json
from auxcal.cli.evaluate import ConfidenceColumn, PredictionColumn, ScoredLabel

if TYPE_CHECKING:
    from auxcal.labelling import Plan

_BAR = 24  # characters of the largest ECE
_PICTURES = (".png", ".svg", ".pdf")


def plan(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", show_default=False, help="Rows without labels: scored, or logits alone."),
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
    coverage: Annotated[float, typer.Option(help="The share of predictions that the threshold should accept.")] = 0.5,
    plot: Annotated[
        Path | None, typer.Option(show_default=False, help="Where to draw the curves: a .png, .svg or .pdf file.")
    ] = None,
    label: ScoredLabel = "y",
    prediction: PredictionColumn = "prediction",
    confidence: ConfidenceColumn = "confidence",
    no_class: NoClass = None,
    unknown_is_no_class: UnknownIsNoClass = False,
    json: Json = False,
) -> None:
    """Forecast what more labels would gain, and how many labels a goal takes.

    The unlabelled rows show how uncertain the predictions are; a pilot of labelled rows shows whether the confidence
    can be trusted. The accuracy is forecast well. The ECE of a fit varies from sample to sample: expect half to twice
    the forecast.

    Examples
    --------
    auxcal plan rest.parquet --accuracy-within 0.01
    auxcal plan rest.parquet --pilot labelled.parquet --risk 0.05 --coverage 0.6 --plot plan.png
    """
    from auxcal.formats import read_any_confidence, read_confidence, read_scored
    from auxcal.labelling import plan as make_plan

    planned = partial(make_plan, ece=ece, accuracy_within=accuracy_within, risk=risk, coverage=coverage)
    if pilot is None:
        found = planned(read_any_confidence(file, confidence))
    else:
        labelled = read_scored(
            pilot,
            label,
            prediction=prediction,
            confidence=confidence,
            no_class=no_class or (),
            unknown_is_no_class=unknown_is_no_class,
        )
        found = planned(labelled.confidence, labelled.correct, read_confidence(file, confidence))
    if plot is not None:
        _draw(found, plot, file.stem)
    if json:
        say_json(asdict(found))
    else:
        _say(found)


def _draw(found: Plan, path: Path, name: str) -> None:
    from auxcal._files import written_whole
    from auxcal.plots import PlanDisplay

    if path.suffix not in _PICTURES:
        raise typer.BadParameter(f"--plot writes {', '.join(_PICTURES)}; got {path.name!r}.")
    figure = PlanDisplay.from_plan(found).plot(title=name).figure_
    with written_whole(path) as temporary:
        figure.savefig(temporary, format=path.suffix[1:])


def _say(found: Plan) -> None:
    from auxcal._formatting import percent

    say(f"{'labels':>8}{'accuracy':>12}{'Brier':>8}{'ECE':>8}")
    most = max(each.ece for each in found.outlooks)
    for each in found.outlooks:
        bar = "█" * round(_BAR * each.ece / most)
        say(f"{each.n:>8,}{'± ' + percent(each.accuracy_within):>12}{each.brier:>8.3f}{percent(each.ece):>8} {bar}")
    for wish, n in found.needed.items():
        takes = "no number of labels grants it" if n is None else f"about {n:,} labels"
        say(f"{wish.replace('_', ' ')}: {takes}")
