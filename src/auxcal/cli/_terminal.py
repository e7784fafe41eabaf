"""What the commands share: their options, what they print, and the progress of what takes long."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

PATIENCE = 2.0
"""The seconds after which progress is shown."""

Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE",
        show_default=False,
        help="Logits and y: .npz, .csv, .parquet, .safetensors or .pt; logits.npy and y.npy; or - for CSV from "
        "standard input.",
    ),
]
Label = Annotated[
    str, typer.Option(help="The column of the true classes: an index from 0, or -1 where no class is right.")
]
ColumnNames = Annotated[
    str | None,
    typer.Option(
        "--columns",
        show_default=False,
        help="The columns of the classes in order, with commas between; or the prefix of columns that are numbered "
        "from 0; or the name of one array. [default: the array logits, or the columns logit_0, logit_1, …]",
    ),
]
Probabilities = Annotated[
    bool,
    typer.Option("--probabilities", help="The file has probabilities (proba, or prob_0, prob_1, …) and no logits."),
]
FeatureNames = Annotated[
    str | None,
    typer.Option(
        "--features",
        show_default=False,
        help="Further inputs of each sample, for a method that uses them: columns with commas between, or the prefix "
        "of columns that are numbered from 0, or the name of one array. [default: the array features, if there is one]",
    ),
]
RandomState = Annotated[int, typer.Option(min=0, help="The only source of randomness.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
CalibratorOut = Annotated[Path, typer.Option("--out", "-o", help="Where to save the calibrator, a .safetensors file.")]


def as_columns(text: str | None) -> str | list[str] | None:
    """Return a list of columns where there are commas, and one name or prefix where there are none."""
    return [name.strip() for name in text.split(",")] if text and "," in text else text


def say(text: str) -> None:
    """Print a line as it is."""
    typer.echo(text)


def say_json(value: Mapping[str, Any] | list[Any]) -> None:
    """Print JSON; what has no value is null."""
    typer.echo(json.dumps(_without_nan(value), indent=2, ensure_ascii=False))


@contextmanager
def about(*paths: Path) -> Iterator[None]:
    """Put the names of files before what an error says that comes of their contents."""
    from auxcal._errors import AuxcalError

    try:
        yield
    except AuxcalError as error:
        raise type(error)(f"{' and '.join(map(str, paths))}: {error}") from None


@contextmanager
def calibrator_file(path: Path) -> Iterator[Path]:
    """Give a path to save a calibrator at; that it can be written is known before the work begins."""
    from auxcal._errors import InvalidInputError
    from auxcal._files import written_whole

    if path.suffix != ".safetensors":
        raise InvalidInputError(f"{path}: a calibrator is a .safetensors file. Save it as {path.stem}.safetensors.")
    with written_whole(path) as temporary:
        yield temporary


@contextmanager
def progress(what: str) -> Iterator[Callable[[float], None]]:
    """Show on a terminal what is going on, once it has taken two seconds; give what reports the share that is done."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    console = Console(stderr=True)  # standard output is for results
    left = TextColumn("{task.fields[left]}"), TimeRemainingColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), *left)
    shown = Progress(*columns, console=console, disable=not console.is_terminal, transient=True)
    task = shown.add_task(what, total=None, left="")
    patience = threading.Timer(PATIENCE, shown.start)
    patience.start()
    try:
        yield lambda done: shown.update(task, completed=done, total=1, left="left:")
    finally:
        patience.cancel()
        patience.join()
        shown.stop()


def _without_nan(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and math.isnan(value) else value
