"""auxcal threshold: how far to trust a confidence."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from auxcal.cli._files import errors_about, load_calibrator
from auxcal.cli._options import Json, RandomState, ScoredBy, ScoredFile, scored_table
from auxcal.cli.evaluate import with_labels_of
from auxcal.cli.output import echo, echo_json

if TYPE_CHECKING:
    from auxcal._core.arrays import Ints
    from auxcal.calibrators import Calibrator
    from auxcal.metrics import Threshold
    from auxcal.tables import Scored, TableSpec


@scored_table
def threshold(
    file: ScoredFile,
    *,
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
    table: TableSpec,
    max_weight: Annotated[
        float | None,
        typer.Option(
            show_default=False,
            help="With --weight: the largest weight that any row could have had, drawn or not. [default: the column "
            "max_weight, which auxcal pick writes]",
        ),
    ] = None,
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
    from auxcal.tables import read_scored

    risks = risk or []
    if (coverage is None) != bool(risks) or ((len(risks) > 1 or coverage) and (per_class or empirical)):
        raise typer.BadParameter(
            "give --risk, or --coverage instead; --per-class and --empirical go with one --risk alone."
        )
    if save is not None and (per_class or empirical or len(risks) > 1):
        raise typer.BadParameter("--save keeps one promise: give one --risk, or --coverage, alone.")
    fitted = None if save is None else load_calibrator(save)
    spec = with_labels_of(calibrator or save, table)
    scored = read_scored(file, spec=spec, sample=sample or None, random_state=random_state)
    if max_weight is not None:
        scored = scored._replace(max_weight=max_weight)
    with errors_about(file):
        if not empirical:
            scored.check_apart_from_fit()
        if scored.sample_weight is not None:
            check_total(scored.sample_weight)
        found = _find(scored, risks, coverage, level, per_class=per_class, empirical=empirical)
    rows = len(scored.y) if scored.sample_weight is None else round(scored.sample_weight.sum())
    if isinstance(found, dict):
        _print_several(found, rows, level, json=json)
    elif json:
        echo_json(asdict(found) | {"rows": rows})
    else:
        _print_one(found, rows, level)
    if save is not None and fitted is not None and not isinstance(found, dict):
        _certify(fitted, found, scored)
        fitted.save(save)
        typer.echo(f"Saved with {save}.", err=True)


def _find(
    scored: Scored, risks: list[float], coverage: float | None, level: float, *, per_class: bool, empirical: bool
) -> Threshold | dict[str, Threshold | str]:
    """Return the one threshold, or one for each class or risk; where none can be promised, the reason."""
    from auxcal import thresholds

    rows = scored.confidence, scored.correct
    draw: Any = {"level": level} | {name: getattr(scored, name) for name in ("sample_weight", "max_weight", "groups")}
    if coverage is not None:
        return thresholds.risk_at_coverage(*rows, coverage, **draw)
    if per_class:
        names = scored.class_names
        by_class = thresholds.thresholds_by_class(*rows, scored.prediction, risks[0], **draw)
        return {
            names[label] if names else f"class {label}": found or _why_not(scored, risks[0], level, label)
            for label, found in by_class.items()
        }
    if len(risks) > 1:
        by_risk = thresholds.thresholds_at_risks(*rows, risks, **draw)
        return {f"risk {risk:g}": found or _why_not(scored, risk, level) for risk, found in by_risk.items()}
    return thresholds.threshold_at_risk(*rows, risks[0], promise=not empirical, **draw)


def _why_not(scored: Scored, risk: float, level: float, label: int | None = None) -> str:
    """Return why no threshold can be promised, for all rows or those of one predicted class."""
    from auxcal.thresholds import why_no_promise

    rows = slice(None) if label is None else scored.prediction == label
    weight, groups = (None if each is None else each[rows] for each in (scored.sample_weight, scored.groups))
    correct = scored.correct[rows]
    why = why_no_promise(scored.confidence[rows], correct, risk, level=level, sample_weight=weight, groups=groups)
    return why if label is None else f"labelled rows: {len(correct):,}; {why}"


def _print_several(found: dict[str, Threshold | str], rows: int, level: float, *, json: bool) -> None:
    from auxcal._core.text import percent

    lacking = {name: each for name, each in found.items() if isinstance(each, str)}
    if json:
        thresholds = {name: None if isinstance(each, str) else asdict(each) for name, each in found.items()}
        echo_json({"rows": rows, "level": level, "thresholds": thresholds, "lacking": lacking})
        return
    width = max(map(len, found)) + 2
    for name, each in found.items():
        if isinstance(each, str):
            echo(f"{name:<{width}}none: {each}")
        else:
            echo(f"{name:<{width}}from {each.threshold!r} up: {percent(each.coverage)} accepted")
    if len(lacking) < len(found):
        echo(f"Each is promised on its own, with a probability of {100 * level:g} %.")


def _print_one(found: Threshold, rows: int, level: float) -> None:
    from auxcal._core.text import percent

    echo(f"Accept a prediction if its confidence is at least {found.threshold!r}.")
    echo(
        f"That accepts {percent(found.coverage)} of the predictions ({round(found.accepted):,} of {rows:,}); "
        f"{percent(found.risk)} of these are wrong."
    )
    if found.promised:
        echo(
            f"On new rows of the same kind at most {percent(found.risk_upper)} will be wrong, with a probability of "
            f"{100 * level:g} %, if no row of the file was in the fit."
        )
    else:
        echo(
            f"It was chosen on these rows and is no promise: a threshold fixed beforehand would have an error of at "
            f"most {percent(found.risk_upper)} with {100 * level:g} % certainty. Check it on other rows."
        )


def _certify(fitted: Calibrator, found: Threshold, scored: Scored) -> None:
    """Keep the promise with its calibrator."""
    from auxcal.calibrators import Certificate
    from auxcal.thresholds.certificate import FoundOn

    prediction = _indices(scored, fitted)
    weights = scored.sample_weight, scored.groups
    found_on = FoundOn.of(scored.confidence, prediction, fitted.n_features_in_, *weights)
    fitted.certificate_ = Certificate.of(found, n_rows=len(scored.y), found_on=found_on)


def _indices(scored: Scored, fitted: Calibrator) -> Ints | None:
    """Return the predictions as indices of the calibrator's classes; None if one is none of them."""
    import numpy as np

    prediction = scored.prediction
    if scored.class_names is not None:
        index_of = {name: index for index, name in enumerate(fitted.inputs_.class_names or ())}
        prediction = np.array([index_of.get(name, -1) for name in scored.class_names])[prediction]
    return prediction if prediction.min() >= 0 and prediction.max() < fitted.n_features_in_ else None
