"""auxcal threshold: how far to trust a confidence."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from auxcal.cli._terminal import (
    ClassNames,
    GroupColumn,
    Json,
    NoClass,
    RandomState,
    UnknownIsNoClass,
    WeightColumn,
    errors_named_after,
    say,
    say_json,
)
from auxcal.cli.evaluate import (
    ConfidenceColumn,
    KnownLabel,
    OnBadScores,
    PredictionColumn,
    ScoredBy,
    ScoredFile,
    labels_of,
)

if TYPE_CHECKING:
    from auxcal._core.arrays import Ints
    from auxcal.calibrators import Calibrator
    from auxcal.metrics import Threshold
    from auxcal.tables import Scored


def threshold(
    file: ScoredFile,
    risk: Annotated[
        list[float] | None,
        typer.Option(
            show_default=False,
            help="The error rate allowed among accepted predictions: 0.05 for 5 %. Can be repeated; each promise holds "
            "on its own.",
        ),
    ] = None,
    coverage: Annotated[
        float | None,
        typer.Option(
            show_default=False, help="Instead: the share to accept, for the lowest risk that can be promised."
        ),
    ] = None,
    per_class: Annotated[bool, typer.Option("--per-class", help="A threshold for each predicted class.")] = False,
    empirical: Annotated[
        bool, typer.Option("--empirical", help="Without a promise: the threshold that looks best on these rows.")
    ] = False,
    level: Annotated[float, typer.Option(help="The probability of the promise, or the level of the bound.")] = 0.95,
    save: Annotated[
        Path | None,
        typer.Option(
            show_default=False,
            help="The file of the calibrator that scored these rows: it keeps the promise as its certificate, and what "
            "it scores from then on has a column accepted.",
        ),
    ] = None,
    label: KnownLabel = None,
    prediction: PredictionColumn = "prediction",
    confidence: ConfidenceColumn = "confidence",
    class_names: ClassNames = None,
    no_class: NoClass = None,
    unknown_is_no_class: UnknownIsNoClass = False,
    weight: WeightColumn = None,
    max_weight: Annotated[
        float | None,
        typer.Option(
            show_default=False,
            help="With --weight: the largest weight that any row could have had, drawn or not. [default: the column "
            "max_weight, which auxcal pick writes]",
        ),
    ] = None,
    group: GroupColumn = None,
    on_bad_rows: OnBadScores = "fail",
    sample: Annotated[
        int,
        typer.Option(
            min=0,
            help="The most rows to use. If there are more, a sample is drawn; the promise still holds. 0 for all.",
        ),
    ] = 1_000_000,
    calibrator: ScoredBy = None,
    random_state: RandomState = 0,
    json: Json = False,
) -> None:
    """Find the lowest confidence that is promised to keep the error of accepted predictions within a limit.

    Accept a prediction if its confidence is at least the threshold, and hand the others to a person. On new rows of the
    same kind the error among the accepted is then at most the risk, with a probability of 95 % over the draw of the
    labelled rows. These must be an even draw, or rows of auxcal pick with their --weight, and the calibrator must not
    have been fitted on them: rows that auxcal score marked as in_fit are refused. Rows that belong together, such as
    those of a patient, are one draw: name what they belong to with --group. A sample of none of the classes counts as
    an error. Of more rows than --sample a random sample is drawn, in one pass. If no threshold can be promised, the
    command says how many rows it would take.

    Examples
    --------
    auxcal threshold scored.parquet --risk 0.05
    auxcal threshold scored.parquet --risk 0.01 --risk 0.05 --risk 0.1
    auxcal threshold scored.parquet --coverage 0.8
    auxcal threshold scored.parquet --risk 0.05 --save ccac-x.safetensors
    auxcal threshold scored.csv --risk 0.01 --per-class --label truth --json
    """
    from auxcal._core.arrays import check_total
    from auxcal.persistence import load
    from auxcal.tables import read_scored

    if (coverage is None) != bool(risk) or ((len(risk or ()) > 1 or coverage) and (per_class or empirical)):
        raise typer.BadParameter(
            "give --risk, or --coverage instead; --per-class and --empirical go with one --risk alone."
        )
    if save is not None and (per_class or empirical or len(risk or ()) > 1):
        raise typer.BadParameter("--save keeps one promise: give one --risk, or --coverage, alone.")
    keeper = None if save is None else load(save)
    label, known = labels_of(calibrator or save, label, class_names, no_class)
    scored = read_scored(
        file,
        label,
        prediction=prediction,
        confidence=confidence,
        **known,
        unknown_is_no_class=unknown_is_no_class,
        weight=weight,
        group=group,
        on_bad_rows=on_bad_rows,
        sample=sample or None,
        random_state=random_state,
    )
    if max_weight is not None:
        scored = scored._replace(max_weight=max_weight)
    with errors_named_after(file):
        if not empirical:
            scored.check_apart_from_fit()
        if scored.sample_weight is not None:
            check_total(scored.sample_weight)
        found = _found(scored, risk or [], coverage, level, per_class=per_class, empirical=empirical)
    counted = len(scored.y) if scored.sample_weight is None else round(scored.sample_weight.sum())
    if json:
        _say_json(found, counted, level)
    else:
        _say(found, counted, level)
    alone = found.get("")
    if save is not None and keeper is not None and not isinstance(alone, str | None):
        _certify(save, keeper, alone, scored)


def _found(
    scored: Scored, risks: list[float], coverage: float | None, level: float, *, per_class: bool, empirical: bool
) -> dict[str, Threshold | str]:
    """Return the thresholds, or why there is none, by what each is for; the only one has nothing to be told from."""
    from auxcal import metrics

    rows = scored.confidence, scored.correct
    how: Any = {"level": level} | {name: getattr(scored, name) for name in ("sample_weight", "max_weight", "groups")}
    if coverage is not None:
        return {"": metrics.risk_at_coverage(*rows, coverage, **how)}
    if per_class:
        names = scored.class_names
        of_class = metrics.thresholds_by_class(*rows, scored.prediction, risks[0], **how)
        return {
            names[label] if names else f"class {label}": found or _why_not(scored, risks[0], level, label)
            for label, found in of_class.items()
        }
    if len(risks) == 1:
        return {"": metrics.threshold_at_risk(*rows, risks[0], promise=not empirical, **how)}
    of_risk = metrics.thresholds_at_risks(*rows, risks, **how)
    return {f"risk {risk:g}": found or _why_not(scored, risk, level) for risk, found in of_risk.items()}


def _why_not(scored: Scored, risk: float, level: float, label: int | None = None) -> str:
    """Return why no threshold can be promised, for all rows or those of one predicted class."""
    from auxcal.metrics import why_no_promise

    mine = slice(None) if label is None else scored.prediction == label
    weight, groups = (None if each is None else each[mine] for each in (scored.sample_weight, scored.groups))
    how: Any = {"level": level, "sample_weight": weight, "groups": groups}
    why = why_no_promise(scored.confidence[mine], scored.correct[mine], risk, **how)
    return why if label is None else f"labelled rows: {len(scored.correct[mine]):,}; {why}"


def _certify(path: Path, fitted: Calibrator, found: Threshold, scored: Scored) -> None:
    """Keep the promise with its calibrator."""
    from auxcal.calibrators import Certificate
    from auxcal.thresholds.certificate import FoundOn

    of_rows = scored.sample_weight, scored.groups
    found_on = FoundOn.of(scored.confidence, _classes(scored, fitted), fitted.n_features_in_, *of_rows)
    fitted.certificate_ = Certificate.of(found, n_rows=len(scored.y), found_on=found_on)
    fitted.save(path)
    typer.echo(f"Saved with {path}.", err=True)


def _classes(scored: Scored, fitted: Calibrator) -> Ints | None:
    """Return the predictions as indices of the calibrator's classes; None where they are others."""
    import numpy as np

    found = scored.prediction
    if scored.class_names is not None:
        place = {name: index for index, name in enumerate(fitted.inputs_.class_names or ())}
        found = np.array([place.get(name, -1) for name in scored.class_names])[found]
    return found if found.min() >= 0 and found.max() < fitted.n_features_in_ else None


