"""What the commands share: options and output."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

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
    str, typer.Option(help="The column of the true classes: an index from 0, or -1 for none of the classes.")
]
ColumnNames = Annotated[
    str | None,
    typer.Option(
        "--columns",
        show_default=False,
        help="The columns of the classes in order, comma-separated; or the prefix of columns numbered from 0; or the "
        "name of one array. [default: the array logits, or the columns logit_0, logit_1, …]",
    ),
]
Probabilities = Annotated[
    bool,
    typer.Option("--probabilities", help="The file has probabilities (proba, or prob_0, prob_1, …) instead of logits."),
]
FeatureNames = Annotated[
    str | None,
    typer.Option(
        "--features",
        show_default=False,
        help="Further inputs of each sample, for a method that uses them: comma-separated columns, or the prefix of "
        "columns numbered from 0, or the name of one array. [default: the array features, if there is one]",
    ),
]
RandomState = Annotated[int, typer.Option(min=0, help="The only source of randomness.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
CalibratorOut = Annotated[Path, typer.Option("--out", "-o", help="Where to save the calibrator, a .safetensors file.")]


def as_columns(text: str | None) -> str | list[str] | None:
    """Split a comma-separated list of columns; return a single name or prefix as it is."""
    return [name.strip() for name in text.split(",")] if text and "," in text else text


def say(text: str) -> None:
    """Print a line as it is."""
    typer.echo(text)


def say_json(value: Mapping[str, Any] | list[Any]) -> None:
    """Print JSON, with null for NaN."""
    typer.echo(json.dumps(_without_nan(value), indent=2, ensure_ascii=False))


@contextmanager
def errors_named_after(*paths: Path) -> Iterator[None]:
    """Prefix an error about the contents of files with their names."""
    from auxcal._errors import AuxcalError

    try:
        yield
    except AuxcalError as error:
        raise type(error)(f"{' and '.join(map(str, paths))}: {error}") from None


@contextmanager
def calibrator_file(path: Path) -> Iterator[Path]:
    """Yield a path to save a calibrator at, checked for writing before the work starts."""
    from auxcal._errors import InvalidInputError
    from auxcal._files import written_whole

    if path.suffix != ".safetensors":
        raise InvalidInputError(f"{path}: a calibrator is a .safetensors file. Save it as {path.stem}.safetensors.")
    with written_whole(path) as temporary:
        yield temporary


def _without_nan(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and math.isnan(value) else value
