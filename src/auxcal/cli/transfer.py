"""auxcal transfer: a calibrator adapted to other data with a few labels."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from auxcal._core.progress import progress_bar
from auxcal.cli._files import check_calibrator_out, errors_about, load_calibrator
from auxcal.cli._options import CLASSES, ROWS, CalibratorOut, Files, Json, Overwrite, table_options
from auxcal.cli.fit import echo_fitted

if TYPE_CHECKING:
    from auxcal.tables import TableSpec


@table_options("label", "columns", "probabilities", *CLASSES, *ROWS)
def transfer(
    calibrator: Annotated[Path, typer.Argument(help="CCAC-S file from auxcal fit.")],
    files: Files,
    out: CalibratorOut,
    *,
    select: Annotated[
        Path | None,
        typer.Option(
            help="A file with the rows on which λ1, λ2 and the mean are chosen. [default: two fifths of FILE]"
        ),
    ] = None,
    table: TableSpec,
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
    from auxcal._core.errors import InvalidInputError
    from auxcal._core.progress import reported_to
    from auxcal.calibrators import CALIBRATORS
    from auxcal.calibrators.transferable import Transferable
    from auxcal.tables import read_predictions

    source = load_calibrator(calibrator)
    if not isinstance(source, Transferable):
        names = [name for name, kind in CALIBRATORS.items() if issubclass(kind, Transferable)]
        kinds = " or ".join(f"a {CALIBRATORS[name].abbreviation}" for name in names)
        raise InvalidInputError(
            f"{calibrator}: only {kinds} can be transferred; this is {source.abbreviation}. Fit one with auxcal fit "
            f"--method {' or '.join(names)}."
        )
    check_calibrator_out(out, overwrite=overwrite)
    spec = replace(table, features=(), inputs=source.inputs_)
    data = read_predictions(*files, spec=spec)
    part = None if select is None else read_predictions(select, spec=spec)
    about = errors_about(*files, *([] if select is None else [select]))
    with about, progress_bar(f"transferring {source.abbreviation}") as report, reported_to(report):
        transferred = source._transfer_on(data, part)
    transferred.save(out)
    echo_fitted(transferred, data, out, json=json)