def _say_json(found: dict[str, Threshold | str], rows: int, level: float) -> None:
    alone = found.get("")
    if isinstance(alone, str | None):
        thresholds = {name: None if isinstance(each, str) else asdict(each) for name, each in found.items()}
        lacking = {name: each for name, each in found.items() if isinstance(each, str)}
        say_json({"rows": rows, "level": level, "thresholds": thresholds, "lacking": lacking})
    else:
        say_json(asdict(alone) | {"rows": rows})


def _say(found: dict[str, Threshold | str], rows: int, level: float) -> None:
    from auxcal._core.text import percent

    alone = found.get("")
    if isinstance(alone, str | None):
        width = max(map(len, found)) + 2
        for name, each in found.items():
            if isinstance(each, str):
                say(f"{name:<{width}}none: {each}")
            else:
                say(f"{name:<{width}}from {each.threshold!r} up: {percent(each.coverage)} accepted")
        if not all(isinstance(each, str) for each in found.values()):
            say(f"Each is promised on its own, with a probability of {100 * level:g} %.")
        return
    say(f"Accept a prediction if its confidence is at least {alone.threshold!r}.")
    say(
        f"That accepts {percent(alone.coverage)} of the predictions ({round(alone.accepted):,} of {rows:,}); "
        f"{percent(alone.risk)} of these are wrong."
    )
    if alone.promised:
        say(
            f"On new rows of the same kind at most {percent(alone.risk_upper)} will be wrong, with a probability of "
            f"{100 * level:g} %, if no row of the file was in the fit."
        )
    else:
        say(
            f"It was chosen on these rows and is no promise: a threshold fixed beforehand would have an error of at "
            f"most {percent(alone.risk_upper)} with {100 * level:g} % certainty. Check it on other rows."
        )
