"""auxcal threshold: how far to trust a confidence."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from auxcal.cli._files import errors_about, load_calibrator
from auxcal.cli._options import Json, RandomState, ScoredBy, ScoredFile, scored_table
from auxcal.cli.evaluate import with_labels_of
from auxcal.cli.output import echo, echo_json

if TYPE_CHECKING:
    from auxcal.tables import TableSpec
    from auxcal.thresholds import Threshold


@scored_table
def threshold(
    file: ScoredFile,
    *,
    risk: Annotated[
        list[float] | None,
        typer.Option(
            help="The error rate allowed among accepted predictions: 0.05 for 5 %. Can be repeated; each promise holds "
            "on its own."
        ),
    ] = None,
    coverage: Annotated[
        float | None, typer.Option(help="Instead: the share to accept, for the lowest risk that can be promised.")
    ] = None,
    per_class: Annotated[bool, typer.Option("--per-class", help="A threshold for each predicted class.")] = False,
    empirical: Annotated[
        bool, typer.Option("--empirical", help="Without a promise: the threshold that looks best on these rows.")
    ] = False,
    level: Annotated[float, typer.Option(help="The probability of the promise, or the level of the bound.")] = 0.95,
    save: Annotated[
        Path | None,
        typer.Option(
            help="The file of the calibrator that scored these rows: it keeps the promise as its certificate, and what "
            "it scores from then on has a column accepted."
        ),
    ] = None,
    table: TableSpec,
    max_weight: Annotated[
        float | None,
        typer.Option(
            help="With --weight: the largest weight that any row could have had, drawn or not. [default: the column "
            "max_weight, which auxcal pick writes]"
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
    from auxcal.tables import certify, find_thresholds, read_scored

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
        found = find_thresholds(
            scored, risks, coverage=coverage, level=level, per_class=per_class, promise=not empirical
        )
    rows = len(scored.y) if scored.sample_weight is None else round(scored.sample_weight.sum())
    if isinstance(found, dict):
        _print_several(found, rows, level, json=json)
    elif json:
        echo_json(asdict(found) | {"rows": rows})
    else:
        _print_one(found, rows, level)
    if save is not None and fitted is not None and not isinstance(found, dict):
        certify(fitted, found, scored)
        fitted.save(save)
        typer.echo(f"Saved with {save}.", err=True)


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
