"""auxcal transfer: a calibrator adapted to other data with a few labels."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

import auxcal
from auxcal._core.errors import InvalidInputError
from auxcal.cli._files import check_out, load_calibrator
from auxcal.cli._options import CLASSES, ROWS, CalibratorOut, Files, Json, Overwrite, TableSpec, table_options
from auxcal.cli.fit import save_fitted, training


def transfer(
    calibrator: Annotated[Path, typer.Argument(help="CCAC-S file from auxcal fit.")],
    files: Files,
    out: CalibratorOut,
    *,
    select: Annotated[
        Path | None, "A file with the rows on which λ1, λ2 and the mean are chosen. [default: two fifths of FILE]"
    ] = None,
    table: Annotated[TableSpec, table_options("label", "columns", "probabilities", "percent", *CLASSES, *ROWS)],
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Transfer a CCAC-S to other data of the same classifier, with a few hundred labels: the paper's CCAC-T.

    Only the temperature and the last layer are trained. The paper uses 320 rows to fit and 200 to select. CCAC-X, the
    default of auxcal fit, doesn't need this: fit it again, on the new rows alone.

    Examples
    --------
    auxcal fit there.npz --method ccac-s -o ccac-s.safetensors
    auxcal transfer ccac-s.safetensors few.csv -o here.safetensors
    """
    from auxcal.calibrators.transferable import Transferable

    source = load_calibrator(calibrator)
    if not isinstance(source, Transferable):
        names = [name for name, kind in auxcal.CALIBRATORS.items() if issubclass(kind, Transferable)]
        kinds = " or ".join(f"a {auxcal.CALIBRATORS[name].abbreviation}" for name in names)
        raise InvalidInputError(
            f"{calibrator}: only {kinds} can be transferred; this is {source.abbreviation}. Fit one with auxcal fit "
            f"--method {' or '.join(names)}."
        )
    check_out(out, overwrite=overwrite)
    spec = replace(table, features=(), inputs=source.inputs_)
    data = auxcal.tables.read_predictions(*files, spec=spec)
    part = None if select is None else auxcal.tables.read_predictions(select, spec=spec)
    with training(f"transferring {source.abbreviation}", *files, select):
        for each in (data, part):
            if each is not None and each.inputs.kind == "logits":
                auxcal.inputs.refuse_wrong_kind(source.inputs_.kind, each.logits)
        transferred = source._transfer_on(data, part)
    save_fitted(transferred, data, out, json=json)
