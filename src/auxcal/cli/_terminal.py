"""What the commands share: options and output."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from auxcal._core.text import visible
from auxcal.cli._own_files import refuse_overwrite

if TYPE_CHECKING:
    from rich.console import Console

    from auxcal.predictions import Predictions

    Place: TypeAlias = Path | str
else:
    Place = str  # typer knows no unions

_LEAST_COLUMNS = 80  # which a table needs


def as_place(text: str) -> Path | str:
    """Return a path on this machine, or the URL of one elsewhere."""
    from auxcal._core.files import is_url, local_path

    return local_path(text) or text if is_url(text) else Path(text)


Files = Annotated[
    list[Place],
    typer.Argument(
        metavar="FILE",
        parser=as_place,
        show_default=False,
        help="Logits and y: .npz, .csv, .parquet, .safetensors or .pt; logits.npy and y.npy; or - for CSV from "
        "standard input. Several files, a folder or a quoted pattern are one table; s3://, gs://, abfs:// and hdfs:// "
        "addresses work too.",
    ),
]
CalibratorFile = Annotated[Path, typer.Argument(help="A calibrator that auxcal fit saved.", show_default=False)]
Label = Annotated[
    str | None,
    typer.Option(
        show_default=False,
        help="The column of the true classes: names, or indices from 0; -1 for none of the classes. [default: y, or "
        "what the calibrator was fitted on]",
    ),
]
ClassNames = Annotated[
    str | None,
    typer.Option(
        "--class-names",
        show_default=False,
        help="The names of the classes in order, comma-separated, or a file with one name per line. [default: those "
        "of the columns, if --columns lists them]",
    ),
]
NoClass = Annotated[
    list[str] | None,
    typer.Option(
        "--no-class", show_default=False, help="A label that means none of the classes, besides -1; can be repeated."
    ),
]
UnknownIsNoClass = Annotated[
    bool,
    typer.Option("--unknown-is-no-class", help="Treat every label that is not a class name as none of the classes."),
]
ColumnNames = Annotated[
    str | None,
    typer.Option(
        "--columns",
        show_default=False,
        help="The columns of the classes in order, comma-separated; or the prefix of columns numbered from 0; or the "
        "name of one array. [default: what the calibrator was fitted on; else the array logits, or the columns "
        "logit_0, logit_1, …]",
    ),
]
Probabilities = Annotated[
    bool | None,
    typer.Option(
        "--probabilities",
        show_default=False,
        help="The file has probabilities (proba, or prob_0, prob_1, …) instead of logits.",
    ),
]
FeatureNames = Annotated[
    str | None,
    typer.Option(
        "--features",
        show_default=False,
        help="Further inputs of each sample, for methods that use them: comma-separated columns, or the prefix of "
        "columns numbered from 0, or the name of one array. [default: what the calibrator was fitted on, or the array "
        "features, if there is one]",
    ),
]
WeightColumn = Annotated[
    str | None,
    typer.Option(
        "--weight", show_default=False, help="The column of sample weights: a weight of 2 counts like two rows."
    ),
]
GroupColumn = Annotated[
    str | None,
    typer.Option(
        "--group",
        show_default=False,
        help="The column of groups, such as patients, cameras or days. Rows of a group stay together in folds, splits "
        "and resamples.",
    ),
]
OnBadRows = Annotated[
    Literal["fail", "skip"],
    typer.Option(
        "--on-bad-rows",
        help="How to treat rows that are null, NaN, of the wrong width or, with --probabilities, not a distribution: "
        "stop with an error, or leave them out.",
    ),
]
RandomState = Annotated[int, typer.Option(min=0, help="The random seed.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
CalibratorOut = Annotated[Path, typer.Option("--out", "-o", help="Where to save the calibrator, a .safetensors file.")]

CODES = {"same": 0, "mix": 3, "new": 4}
"""The exit code of each verdict."""

WITHDRAWN = "The promise that is kept with the calibrator does not hold for these rows."
"""What a certificate is worth where rows are not like those that it was found on."""

STANDS = "The promise that is kept with the calibrator was found on rows like these, and stands."
"""What it is worth where only the fit was on others."""


def method_names() -> list[str]:
    """Return the methods, for the completion of the shell."""
    from auxcal.calibrators import CALIBRATORS

    return list(CALIBRATORS)


def as_columns(text: str | None) -> str | list[str] | None:
    """Split a comma-separated list of columns; return a single name or prefix as it is."""
    return [name.strip() for name in text.split(",")] if text and "," in text else text


def as_names(text: str | None) -> list[str] | None:
    """Return comma-separated names, or those in a file, one per line."""
    if text is None:
        return None
    if os.path.isfile(text):  # noqa: PTH113 (a Path complains of a list that is too long for a name)
        from auxcal._core.files import read_text

        return read_text(Path(text)).rstrip("\n").split("\n")
    return [name.strip() for name in text.split(",")]


def check_kind(data: Predictions, *paths: Path | str) -> None:
    """Refuse what was surely forgotten to be called probabilities."""
    from auxcal._core.arrays import look_like_probabilities
    from auxcal._core.errors import InvalidInputError

    if data.inputs.kind == "logits" and look_like_probabilities(data.logits):
        raise InvalidInputError(
            f"{' and '.join(map(str, paths))}: expected logits; all numbers are from 0 to 1, as probabilities are. "
            f"Give --probabilities."
        )


def say(text: str) -> None:
    """Print a line."""
    typer.echo(visible(text))


def say_json(value: Mapping[str, Any] | list[Any]) -> None:
    """Print JSON, with null for NaN."""
    say_as_json(json.dumps(_without_nan(value), indent=2, ensure_ascii=False))


def say_as_json(text: str) -> None:
    """Print what is JSON already; characters that the terminal can't show are escaped as JSON does it."""
    known = "utf" in (sys.stdout.encoding or "").lower()
    typer.echo(re.sub(r"[\x7f-\x9f]" if known else r"[^\x00-\x7e]", _escaped, text))


def _escaped(found: re.Match[str]) -> str:
    return json.dumps(found.group())[1:-1] if found.group() > "\x7f" else "\\u007f"


def console(*, quiet: bool = False) -> Console:
    """Return what rich writes to, as wide as the terminal, but wide enough for a table.

    Names come from files, so nothing in them is markup, and no character of them controls the terminal.
    """
    from auxcal.cli._console import SafeConsole

    width = max(shutil.get_terminal_size().columns, _LEAST_COLUMNS)
    return SafeConsole(quiet=quiet, highlight=False, markup=False, emoji=False, width=width)


@contextmanager
def errors_named_after(*paths: Path | str) -> Iterator[None]:
    """Prefix an error about the contents of files with their names."""
    from auxcal._core.errors import AuxcalError

    try:
        yield
    except AuxcalError as error:
        raise type(error)(f"{' and '.join(map(str, paths))}: {error}") from None


@contextmanager
def calibrator_file(path: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Yield a path to save a calibrator at, checked for writing before the work starts."""
    from auxcal._core.errors import InvalidInputError
    from auxcal._core.files import check_writable

    if path.suffix != ".safetensors":
        raise InvalidInputError(f"{path}: a calibrator is a .safetensors file. Save it as {path.stem}.safetensors.")
    refuse_overwrite(path, overwrite=overwrite)
    check_writable(path)
    yield path  # which is written whole


def _without_nan(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and math.isnan(value) else value
