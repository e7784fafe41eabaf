"""auxcal fit: a calibrator from labelled logits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

import auxcal
from auxcal._core.errors import InvalidInputError
from auxcal._core.progress import progress_bar, reported_to
from auxcal._core.text import percent
from auxcal.cli._files import check_out, errors_about
from auxcal.cli._options import CalibratorOut, Files, Increasing, Json, LabelledTable, Overwrite, RandomState, names_in
from auxcal.cli.output import echo_error, echo_result

_TOO_ACCURATE = 0.99  # a guess, not measured: few classifiers are that accurate on rows they were not trained on


def method_names() -> list[str]:
    """Return the methods, for the completion of the shell."""
    return list(auxcal.CALIBRATORS)


def fit(
    files: Files,
    out: CalibratorOut,
    *,
    method: Annotated[
        str, typer.Option(help="The method to fit; auxcal methods lists them.", autocompletion=method_names)
    ] = "ccac-x",
    select: Annotated[
        Path | None,
        "A file with the validation set, for methods that choose hyper-parameters. ccac-x chooses none and learns from "
        "these rows too. [default: a fifth of FILE, if the method needs one]",
    ] = None,
    table: LabelledTable,
    increasing: Increasing = None,
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
    auxcal fit answers.csv --signals verbal,perplexity,length,category --correct right -o signals.safetensors
    auxcal fit a.csv --signals said,length --signal-probabilities said --increasing said --correct ok -o s.safetensors
    """
    kind = auxcal.SignalCalibrator if table.signals else auxcal.CALIBRATORS[auxcal.calibrators.method_named(method)]
    calibrator = auxcal.calibrators.seeded(kind, random_state)
    if isinstance(calibrator, auxcal.SignalCalibrator):
        # Those that are probabilities are known of the columns that it remembers, and of it too.
        calibrator.set_params(increasing=names_in(increasing), probabilities=list(table.signal_probabilities))
    check_out(out, overwrite=overwrite)
    if not table.features and not calibrator.uses_features:
        table = replace(table, features=())
    table = replace(table, feature_table=True)
    read = partial(auxcal.tables.read_predictions, spec=table, sample=sample or None, random_state=random_state)
    data = read(*files)
    check_kind(data, *files)
    part = None if select is None else read(select)
    check_kind(part, select)
    with training(f"fitting {calibrator.abbreviation}", *files, select):
        calibrator._fit_on(data, part)
    save_fitted(calibrator, data, out, json=json)


def check_kind(data: auxcal.Predictions | None, *paths: Path | str | None) -> None:
    """Refuse logits that are probabilities, or percentages: --probabilities was forgotten."""
    from auxcal._core.arrays import look_like_percentages, look_like_probabilities

    if data is None or data.inputs.kind != "logits":
        return
    names = " and ".join(map(str, paths))
    if look_like_percentages(data.logits):
        raise InvalidInputError(
            f"{names}: expected logits; every row adds up to 100, as percentages do. Divide them by 100 and "
            f"give --probabilities, or give --percent."
        )
    if look_like_probabilities(data.logits):
        raise InvalidInputError(
            f"{names}: expected logits; all numbers are from 0 to 1, as probabilities are. Give --probabilities."
        )


@contextmanager
def training(what: str, *files: Path | str | None) -> Iterator[None]:
    """Show the progress of a training, whose errors are about these files."""
    about = errors_about(*(file for file in files if file is not None))
    with about, progress_bar(what) as report, reported_to(report):
        yield


def save_fitted(calibrator: auxcal.Calibrator, data: auxcal.Predictions, out: Path, *, json: bool) -> None:
    """Save a calibrator; print what it learned, from which rows, and where it is."""
    calibrator.save(out)
    if data.accuracy >= _TOO_ACCURATE:
        echo_error(
            f"warning: are these rows that the classifier was trained on? It has {percent(data.accuracy)} of them "
            f"right. Fit on rows that it has not seen."
        )
    printed = {"n_features_in_", "n_further_features_", "converged_"}
    learned = {
        name.removesuffix("_"): value
        for name, value in vars(calibrator).items()
        if name.endswith("_") and name not in printed and isinstance(value, str | int | float)
    }
    found = {
        "method": calibrator.abbreviation,
        "rows": len(data),
        "classes": data.n_classes,
        "features": calibrator.n_further_features_,
        "accuracy": data.accuracy,
        "converged": calibrator.converged_,
        "learned": learned,
        "out": str(out),
    }
    features = f" and {found['features']} features" if found["features"] else ""
    what = f"rows of {data.n_classes} classes{features}; accuracy of the classifier"
    if calibrator.takes_signals:
        what = f"answers with {found['features']} signals; right answers"
    lines = [f"{calibrator.abbreviation} fitted on {len(data):,} {what}: {percent(data.accuracy)}."]
    if learned:
        numbers = (f"{name} = {each:{'.4g' if isinstance(each, float) else ''}}" for name, each in learned.items())
        lines += [f"Learned: {', '.join(numbers)}."]
    echo_result(found, [*lines, f"Saved: {out}"], json=json)
