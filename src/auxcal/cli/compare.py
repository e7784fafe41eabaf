"""auxcal compare: every method on your own logits."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from auxcal._progress import progress_bar
from auxcal.cli._comparing import explain, open_page, share_of, show
from auxcal.cli._terminal import (
    ColumnNames,
    FeatureNames,
    Files,
    Json,
    Label,
    Probabilities,
    RandomState,
    as_columns,
    say,
)


def compare(
    files: Files,
    out: Annotated[Path, typer.Option(help="The folder for the report, the scores and the best calibrator.")] = Path(
        "report"
    ),
    test: Annotated[Path | None, typer.Option(show_default=False, help="A file with the test part.")] = None,
    share: Annotated[
        float, typer.Option(help="Without --test, the share of the rows to hold out as test part.")
    ] = 0.25,
    methods: Annotated[
        str | None, typer.Option(show_default=False, help="Only these, comma-separated. [default: all]")
    ] = None,
    label: Label = "y",
    columns: ColumnNames = None,
    probabilities: Probabilities = False,
    features: FeatureNames = None,
    class_names: Annotated[
        str | None,
        typer.Option(
            show_default=False, help="The names of the classes, comma-separated, or a file with one name per line."
        ),
    ] = None,
    random_state: RandomState = 0,
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
    auxcal compare spring.csv autumn.csv --label truth --open
    """
    from rich.console import Console

    import auxcal
    from auxcal.formats import read_predictions
    from auxcal.reports.folder import comparisons_as_json, make_folder, write_folder

    sets = _data_sets(files)
    if test is not None and len(sets) > 1:
        raise typer.BadParameter(f"--test belongs to one data set; got {len(sets)}. Compare them one by one.")
    listed = as_columns(columns)
    read = partial(
        read_predictions, label=label, columns=listed, probabilities=probabilities, features=as_columns(features)
    )
    data = {name: read(*paths) for name, paths in sets.items()}
    one = partial(
        auxcal.compare,
        test=share if test is None else read(test),
        methods=methods.split(",") if methods else None,
        class_names=_class_names(class_names, listed),
        random_state=random_state,
    )
    make_folder(out)
    with progress_bar("comparing") as update:
        comparisons = [
            one(part, name=name, report=share_of(update, index, len(data)))
            for index, (name, part) in enumerate(data.items())
        ]
        written = write_folder(comparisons, out)
    console = Console(quiet=json, highlight=False)
    for comparison in comparisons:
        show(console, comparison)
    explain(console)
    console.print("\nWritten:", *(f"  {path}" for path in written), sep="\n", soft_wrap=True)
    if json:
        say(comparisons_as_json(comparisons))
    if open_:
        open_page(written)


def _data_sets(files: list[Path]) -> dict[str, tuple[Path, ...]]:
    """Return the files of each data set by its name; .npy files come in pairs."""
    waiting: list[Path] = []
    groups: list[tuple[Path, ...]] = []
    for file in files:
        if file.suffix != ".npy":
            groups.append((file,))
            continue
        waiting.append(file)
        if len(waiting) == 2:
            groups.append(tuple(waiting))
            waiting = []
    if waiting:
        raise typer.BadParameter(f".npy files come in pairs, logits and y; got {waiting[0]} without the other one.")
    stems = [group[0].stem for group in groups]
    names = [stem if stems.count(stem) == 1 else str(group[0]) for stem, group in zip(stems, groups, strict=True)]
    if len(set(names)) < len(names):
        raise typer.BadParameter("the same file is named twice. Name each data set once.")
    return dict(zip(names, groups, strict=True))


def _class_names(text: str | None, columns: str | list[str] | None) -> list[str] | None:
    """Return the comma-separated names, or those in a file, one per line; else those of the columns."""
    if text is None:
        return columns if isinstance(columns, list) else None
    if Path(text).is_file():
        return Path(text).read_text(encoding="utf-8").splitlines()
    return [name.strip() for name in text.split(",")]
