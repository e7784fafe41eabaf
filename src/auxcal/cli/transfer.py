"""auxcal transfer: a calibrator adapted to other data with a few labels."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from auxcal._core.progress import progress_bar
from auxcal.cli._own_files import Overwrite
from auxcal.cli._terminal import (
    CalibratorOut,
    ClassNames,
    ColumnNames,
    Files,
    GroupColumn,
    Json,
    Label,
    NoClass,
    OnBadRows,
    Probabilities,
    UnknownIsNoClass,
    WeightColumn,
    as_columns,
    as_names,
    calibrator_file,
    errors_named_after,
)
from auxcal.cli.fit import say_fitted


def transfer(
    calibrator: Annotated[Path, typer.Argument(help="A CCAC-S that auxcal fit saved.", show_default=False)],
    files: Files,
    out: CalibratorOut,
    select: Annotated[
        Path | None,
        typer.Option(
            show_default=False,
            help="A file with the rows on which λ1, λ2 and the mean are chosen. [default: two fifths of FILE]",
        ),
    ] = None,
    label: Label = None,
    columns: ColumnNames = None,
    probabilities: Probabilities = None,
    class_names: ClassNames = None,
    no_class: NoClass = None,
    unknown_is_no_class: UnknownIsNoClass = False,
    weight: WeightColumn = None,
    group: GroupColumn = None,
    on_bad_rows: OnBadRows = "fail",
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
    from auxcal.persistence import load
    from auxcal.tables import read_predictions

    source = load(calibrator)
    if not isinstance(source, Transferable):
        names = [name for name, kind in CALIBRATORS.items() if issubclass(kind, Transferable)]
        kinds = " or ".join(f"a {CALIBRATORS[name].abbreviation}" for name in names)
        raise InvalidInputError(
            f"{calibrator}: only {kinds} can be transferred; this is {source.abbreviation}. Fit one with auxcal fit "
            f"--method {' or '.join(names)}."
        )
    read = partial(
        read_predictions,
        label=label,
        columns=as_columns(columns),
        probabilities=probabilities,
        features=(),
        class_names=as_names(class_names),
        no_class=no_class or (),
        unknown_is_no_class=unknown_is_no_class,
        weight=weight,
        group=group,
        on_bad_rows=on_bad_rows,
        inputs=source.inputs_,
    )
    with calibrator_file(out, overwrite=overwrite) as temporary:
        data = read(*files)
        part = None if select is None else read(select)
        named = errors_named_after(*files if select is None else (*files, select))
        with named, progress_bar(f"transferring {source.abbreviation}") as report, reported_to(report):
            here = source._transfer_on(data, part)
        here.save(temporary)
    say_fitted(here, data, out, json=json)
