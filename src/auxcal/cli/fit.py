"""auxcal fit: a calibrator from labelled logits."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from auxcal._core.progress import progress_bar
from auxcal.cli._own_files import Overwrite
from auxcal.cli._terminal import (
    CalibratorOut,
    ClassNames,
    ColumnNames,
    FeatureNames,
    Files,
    GroupColumn,
    Json,
    Label,
    NoClass,
    OnBadRows,
    Probabilities,
    RandomState,
    UnknownIsNoClass,
    WeightColumn,
    as_columns,
    as_names,
    calibrator_file,
    check_kind,
    errors_named_after,
    method_names,
    say,
    say_json,
)

if TYPE_CHECKING:
    from auxcal.calibrators import Calibrator
    from auxcal.predictions import Predictions

_TOO_GOOD = 0.99  # of the rows right: few classifiers are so good on rows that they have not seen


def fit(
    files: Files,
    out: CalibratorOut,
    method: Annotated[
        str, typer.Option(help="The method to fit; auxcal methods lists them.", autocompletion=method_names)
    ] = "ccac-x",
    select: Annotated[
        Path | None,
        typer.Option(
            show_default=False,
            help="A file with the validation set, for methods that choose hyper-parameters. ccac-x chooses none and "
            "learns from these rows too. [default: a fifth of FILE, if the method needs one]",
        ),
    ] = None,
    label: Label = None,
    columns: ColumnNames = None,
    probabilities: Probabilities = None,
    features: FeatureNames = None,
    class_names: ClassNames = None,
    no_class: NoClass = None,
    unknown_is_no_class: UnknownIsNoClass = False,
    weight: WeightColumn = None,
    group: GroupColumn = None,
    on_bad_rows: OnBadRows = "fail",
    sample: Annotated[
        int,
        typer.Option(
            min=0,
            help="The most rows to fit on. If there are more, a sample is drawn, stratified by label; 0 for all.",
        ),
    ] = 100_000,
    random_state: RandomState = 0,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Fit a calibrator on labelled logits, and save it.

    Fit on data like those that the classifier meets. All rows are used, so keep other rows for auxcal evaluate: only
    rows that a calibrator has not seen show how good it is. If there are more rows than --sample, a random sample is
    drawn in one pass. Rows without a label are left out. The calibrator remembers the columns and the classes, so
    that auxcal score needs no options.

    Examples
    --------
    auxcal fit logits.npz -o ccac-x.safetensors
    auxcal fit logits.npy y.npy --method temperature -o temperature.safetensors
    auxcal fit fit.csv --columns cat,dog --features width,height -o ccac-x.safetensors
    auxcal fit fit.csv --probabilities --columns cat,dog --label truth --no-class other -o ccac-x.safetensors
    auxcal fit fit.npz --select select.npz --method ccac -o ccac.safetensors
    auxcal fit picked.csv --weight weight --group patient -o ccac-x.safetensors
    """
    from auxcal._core.progress import reported_to
    from auxcal.tables import read_predictions

    calibrator = _calibrator(method, random_state)
    read = partial(
        read_predictions,
        label=label,
        columns=as_columns(columns),
        probabilities=probabilities,
        features=as_columns(features) or (None if calibrator.uses_features else ()),
        class_names=as_names(class_names),
        no_class=no_class or (),
        unknown_is_no_class=unknown_is_no_class,
        weight=weight,
        group=group,
        on_bad_rows=on_bad_rows,
        sample=sample or None,
        random_state=random_state,
    )
    with calibrator_file(out, overwrite=overwrite) as temporary:
        data = read(*files)
        check_kind(data, *files)
        part = None if select is None else read(select)
        named = errors_named_after(*files if select is None else (*files, select))
        with named, progress_bar(f"fitting {calibrator.abbreviation}") as report, reported_to(report):
            calibrator._fit_on(data, part)
        calibrator.save(temporary)
    say_fitted(calibrator, data, out, json=json)


def say_fitted(calibrator: Calibrator, data: Predictions, out: Path, *, json: bool) -> None:
    """Print what a calibrator learned, from which rows, and where it is."""
    from auxcal._core.text import percent

    if data.accuracy >= _TOO_GOOD:
        typer.echo(
            f"auxcal: warning: are these rows that the classifier was trained on? It has {percent(data.accuracy)} of "
            f"them right. Fit on rows that it has not seen.",
            err=True,
        )
    learned = _learned(calibrator)
    if json:
        say_json(
            {
                "method": calibrator.abbreviation,
                "rows": len(data),
                "classes": data.n_classes,
                "features": calibrator.n_further_features_,
                "accuracy": data.accuracy,
                "converged": calibrator.converged_,
                "learned": learned,
                "out": str(out),
            }
        )
        return
    d = calibrator.n_further_features_
    say(
        f"{calibrator.abbreviation} fitted on {len(data):,} rows of {data.n_classes} classes"
        f"{f' and {d} features' if d else ''}, of which the classifier has {percent(data.accuracy)} right."
    )
    if learned:
        numbers = (
            f"{name} = {value:.4g}" if isinstance(value, float) else f"{name} = {value}"
            for name, value in learned.items()
        )
        say(f"Learned: {', '.join(numbers)}.")
    say(f"Saved: {out}")


def _calibrator(method: str, random_state: int) -> Calibrator:
    from auxcal.calibrators import CALIBRATORS, method_named, seeded

    return seeded(CALIBRATORS[method_named(method)], random_state)


def _learned(calibrator: Calibrator) -> dict[str, Any]:
    """Return the fitted attributes that are a single number or word."""
    said = {"n_features_in_", "n_further_features_", "converged_"}
    fitted = {
        name.removesuffix("_"): value
        for name, value in vars(calibrator).items()
        if name.endswith("_") and name not in said
    }
    return {name: value for name, value in fitted.items() if isinstance(value, str | int | float)}
