"""auxcal score: the prediction and the confidence of every row."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Literal

import typer

import auxcal
from auxcal._core.progress import rows_bar
from auxcal.cli._files import load_calibrator, refuse_overwrite
from auxcal.cli._metrics import MetricsFile, check_metrics, metrics_of, save_metrics
from auxcal.cli._options import LOGITS, CalibratorFile, Files, Json, Location, TableSpec, as_location, table_options
from auxcal.cli.check import EXIT_CODES, PROMISE_FAILS, PROMISE_HOLDS
from auxcal.cli.output import echo_error, echo_result


def score(
    calibrator: CalibratorFile,
    files: Files,
    *,
    out: Annotated[
        Location,
        typer.Option(
            "--out",
            "-o",
            metavar="PATH",
            parser=as_location,
            help="The file to write: .parquet, .csv, .npz, .safetensors; or a folder, a name without extension; or the "
            "URL of either; - for CSV to standard output.",
        ),
    ] = "-",
    table: Annotated[TableSpec, table_options(*LOGITS)],
    on_bad_rows: Annotated[
        Literal["null", "skip", "fail"],
        "How to treat rows that are null, NaN, of the wrong width or, after a fit on probabilities, not a "
        "distribution: leave the score empty, leave them out, or stop with an error.",
    ] = "null",
    proba: Annotated[
        bool,
        "Also write the calibrated probability of each class: proba_cat, proba_dog, …, and proba_no_class where the "
        "method tells that none is right.",
    ] = False,
    metrics: MetricsFile = None,
    overwrite: Annotated[
        bool,
        "Replace the output file if it is there already; score all parts of a folder again, even if another calibrator "
        "scored it before.",
    ] = False,
    json: Json = False,
) -> None:
    """Write the prediction and the confidence of every row next to its other columns.

    The calibrator knows its columns by name, and whether they hold logits or probabilities, so the options are only for
    files that differ from the one it was fitted on. The prediction is the name of the class, if the calibrator knows
    it. Logits and features are dropped; ids, y and all other columns are passed through. CSV and parquet are read and
    written in batches, so memory does not grow with the file. With hundreds of classes, a parquet file with one list
    column, logits, needs far less memory than one column per class.

    A calibrator with a saved promise adds a column accepted. If the rows are unlike those that the promise was found
    on, it does not hold: nothing is accepted, and the exit code is 3 if they are another mix than the fit and 4
    otherwise. What went to standard output can't be taken back; there only the exit code tells.

    Where rows have labels, a column in_fit says which of them were in the fit: on those everything looks too good. If
    that can't be told, since many rows of the fit are equal, a warning says so.

    Columns of an earlier scoring (accepted, in_fit, and proba_ with the name or number of a class; beside prediction
    and confidence, every proba_) are replaced, or left out with a warning.

    An output folder gets one part for each part of the input, under the same name, and the file _SUCCESS at the end. To
    resume a run that was stopped, start it again.

    Examples
    --------
    auxcal score ccac-x.safetensors new.parquet -o scored.parquet
    auxcal score ccac-x.safetensors new.csv --columns p_cat,p_dog -o scored.csv
    auxcal score ccac-x.safetensors new.csv --proba -o scored.csv
    auxcal score ccac-x.safetensors logits/ -o scored/
    auxcal score ccac-x.safetensors 's3://bucket/logits/day=*' -o s3://bucket/scored
    cat new.csv | auxcal score ccac-x.safetensors - > scored.csv
    """
    to_standard_output = str(out) == "-"
    if json and to_standard_output:
        raise typer.BadParameter("--json needs a file to write the scores to: give --out.")
    refuse_overwrite(out, overwrite=overwrite, own=False)
    check_metrics(metrics)
    fitted = load_calibrator(calibrator, files)
    watch = auxcal.monitoring.ScoreWatch(fitted)
    is_watched = fitted.reference_ is not None or fitted.certificate_ is not None
    with rows_bar("scoring") as report:
        written = auxcal.tables.score_table(
            fitted,
            *files,
            out=out,
            spec=replace(table, on_bad_rows=on_bad_rows),
            proba=proba,
            overwrite=overwrite,
            report=report,
            watch=watch if is_watched or metrics is not None else None,
            holds=lambda: watch.guarantee_holds() is not False,
        )
    verdict = watch.verdict()
    if metrics is not None:
        _save_metrics(metrics_of("score", calibrator), written, watch, metrics)
    withdrawn = "Do not use accepted." if to_standard_output else "Nothing is accepted."
    warning = _warning(verdict, fitted, f"{PROMISE_FAILS} {withdrawn}" if written.withdrawn else "")
    if warning is not None:
        echo_error(f"warning: {warning}")
    counts = {name: getattr(written, name) for name in ("rows", "bad", "parts", "resumed", "withdrawn")}
    found = {"method": fitted.abbreviation, "out": str(out), "warning": warning} | counts
    lines = [f"{written.resumed:,} of {written.parts:,} parts were there already."] if written.resumed else []
    if not to_standard_output:
        lines += [f"{written.rows - written.bad.total:,} rows scored with {fitted.abbreviation}. Saved: {out}"]
    echo_result(found | {"bad": asdict(written.bad)}, lines, json=json)
    if written.withdrawn:
        raise typer.Exit(EXIT_CODES[verdict] or EXIT_CODES["new"])


def _save_metrics(
    numbers: auxcal.monitoring.Metrics, written: auxcal.tables.Written, watch: auxcal.monitoring.ScoreWatch, path: Path
) -> None:
    found = watch.check()
    confidence = watch.mean_confidence
    numbers.add("rows", written.rows - written.resumed_rows)
    numbers.add("bad_rows", written.bad.total - written.resumed_bad).add("mean_confidence_ratio", confidence)
    if watch.calibrator.reference_ is not None:
        numbers.check(found).verdict("few" if found is None else watch.verdict())
    save_metrics(numbers, path)


def _warning(verdict: str, calibrator: auxcal.Calibrator, withdrawn: str) -> str | None:
    """Return what to say about the verdict and the promise, if anything."""
    since = "the fit" if calibrator.adaptation_ is None else "the calibrator was adapted"
    about = {
        "mix": f"class proportions have changed since {since}, so the confidence may be off; auxcal adapt corrects it.",
        "new": "changed class proportions can't explain these rows, so the confidence may be off; auxcal check says "
        "more.",
    }
    lines = [about[verdict]] if verdict in about else []
    if withdrawn:
        lines += [withdrawn]
    elif verdict != "same" and calibrator.certificate_ is not None:
        lines += [PROMISE_HOLDS]
    return " ".join(lines) or None
