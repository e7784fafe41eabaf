"""auxcal adapt: a calibrator for other class proportions, without labels."""

from pathlib import Path
from typing import Annotated, Literal

import auxcal
from auxcal._core.progress import progress_bar
from auxcal.cli._files import check_out, errors_about, load_calibrator
from auxcal.cli._options import CalibratorFile, CalibratorOut, Files, Json, Level, NewTable, Overwrite
from auxcal.cli.output import echo_result


def adapt(
    calibrator: CalibratorFile,
    files: Files,
    out: CalibratorOut,
    *,
    labelled: Annotated[Path | None, "A file with rows of the new mix that have labels."] = None,
    if_new: Annotated[
        Literal["refuse", "warn"], "If the rows are something new: refuse, or warn and adapt."
    ] = "refuse",
    level: Level = 0.05,
    table: NewTable,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Adapt a calibrator to another mix of the same kinds of data, without labels.

    The shares of the classes, and of samples of no class, are estimated from the new rows. If auxcal check finds that
    the rows are something new, no such shares explain them, and the command refuses.

    Examples
    --------
    auxcal adapt ccac-x.safetensors new.parquet -o adapted.safetensors
    auxcal adapt ccac-x.safetensors new.csv --labelled some.csv -o adapted.safetensors
    """
    from auxcal.calibrators.description import as_json, facts

    fitted = load_calibrator(calibrator, files)
    check_out(out, overwrite=overwrite)
    with progress_bar("reading") as report:
        rows = auxcal.tables.read_rows(fitted, *files, spec=table, report=report)
        sample = auxcal.monitoring.sampled(fitted, rows)
    some = None if labelled is None else auxcal.tables.read_predictions(labelled, spec=table.known_to(fitted.inputs_))
    if labelled is not None and some is not None and some.inputs.kind == "logits":
        with errors_about(labelled):
            auxcal.inputs.refuse_wrong_kind(fitted.inputs_.kind, some.logits)
    adapted = auxcal.monitoring.adapt_seen(fitted, sample.seen, sample.n_rows, some, if_new, level)
    adapted.save(out)
    lines = f"{adapted.abbreviation} adapted to {facts(adapted)['adapted to']}.", f"Saved: {out}"
    echo_result(as_json(adapted) | {"out": str(out)}, lines, json=json)
