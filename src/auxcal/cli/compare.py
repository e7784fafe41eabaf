"""auxcal compare: every method on your own logits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from auxcal._core.progress import progress_bar
from auxcal.cli._comparing import explain, open_page, print_plain, share_of, show
from auxcal.cli._own_files import Overwrite, refuse_overwrite
from auxcal.cli._terminal import (
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
    check_kind,
    console,
    say_as_json,
)

if TYPE_CHECKING:
    from auxcal._core.progress import Report
    from auxcal.report.comparison import Comparison
    from auxcal.tables import Labelled


def compare(
    files: Files,
    out: Annotated[Path, typer.Option(help="The folder for the report, the scores and the best calibrator.")] = Path(
        "report"
    ),
    test: Annotated[Path | None, typer.Option(show_default=False, help="A file with the test set.")] = None,
    share: Annotated[float, typer.Option(help="Without --test, the share of the rows to hold out as test set.")] = 0.25,
    methods: Annotated[
        str | None, typer.Option(show_default=False, help="Only these, comma-separated. [default: all]")
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
    id_: Annotated[
        str | None,
        typer.Option("--id", show_default=False, help="The column of your own ids, for the report."),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            show_default=False,
            help="A column to slice by: also show every metric for each of its values. Can be repeated.",
        ),
    ] = None,
    random_state: RandomState = 0,
    overwrite: Overwrite = False,
    json: Json = False,
    open_: Annotated[bool, typer.Option("--open", help="Open the report in the browser.")] = False,
) -> None:
    """Try every method on your own logits: a table, an HTML report, and the best calibrator.

    Each file is a data set of its own; .npy files come in pairs. The methods are fitted on one part of the rows and
    measured on the rest. The best method has the lowest Brier score, which rewards both honesty and telling right from
    wrong.

    Examples
    --------
    auxcal compare logits.npz --out report/
    auxcal compare logits.npy y.npy --class-names cat,dog,bird
    auxcal compare data.parquet --by country --out report/
    auxcal compare spring.csv autumn.csv --label truth --open
    auxcal compare labelled.csv --probabilities --columns cat,dog --label truth --no-class other --id case
    """
    import auxcal
    from auxcal.report.folder import (
        NUMBERS,
        PAGE,
        calibrator_names,
        comparisons_as_json,
        make_folder,
        write_folder,
    )
    from auxcal.tables import read_labelled

    sets = _data_sets(files)
    if test is not None and len(sets) > 1:
        raise typer.BadParameter(f"--test belongs to one data set; got {len(sets)}. Compare them one by one.")
    read = partial(
        read_labelled,
        label=label,
        columns=as_columns(columns),
        probabilities=probabilities,
        features=as_columns(features),
        class_names=as_names(class_names),
        no_class=no_class or (),
        unknown_is_no_class=unknown_is_no_class,
        weight=weight,
        group=group,
        on_bad_rows=on_bad_rows,
        id_column=id_,
        by=tuple(dict.fromkeys(by or ())),
    )
    data = {name: read(*paths) for name, paths in sets.items()}
    for name, paths in sets.items():
        check_kind(data[name].data, *paths)
    held_out = None if test is None else read(test)
    one = partial(
        auxcal.compare,
        test=share if held_out is None else held_out.data,
        methods=methods.split(",") if methods else None,
        random_state=random_state,
    )
    inputs = [Path(file) for file in (*files, *(each for each in (test, class_names) if each))]
    make_folder(out, inputs)
    for name in (PAGE, *NUMBERS):
        refuse_overwrite(out / name, overwrite=overwrite)
    with progress_bar("comparing") as update:
        comparisons = [
            _compared(one, name, part, held_out or part, share_of(update, index, len(data)))
            for index, (name, part) in enumerate(data.items())
        ]
        for name in calibrator_names(comparisons):
            refuse_overwrite(out / name, overwrite=overwrite)
        written = write_folder(comparisons, out, inputs)
    screen = console(quiet=json)
    for comparison in comparisons:
        show(screen, comparison)
    explain(screen)
    screen.print()
    print_plain(screen, "Written:", *(f"  {path}" for path in written))
    if json:
        say_as_json(comparisons_as_json(comparisons))
    if open_:
        open_page(written)


def _compared(
    one: Callable[..., Comparison], name: str, part: Labelled, tested: Labelled, report: Report
) -> Comparison:
    """Return a comparison that counts rows as the file of its test part does, with those that were left out."""
    comparison = one(part.data, name=name, ids=tested.ids, by=tested.by, report=report)
    return replace(comparison, rows=tested.rows[comparison.rows])


def _data_sets(files: Sequence[Path | str]) -> dict[str, tuple[Path | str, ...]]:
    """Return the files of each data set by its name; .npy files come in pairs."""
    waiting: list[Path | str] = []
    groups: list[tuple[Path | str, ...]] = []
    for file in files:
        if Path(file).suffix != ".npy":
            groups.append((file,))
            continue
        waiting.append(file)
        if len(waiting) == 2:
            groups.append(tuple(waiting))
            waiting = []
    if waiting:
        raise typer.BadParameter(f".npy files come in pairs, logits and y; got {waiting[0]} without the other one.")
    stems = [Path(group[0]).stem for group in groups]
    names = [stem if stems.count(stem) == 1 else str(group[0]) for stem, group in zip(stems, groups, strict=True)]
    if len(set(names)) < len(names):
        raise typer.BadParameter("the same file is named twice. Name each data set once.")
    return dict(zip(names, groups, strict=True))
