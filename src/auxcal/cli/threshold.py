"""auxcal threshold: how far to trust a confidence."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from auxcal.cli._terminal import (
    ClassNames,
    Json,
    NoClass,
    UnknownIsNoClass,
    as_names,
    errors_named_after,
    say,
    say_json,
)
from auxcal.cli.evaluate import ConfidenceColumn, PredictionColumn, ScoredFile, ScoredLabel


def threshold(
    file: ScoredFile,
    risk: Annotated[float, typer.Option(help="The error rate allowed among accepted predictions: 0.05 for 5 %.")],
    label: ScoredLabel = "y",
    prediction: PredictionColumn = "prediction",
    confidence: ConfidenceColumn = "confidence",
    class_names: ClassNames = None,
    no_class: NoClass = None,
    unknown_is_no_class: UnknownIsNoClass = False,
    level: Annotated[float, typer.Option(help="The confidence level of the upper bound of the error.")] = 0.95,
    json: Json = False,
) -> None:
    """Find the lowest confidence that keeps the error of accepted predictions within a limit.

    Accept a prediction if its confidence is at least the threshold, and hand the others to a person. The upper bound of
    the error is that of Clopper and Pearson. The threshold is chosen on the rows of the file, which makes it look a
    little better than it is: check it on other rows.

    Examples
    --------
    auxcal threshold scored.parquet --risk 0.05
    auxcal threshold scored.csv --risk 0.01 --label truth --json
    """
    from auxcal._formatting import percent
    from auxcal.formats import read_scored
    from auxcal.metrics import threshold_at_risk

    scored = read_scored(
        file,
        label,
        prediction=prediction,
        confidence=confidence,
        class_names=as_names(class_names),
        no_class=no_class or (),
        unknown_is_no_class=unknown_is_no_class,
    )
    with errors_named_after(file):
        found = threshold_at_risk(scored.confidence, scored.correct, risk, level=level)
    if json:
        say_json(asdict(found) | {"rows": len(scored.y), "level": level})
        return
    say(f"Accept a prediction if its confidence is at least {found.threshold!r}.")
    say(
        f"That accepts {percent(found.coverage)} of the predictions ({found.accepted:,} of {len(scored.y):,}); "
        f"{percent(found.risk)} of these are wrong, at most {percent(found.risk_upper)} with "
        f"{100 * level:g} % certainty."
    )
    say("It was chosen on these rows, so check it on rows that took no part in the choice.")
