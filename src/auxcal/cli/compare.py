"""auxcal compare: every method on your own logits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import auxcal
from auxcal._core.progress import Report, progress_bar
from auxcal._core.text import visible
from auxcal.cli._files import input_paths, refuse_overwrite
from auxcal.cli._options import Files, Increasing, Json, LabelledTable, Open, Overwrite, RandomState, names_in
from auxcal.cli.fit import check_kind
from auxcal.cli.output import console, echo_json_text, slice_note, slice_table

if TYPE_CHECKING:
    from rich.console import Console

_COMPARING = 0.95  # of the progress bar, by guess: the charts come last, and take a small part of the time


def compare(
    context: typer.Context,
    files: Files,
    *,
    out: Annotated[Path, "The folder for the report, the scores and the best calibrator."] = Path("report"),
    test: Annotated[Path | None, "A file with the test set."] = None,
    share: Annotated[float, "Without --test, the share of the rows to hold out as test set."] = 0.25,
    methods: Annotated[str | None, "Only these, comma-separated. [default: all]"] = None,
    table: LabelledTable,
    increasing: Increasing = None,
    id_: Annotated[str | None, "The column of your own ids, for the report."] = None,
    by: Annotated[
        list[str] | None, "A column to slice by: also show every metric for each of its values. Can be repeated."
    ] = None,
    random_state: RandomState = 0,
    overwrite: Overwrite = False,
    json: Json = False,
    open_: Open = False,
) -> None:
    """Try every method on your own logits or signals: a table, an HTML report, and the best calibrator.

    Each file is a data set of its own; .npy files come in pairs. The methods are fitted on one part of the rows and
    measured on the rest. The best method has the lowest Brier score, which rewards both honesty and telling right from
    wrong.

    Examples
    --------
    auxcal compare logits.npz --out report/
    auxcal compare logits.npy y.npy --class-names cat,dog,bird
    auxcal compare data.parquet --by country --out report/
    auxcal compare spring.csv autumn.csv --label truth --open
    auxcal compare answers.csv --signals verbal,perplexity,category --correct right
    auxcal compare labelled.csv --probabilities --columns cat,dog --label truth --no-class other --id case
    """
    from auxcal.report.folder import NUMBERS, PAGE, calibrator_names, comparisons_as_json, make_folder, write_folder

    sets = _data_sets(files)
    if test is not None and len(sets) > 1:
        raise typer.BadParameter(f"--test belongs to one data set; got {len(sets)}. Compare them one by one.")
    slices = tuple(dict.fromkeys(by or ()))
    read = partial(auxcal.tables.read_labelled, spec=replace(table, feature_table=True), id_column=id_, by=slices)
    data = {name: read(*paths) for name, paths in sets.items()}
    for name, paths in sets.items():
        check_kind(data[name].data, *paths)
    held_out = None if test is None else read(test)
    check_kind(held_out and held_out.data, test)
    inputs = input_paths({"files": files, "test": test, "class_names": context.params["class_names"]})
    make_folder(out, inputs)
    for name in (PAGE, *NUMBERS):
        refuse_overwrite(out / name, overwrite=overwrite)
    comparisons = []
    with progress_bar("comparing") as report:
        for index, (name, part) in enumerate(data.items()):
            tested = held_out or part
            found = auxcal.compare(
                part.data,
                test=share if held_out is None else held_out.data,
                methods=methods.split(",") if methods else None,
                random_state=random_state,
                increasing=names_in(increasing),
                name=name,
                ids=tested.ids,
                by=tested.by,
                report=report_part(report, index, len(data)),
            )
            comparisons.append(replace(found, rows=tested.rows[found.rows]))  # as the file counts them
        for name in calibrator_names(comparisons):
            refuse_overwrite(out / name, overwrite=overwrite)
        written = write_folder(comparisons, out, inputs)
    screen = console(quiet=json)
    print_comparisons(screen, comparisons)
    print_plain(screen, "Written:", *(f"  {path}" for path in written))
    if json:
        echo_json_text(comparisons_as_json(comparisons))
    if open_:
        open_page(written)


def _data_sets(files: Sequence[Path | str]) -> dict[str, tuple[Path | str, ...]]:
    """Return the files of each data set by its name; .npy files come in pairs."""
    groups: list[tuple[Path | str, ...]] = []
    waiting: Path | str | None = None
    for file in files:
        if Path(file).suffix != ".npy":
            groups.append((file,))
        elif waiting is None:
            waiting = file
        else:
            groups.append((waiting, file))
            waiting = None
    if waiting is not None:
        raise typer.BadParameter(f".npy files come in pairs, logits and y; got {waiting} without the other one.")
    stems = [Path(group[0]).stem for group in groups]
    names = [stem if stems.count(stem) == 1 else str(group[0]) for stem, group in zip(stems, groups, strict=True)]
    if len(set(names)) < len(names):
        raise typer.BadParameter("the same file is named twice. Name each data set once.")
    return dict(zip(names, groups, strict=True))


# ---- shared with auxcal demo ----


def report_part(report: Report, index: int, sets: int) -> Report:
    """Return the report of one comparison among several."""
    return lambda done: report(_COMPARING * (index + done) / sets)


def print_comparisons(screen: Console, comparisons: Sequence[auxcal.Comparison]) -> None:
    """Print each answer and its tables, then how to read the columns."""
    from auxcal.report.terminal import comparison_to_rich, signals_to_rich

    for comparison in comparisons:
        screen.print(visible(comparison.name), style="dim")
        screen.print(comparison.answer.found, style="bold")
        screen.print(f"{comparison.answer.then}\n", style="bold blue")
        screen.print(comparison_to_rich(comparison))
        for entry in comparison.ranked:
            if entry.problem:
                screen.print(visible(f"{entry.label}: {entry.problem}"), style="dim")
        screen.print()
        if comparison.signals:
            screen.print("How much the Brier score rises when a signal is shuffled among the answers", style="dim")
            screen.print(signals_to_rich(comparison))
            screen.print()
        for each in comparison.slices:
            screen.print(f"{comparison.best.label} by {each.by}", style="dim")
            screen.print(slice_table(each.by, each.after))
            screen.print(f"{slice_note(each.after)}\n", style="dim")
    ranking = "AUROC measures" if all(each.signals for each in comparisons) else "AUROC, AUPR and p.9 measure"
    screen.print(
        f"{ranking} how well the confidence tells right from wrong: higher is better. Brier and ECE "
        "measure how honest it is: lower is better. With an ECE up to the noise next to it, perfect calibration is "
        "possible, not proven.\n",
        style="dim",
    )


def print_plain(screen: Console, *lines: str) -> None:
    """Print lines that may hold names of files, unbroken."""
    screen.print(*map(visible, lines), sep="\n", soft_wrap=True)


def open_page(written: Sequence[Path]) -> None:
    """Open the page in the browser, if it was written."""
    import webbrowser

    from auxcal.report.folder import PAGE

    for path in written:
        if path.name == PAGE:
            webbrowser.open(path.resolve().as_uri())
