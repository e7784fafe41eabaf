"""auxcal threshold: how far to trust a confidence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

import auxcal
from auxcal._core.text import percent
from auxcal.cli._files import errors_about, load_calibrator
from auxcal.cli._options import Json, RandomState, ScoredBy, ScoredFile, ScoredTable
from auxcal.cli.evaluate import with_labels_of
from auxcal.cli.output import echo_error, echo_result, wrapped


def threshold(
    file: ScoredFile,
    *,
    risk: Annotated[
        list[float] | None,
        "The error rate allowed among accepted predictions: 0.05 for 5 %. Can be repeated; each promise holds on its "
        "own.",
    ] = None,
    coverage: Annotated[float | None, "Instead: the share to accept, for the lowest risk that can be promised."] = None,
    per_class: Annotated[bool, "A threshold for each predicted class."] = False,
    empirical: Annotated[bool, "Without a promise: the threshold that looks best on these rows."] = False,
    level: Annotated[float, "The probability of the promise, or the level of the bound."] = 0.95,
    save: Annotated[
        Path | None,
        "The file of the calibrator that scored these rows: it keeps the promise as its certificate, and what it "
        "scores from then on has a column accepted.",
    ] = None,
    table: ScoredTable,
    max_weight: Annotated[
        float | None,
        "With --weight: the largest weight that any row could have had, drawn or not. [default: the column max_weight, "
        "which auxcal pick writes]",
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
    risks = risk or []
    if (coverage is None) != bool(risks) or ((len(risks) > 1 or coverage) and (per_class or empirical)):
        raise typer.BadParameter(
            "give --risk, or --coverage instead; --per-class and --empirical go with one --risk alone."
        )
    if save is not None and (per_class or empirical or len(risks) > 1):
        raise typer.BadParameter("--save keeps one promise: give one --risk, or --coverage, alone.")
    fitted = None if save is None else load_calibrator(save)
    spec = with_labels_of(calibrator or save, table)
    scored = auxcal.tables.read_scored(file, spec=spec, sample=sample or None, random_state=random_state)
    if fitted is not None and fitted.fit_rows_ is not None and scored.share_in_fit is None and table.weight is None:
        echo_error(
            f"warning: {file}: there is no column in_fit, which auxcal score writes where rows have labels, so rows of "
            f"the fit are not recognised, and on those nothing is promised. Score the rows with their labels."
        )
    if max_weight is not None:
        scored = scored._replace(max_weight=max_weight)
    with errors_about(file):
        auxcal.inputs.warn_of_no_errors("signals" if spec.says_correct else None, scored.correct, stacklevel=1)
        found = auxcal.tables.find_thresholds(
            scored, risks, coverage=coverage, level=level, per_class=per_class, promise=not empirical
        )
    rows = len(scored.y) if scored.sample_weight is None else round(scored.sample_weight.sum())
    likely = f"{100 * level:g} %"
    if isinstance(found, dict):
        thresholds = {name: None if isinstance(each, str) else asdict(each) for name, each in found.items()}
        lacking = {name: each for name, each in found.items() if isinstance(each, str)}
        answer = {"rows": rows, "level": level, "thresholds": thresholds, "lacking": lacking}
        echo_result(answer, wrapped(_several(found, likely)), json=json)
    else:
        echo_result(asdict(found) | {"rows": rows}, wrapped(_one(found, rows, likely)), json=json)
    if save is not None and fitted is not None and not isinstance(found, dict):
        auxcal.tables.certify(fitted, found, scored)
        fitted.save(save)
        typer.echo(f"Saved with {save}.", err=True)


def _several(found: dict[str, auxcal.thresholds.Threshold | str], likely: str) -> Iterator[str]:
    width = max(map(len, found)) + 2
    for name, each in found.items():
        if isinstance(each, str):
            yield f"{name:<{width}}none: {each}"
        else:
            yield f"{name:<{width}}from {each.threshold!r} up: {percent(each.coverage)} accepted"
    if not all(isinstance(each, str) for each in found.values()):
        yield f"Each is promised on its own, with a probability of {likely}."


def _one(found: auxcal.thresholds.Threshold, rows: int, likely: str) -> Iterator[str]:
    yield f"Accept a prediction if its confidence is at least {found.threshold!r}."
    accepted, wrong, bound = map(percent, (found.coverage, found.risk, found.risk_upper))
    of_rows = f"({round(found.accepted):,} of {rows:,})"
    yield f"That accepts {accepted} of the predictions {of_rows}; {wrong} of these are wrong."
    if found.promised:
        yield (
            f"On new rows of the same kind at most {bound} will be wrong, with a probability of {likely}, if no row of "
            f"the file was in the fit."
        )
    else:
        yield (
            f"It was chosen on these rows and is no promise: a threshold fixed beforehand would have an error of at "
            f"most {bound} with {likely} certainty. Check it on other rows."
        )
