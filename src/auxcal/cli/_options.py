"""Arguments and options that several commands have, each declared once; those of a table become one TableSpec."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

if TYPE_CHECKING:
    Location: TypeAlias = Path | str
else:
    Location = str  # typer knows no unions

Command: TypeAlias = Callable[..., None]


def as_location(text: str) -> Path | str:
    """Return a path on this machine, or the URL of one elsewhere."""
    from auxcal._core.files import is_url, local_path

    return local_path(text) or text if is_url(text) else Path(text)


def method_names() -> list[str]:
    """Return the methods, for the completion of the shell."""
    from auxcal.calibrators import CALIBRATORS

    return list(CALIBRATORS)


# ---- arguments and options of any command ----

Files = Annotated[
    list[Location],
    typer.Argument(
        metavar="FILE",
        parser=as_location,
        help="Logits and y: .npz, .csv, .parquet, .safetensors or .pt; logits.npy and y.npy; or - for CSV from "
        "standard input. Several files, a folder or a quoted pattern are one table; s3://, gs://, abfs:// and hdfs:// "
        "addresses work too.",
    ),
]
ScoredFile = Annotated[
    Location,
    typer.Argument(
        metavar="FILE",
        parser=as_location,
        help="The output of auxcal score, or of another tool, with the true classes: a file, a folder, a quoted "
        "pattern or a URL; - for CSV from standard input.",
    ),
]
CalibratorFile = Annotated[Path, typer.Argument(help="Calibrator file from auxcal fit.")]
CalibratorOut = Annotated[Path, typer.Option("--out", "-o", help="Where to save the calibrator, a .safetensors file.")]
ScoredBy = Annotated[
    Path | None,
    typer.Option(
        "--calibrator",
        help="The calibrator that scored the file: it knows the column of the true classes, their names, and what is "
        "none of them.",
    ),
]
Level = Annotated[float, typer.Option(help="How often a change may be reported where there is none, between 0 and 1.")]
RandomState = Annotated[int, typer.Option(min=0, help="The random seed.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the output if it is there already.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Open = Annotated[bool, typer.Option("--open", help="Open the report in the browser.")]


# ---- options of tables ----


def _declared(
    label: Annotated[
        str | None,
        typer.Option(
            help="The column of the true classes: names, or indices from 0; -1 for none of the classes. [default: y, "
            "or what the calibrator was fitted on]"
        ),
    ] = None,
    prediction: Annotated[str, typer.Option(help="The column of the predictions.")] = "prediction",
    confidence: Annotated[str, typer.Option(help="The column of the confidence, from 0 to 1.")] = "confidence",
    columns: Annotated[
        str | None,
        typer.Option(
            help="The columns of the classes in order, comma-separated; or the prefix of columns numbered from 0; or "
            "the name of one array. [default: what the calibrator was fitted on; else the array logits, or the columns "
            "logit_0, logit_1, …]"
        ),
    ] = None,
    probabilities: Annotated[
        bool | None,
        typer.Option(
            "--probabilities", help="The file has probabilities (proba, or prob_0, prob_1, …) instead of logits."
        ),
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(
            help="Further inputs of each sample, for methods that use them: comma-separated columns, or the prefix of "
            "columns numbered from 0, or the name of one array. [default: what the calibrator was fitted on, or the "
            "array features, if there is one]"
        ),
    ] = None,
    class_names: Annotated[
        str | None,
        typer.Option(
            help="The names of the classes in order, comma-separated, or a file with one name per line. [default: "
            "those of the columns, if --columns lists them]"
        ),
    ] = None,
    no_class: Annotated[
        list[str] | None, typer.Option(help="A label that means none of the classes, besides -1; can be repeated.")
    ] = None,
    unknown_is_no_class: Annotated[
        bool,
        typer.Option(
            "--unknown-is-no-class", help="Treat every label that is not a class name as none of the classes."
        ),
    ] = False,
    weight: Annotated[
        str | None, typer.Option(help="The column of sample weights: a weight of 2 counts like two rows.")
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(
            help="The column of groups, such as patients, cameras or days. Rows of a group stay together in folds, "
            "splits and resamples."
        ),
    ] = None,
    on_bad_rows: Annotated[
        Literal["fail", "skip"],
        typer.Option(
            help="How to treat rows that are null, NaN, of the wrong width or, with --probabilities, not a "
            "distribution: stop with an error, or leave them out."
        ),
    ] = "fail",
) -> None:
    """Declare every option of tables; a command takes those that it needs."""


_DECLARED = inspect.signature(_declared, eval_str=True).parameters

LOGITS = ("label", "columns", "probabilities", "features")
SCORES = ("label", "prediction", "confidence")
CLASSES = ("class_names", "no_class", "unknown_is_no_class")
ROWS = ("weight", "group", "on_bad_rows")


def table_options(*names: str, **changed: tuple[Any, Any]) -> Callable[[Command], Command]:
    """Give a command options of tables, in the place of its parameter `table`, which then is one TableSpec.

    An option that means something else for a command is `changed`: its annotation and its default.
    """
    options = {name: _DECLARED[name] for name in names}
    for name, (annotation, default) in changed.items():
        options[name] = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)

    def decorate(command: Command) -> Command:
        @wraps(command)
        def parsed(**arguments: Any) -> None:
            from auxcal.tables import TableSpec

            given = {name: arguments.pop(name) for name in options}
            command(**arguments, table=TableSpec(**{name: _parsed(name, value) for name, value in given.items()}))

        # TableSpec is not imported here, so that --help answers at once.
        signature = inspect.signature(command, locals={"TableSpec": object}, eval_str=True)
        parameters = [
            each.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for name, parameter in signature.parameters.items()
            for each in (options.values() if name == "table" else [parameter])
        ]
        parsed.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        parsed.__annotations__ = {each.name: each.annotation for each in parameters}
        return parsed

    return decorate


def _parsed(name: str, value: Any) -> Any:
    """Return what TableSpec takes for the text of an option."""
    if name in ("columns", "features"):
        return [part.strip() for part in value.split(",")] if value and "," in value else value
    if name == "class_names" and value is not None:
        return _names(value)
    return value or () if name == "no_class" else value


def _names(text: str) -> list[str]:
    """Return comma-separated names, or those in a file, one per line."""
    if os.path.isfile(text):  # noqa: PTH113 (a Path complains of a list that is too long for a name)
        from auxcal._core.files import read_text

        return read_text(Path(text)).rstrip("\n").split("\n")
    return [name.strip() for name in text.split(",")]


labelled_table = table_options(*LOGITS, *CLASSES, *ROWS)
"""The options of a table of logits with true classes."""

scored_table = table_options(
    *SCORES,
    *CLASSES,
    *ROWS,
    label=(
        Annotated[
            str | None,
            typer.Option(
                help="The column of the true classes: names or indices, as the predictions are; -1 for none of the "
                "classes. [default: y, or that of --calibrator]"
            ),
        ],
        None,
    ),
    on_bad_rows=(
        Annotated[
            Literal["fail", "skip"],
            typer.Option(
                help="How to treat rows with half a score, or a confidence that is not from 0 to 1: stop with an "
                "error, or leave them out. Rows without a score are always left out."
            ),
        ],
        "fail",
    ),
)
"""The options of a table of scores with true classes."""
