"""auxcal compare: every method on one's own logits."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from auxcal.predictions import Predictions


def compare(
    files: Annotated[
        list[Path], typer.Argument(help="Logits and y: .npz, .csv, .parquet, .safetensors, .pt, or a pair of .npy.")
    ],
    out: Annotated[Path, typer.Option(help="The folder for the report, the numbers and the best calibrator.")] = Path(
        "report"
    ),
    test: Annotated[Path | None, typer.Option(help="The test part, if it is a file of its own.")] = None,
    share: Annotated[float, typer.Option(help="The share of the rows that is set aside to test, otherwise.")] = 0.25,
    methods: Annotated[str | None, typer.Option(help="Only these, with commas between; all by default.")] = None,
    label: Annotated[str, typer.Option(help="The array or column of the true classes.")] = "y",
    columns: Annotated[
        str | None, typer.Option(help="The logits: an array, a prefix of numbered columns, or a list with commas.")
    ] = None,
    probabilities: Annotated[bool, typer.Option("--probabilities", help="They are probabilities, no logits.")] = False,
    class_names: Annotated[
        str | None, typer.Option(help="The names of the classes, with commas between, or a file with one a line.")
    ] = None,
    random_state: Annotated[int, typer.Option(min=0, help="The source of all randomness.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print the results as JSON and nothing else.")] = False,
    open_: Annotated[bool, typer.Option("--open", help="Open the report in the browser.")] = False,
) -> None:
    """Try every method on your own logits: a table, a report to look at, and the best calibrator.

    Each file is a data set of its own; of two .npy files one holds the logits and one the true classes.

    \b
    auxcal compare logits.npz --out report/
    auxcal compare logits.npy y.npy --class-names cat,dog,bird
    auxcal compare spring.csv autumn.csv --label true_class --open
    """  # noqa: D301 - the backspace keeps the lines of the examples
    from rich.console import Console

    import auxcal
    from auxcal.cli._comparing import explain, open_page, progress, show
    from auxcal.formats import read_predictions
    from auxcal.reports.folder import make_folder, to_json, write_folder

    sets = _data_sets(files)
    if test is not None and len(sets) > 1:
        raise typer.BadParameter(f"--test belongs to one data set; got {len(sets)}. Compare them one by one.")
    listed = columns.split(",") if columns is not None and "," in columns else columns

    def read(*paths: Path) -> Predictions:
        return read_predictions(*paths, label=label, columns=listed, probabilities=probabilities)

    data = {name: read(*paths) for name, paths in sets.items()}
    held_out = share if test is None else read(test)
    names = _class_names(class_names)
    chosen = methods.split(",") if methods else None
    make_folder(out)
    console = Console(quiet=json, highlight=False)
    with progress(console, list(data)) as reports:
        comparisons = [
            auxcal.compare(
                part,
                test=held_out,
                methods=chosen,
                random_state=random_state,
                name=name,
                class_names=names,
                report=report,
            )
            for (name, part), report in zip(data.items(), reports, strict=True)
        ]
        written = write_folder(comparisons, out)
    for comparison in comparisons:
        show(console, comparison)
    explain(console)
    console.print("\nWritten:", *(f"  {path}" for path in written), sep="\n", soft_wrap=True)
    if json:
        typer.echo(to_json(comparisons))
    if open_:
        open_page(written[0])


def _data_sets(files: list[Path]) -> dict[str, tuple[Path, ...]]:
    """Return the files of each data set by its name; .npy files belong together two by two."""
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
        raise typer.BadParameter(
            f"a .npy file holds one array, so they come in pairs, logits and y; got {waiting[0]} without its pair."
        )
    stems = [group[0].stem for group in groups]
    names = [stem if stems.count(stem) == 1 else str(group[0]) for stem, group in zip(stems, groups, strict=True)]
    if len(set(names)) < len(names):
        raise typer.BadParameter("the same file is named twice. Name each data set once.")
    return dict(zip(names, groups, strict=True))


def _class_names(text: str | None) -> list[str] | None:
    """Return the names in a list with commas, or those in a file, one a line."""
    if text is None:
        return None
    if Path(text).is_file():
        return Path(text).read_text(encoding="utf-8").splitlines()
    return [name.strip() for name in text.split(",")]
