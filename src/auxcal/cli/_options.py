"""Arguments and options that several commands have, each declared once; those of a table become one TableSpec."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, get_args, get_origin

import typer

from auxcal._core.files import check_apart, is_url, local_path, read_text
from auxcal.cli._answers import declared, with_answers
from auxcal.cli._files import input_paths, with_calibrator_of_state

if TYPE_CHECKING:
    from auxcal.tables import TableSpec as TableSpec

    Location: TypeAlias = Path | str
else:
    Location, TableSpec = str, object  # typer knows no unions; and --help imports no tables

Command: TypeAlias = Callable[..., None]
Options: TypeAlias = dict[str, inspect.Parameter]


def as_command(command: Command) -> Command:
    """Return a command as typer takes it.

    A string beside the type of a parameter is the help of an option. The parameter `table` is one TableSpec, made of
    the options beside its type; where there are `files` too, they may hold a language model's answers. An `out` that is
    one of the files to read is refused.
    """
    parameters: list[inspect.Parameter] = []
    table: Options = {}
    own = inspect.signature(command, eval_str=True).parameters
    answers = inspect.signature(declared, eval_str=True).parameters if {"files", "table"} <= {*own} else {}
    for name, parameter in own.items():
        if name == "table":
            (table,) = parameter.annotation.__metadata__
        parameters += map(_with_help, [*table.values(), *answers.values()] if name == "table" else [parameter])

    @wraps(command)
    def parsed(**arguments: Any) -> None:
        if "state" in own:
            arguments = with_calibrator_of_state(arguments)
        if isinstance(arguments.get("out"), Path):
            check_apart(arguments["out"], input_paths(arguments))
        if table:
            from auxcal.tables import TableSpec

            given = {name: _parsed(name, arguments.pop(name)) for name in table}
            arguments["table"] = TableSpec(**given)
        command(**(with_answers(arguments, *map(arguments.pop, answers)) if answers else arguments))

    parsed.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    parsed.__annotations__ = {each.name: each.annotation for each in parameters}
    return parsed


def _with_help(parameter: inspect.Parameter) -> inspect.Parameter:
    kind, about = parameter.annotation, None
    if get_origin(kind) is Annotated:
        kind, about, *_ = get_args(kind)
    if isinstance(about, str):
        name = f"--{parameter.name.rstrip('_').replace('_', '-')}"
        parameter = parameter.replace(annotation=Annotated[kind, typer.Option(name, help=about)])
    return parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)


def _parsed(name: str, value: Any) -> Any:
    """Return what TableSpec takes for the text of an option."""
    if name in ("signals", "signal_probabilities"):
        return names_in(value) if value or name == "signal_probabilities" else None
    if name in ("columns", "features"):
        return [part.strip() for part in value.split(",")] if value and "," in value else value
    if name == "class_names" and value is not None:
        if os.path.isfile(value):  # noqa: PTH113 (a Path complains of a list that is too long for a name)
            return read_text(Path(value)).rstrip("\n").split("\n")
        return [each.strip() for each in value.split(",")]
    return value or () if name == "no_class" else value


def names_in(text: str | None) -> list[str]:
    """Return comma-separated names."""
    return [part.strip() for part in text.split(",")] if text else []


def as_location(text: str) -> Path | str:
    """Return a path on this machine, or the URL of one elsewhere."""
    return local_path(text) or text if is_url(text) else Path(text)


# ---- arguments and options of any command ----

Files = Annotated[
    list[Location],
    typer.Argument(
        metavar="FILE",
        parser=as_location,
        help="Logits and y: .npz, .csv, .parquet, .jsonl, .safetensors or .pt; logits.npy and y.npy; - for CSV from "
        "standard input; or what a language model answered, as the server or tool wrote it: .jsonl or .json. Several "
        "files, a folder or a quoted pattern are one table; s3://, gs://, abfs:// and hdfs:// "
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
    "The calibrator that scored the file: it knows the column of the true classes, their names, and what is none of "
    "them.",
]
Level = Annotated[float, "How often a change may be reported where there is none, between 0 and 1."]
Increasing = Annotated[
    str | None, "Those of the signals that may only raise the confidence, comma-separated; not for logits."
]
RandomState = Annotated[int, typer.Option(min=0, help="The random seed.")]
Overwrite = Annotated[bool, "Replace the output if it is there already."]
Json = Annotated[bool, "Print JSON."]
Open = Annotated[bool, "Open the report in the browser."]


# ---- options of tables ----


def _declared(
    label: Annotated[
        str | None,
        "The column of the true classes: names, or indices from 0; -1 for none of the classes. [default: y, or what "
        "the calibrator was fitted on]",
    ] = None,
    prediction: Annotated[str, "The column of the predictions."] = "prediction",
    confidence: Annotated[str, "The column of the confidence, from 0 to 1."] = "confidence",
    columns: Annotated[
        str | None,
        "The columns of the classes in order, comma-separated; or the prefix of columns numbered from 0; or the name "
        "of one array. [default: what the calibrator was fitted on; else the array logits, or the columns logit_0, "
        "logit_1, …]",
    ] = None,
    probabilities: Annotated[
        bool | None, "The file has probabilities (proba, or prob_0, prob_1, …) instead of logits."
    ] = None,
    percent: Annotated[bool, "The file has percentages, which are divided by 100."] = False,
    features: Annotated[
        str | None,
        "Further inputs of each sample, for methods that use them: comma-separated columns, or the prefix of columns "
        "numbered from 0, or the name of one array. Columns may have gaps, and text for categories. [default: what the "
        "calibrator was fitted on, or the array features, if there is one]",
    ] = None,
    signals: Annotated[
        str | None,
        "In place of logits: comma-separated columns of what is known of each answer, numbers with gaps and text. "
        "[default: what the calibrator was fitted on]",
    ] = None,
    signal_probabilities: Annotated[
        str | None, "Those of the signals that are probabilities, comma-separated: they count by their log-odds."
    ] = None,
    correct: Annotated[
        str | None,
        "In place of the true classes: the column that says whether each answer is right, true and false or 1 and 0.",
    ] = None,
    class_names: Annotated[
        str | None,
        "The names of the classes in order, comma-separated, or a file with one name per line. [default: those of the "
        "columns, if --columns lists them]",
    ] = None,
    no_class: Annotated[
        list[str] | None, "A label that means none of the classes, besides -1; can be repeated."
    ] = None,
    unknown_is_no_class: Annotated[bool, "Treat every label that is not a class name as none of the classes."] = False,
    weight: Annotated[str | None, "The column of sample weights: a weight of 2 counts like two rows."] = None,
    group: Annotated[
        str | None,
        "The column of groups, such as patients, cameras or days. Rows of a group stay together in folds, splits and "
        "resamples.",
    ] = None,
    on_bad_rows: Annotated[
        Literal["fail", "skip"],
        "How to treat rows that are null, NaN, of the wrong width or, with --probabilities, not a distribution: stop "
        "with an error, or leave them out.",
    ] = "fail",
) -> None:
    """Declare every option of tables; a command takes those that it needs."""


_DECLARED = inspect.signature(_declared, eval_str=True).parameters

LOGITS = ("label", "columns", "probabilities", "percent", "features", "signals", "correct")
SCORES = ("label", "prediction", "confidence", "correct")
CLASSES = ("class_names", "no_class", "unknown_is_no_class")
ROWS = ("weight", "group", "on_bad_rows")


def table_option_names() -> set[str]:
    """Return the names of all options that say where things are in a table."""
    return {*_DECLARED, *inspect.signature(declared).parameters, "by", "id"}


def table_options(*names: str, **changed: str) -> Options:
    """Return options of tables by name; those that mean something else for a command are `changed`: their help."""
    kinds = {name: get_args(_DECLARED[name].annotation)[0] for name in changed}
    others = {name: _DECLARED[name].replace(annotation=Annotated[kinds[name], text]) for name, text in changed.items()}
    return {name: others.get(name, _DECLARED[name]) for name in names}


NewTable = Annotated[TableSpec, table_options(*LOGITS, *CLASSES, "on_bad_rows")]
LabelledTable = Annotated[TableSpec, table_options(*LOGITS, "signal_probabilities", *CLASSES, *ROWS)]
ScoredTable = Annotated[
    TableSpec,
    table_options(
        *SCORES,
        *CLASSES,
        *ROWS,
        label="The column of the true classes: names or indices, as the predictions are; -1 for none of the classes. "
        "[default: y, or that of --calibrator]",
        on_bad_rows="How to treat rows with half a score, or a confidence that is not from 0 to 1: stop with an error, "
        "or leave them out. Rows without a score are always left out.",
    ),
]
