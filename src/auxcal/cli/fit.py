"""auxcal fit: a calibrator from labelled logits."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from auxcal._core.progress import progress_bar
from auxcal.cli._files import check_calibrator_out, errors_about
from auxcal.cli._options import CalibratorOut, Files, Json, Overwrite, RandomState, labelled_table, method_names
from auxcal.cli.output import echo, echo_error, echo_json

if TYPE_CHECKING:
    from auxcal.calibrators import Calibrator
    from auxcal.predictions import Predictions
    from auxcal.tables import TableSpec

_TOO_ACCURATE = 0.99  # a guess, not measured: few classifiers are that accurate on rows they were not trained on


@labelled_table
def fit(
    files: Files,
    out: CalibratorOut,
    *,
    method: Annotated[
        str, typer.Option(help="The method to fit; auxcal methods lists them.", autocompletion=method_names)
    ] = "ccac-x",
    select: Annotated[
        Path | None,
        typer.Option(
            help="A file with the validation set, for methods that choose hyper-parameters. ccac-x chooses none and "
            "learns from these rows too. [default: a fifth of FILE, if the method needs one]"
        ),
    ] = None,
    table: TableSpec,
    sample: Annotated[
        int,
        typer.Option(
            min=0, help="The most rows to fit on. If there are more, a sample is drawn, stratified by label; 0 for all."
        ),
    ] = 100_000,
    random_state: RandomState = 0,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Fit a calibrator on labelled logits, and save it.

    Fit on samples from production. All rows are used, so keep other rows for auxcal evaluate: only rows that took no
    part in the fit show how good a calibrator is. If there are more rows than --sample, a random sample is
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
    from auxcal.calibrators import CALIBRATORS, method_named, seeded
    from auxcal.tables import read_predictions

    calibrator = seeded(CALIBRATORS[method_named(method)], random_state)
    check_calibrator_out(out, overwrite=overwrite)
    if not table.features and not calibrator.uses_features:
        table = replace(table, features=())
    read = partial(read_predictions, spec=table, sample=sample or None, random_state=random_state)
    data = read(*files)
    check_kind(data, *files)
    part = None if select is None else read(select)
    about = errors_about(*files, *([] if select is None else [select]))
    with about, progress_bar(f"fitting {calibrator.abbreviation}") as report, reported_to(report):
        calibrator._fit_on(data, part)
    calibrator.save(out)
    echo_fitted(calibrator, data, out, json=json)


def check_kind(data: Predictions, *paths: Path | str) -> None:
    """Refuse logits that are all from 0 to 1: --probabilities was forgotten."""
    from auxcal._core.arrays import look_like_probabilities
    from auxcal._core.errors import InvalidInputError

    if data.inputs.kind == "logits" and look_like_probabilities(data.logits):
        raise InvalidInputError(
            f"{' and '.join(map(str, paths))}: expected logits; all numbers are from 0 to 1, as probabilities are. "
            f"Give --probabilities."
        )


def echo_fitted(calibrator: Calibrator, data: Predictions, out: Path, *, json: bool) -> None:
    """Print what a calibrator learned, from which rows, and where it is saved."""
    from auxcal._core.text import percent

    if data.accuracy >= _TOO_ACCURATE:
        echo_error(
            f"warning: are these rows that the classifier was trained on? It has {percent(data.accuracy)} of them "
            f"right. Fit on rows that it has not seen."
        )
    learned = _learned(calibrator)
    d = calibrator.n_further_features_
    if json:
        echo_json(
            {
                "method": calibrator.abbreviation,
                "rows": len(data),
                "classes": data.n_classes,
                "features": d,
                "accuracy": data.accuracy,
                "converged": calibrator.converged_,
                "learned": learned,
                "out": str(out),
            }
        )
        return
    echo(
        f"{calibrator.abbreviation} fitted on {len(data):,} rows of {data.n_classes} classes"
        f"{f' and {d} features' if d else ''}; accuracy of the classifier: {percent(data.accuracy)}."
    )
    if learned:
        numbers = (
            f"{name} = {each:.4g}" if isinstance(each, float) else f"{name} = {each}" for name, each in learned.items()
        )
        echo(f"Learned: {', '.join(numbers)}.")
    echo(f"Saved: {out}")


def _learned(calibrator: Calibrator) -> dict[str, Any]:
    """Return the fitted attributes that are a single number or word, but for those printed anyway."""
    printed = {"n_features_in_", "n_further_features_", "converged_"}
    return {
        name.removesuffix("_"): value
        for name, value in vars(calibrator).items()
        if name.endswith("_") and name not in printed and isinstance(value, str | int | float)
    }
