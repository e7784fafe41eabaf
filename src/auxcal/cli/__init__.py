"""The command line: one file per command, which parses, calls and prints; the work is done elsewhere."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable
from functools import wraps
from importlib.metadata import entry_points
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer

from auxcal._version import VERSION
from auxcal.cli._process import process
from auxcal.cli.adapt import adapt
from auxcal.cli.check import check
from auxcal.cli.compare import compare
from auxcal.cli.demo import demo
from auxcal.cli.evaluate import evaluate
from auxcal.cli.export import export
from auxcal.cli.fit import fit
from auxcal.cli.methods import methods
from auxcal.cli.monitor import monitor
from auxcal.cli.pick import pick
from auxcal.cli.plan import plan
from auxcal.cli.score import score
from auxcal.cli.show import show
from auxcal.cli.threshold import threshold
from auxcal.cli.transfer import transfer

# What a command needs is imported inside it, so that --help answers at once.
COMMANDS = (
    demo,
    compare,
    fit,
    transfer,
    show,
    score,
    check,
    adapt,
    monitor,
    evaluate,
    threshold,
    pick,
    plan,
    export,
    methods,
    *(entry.load() for entry in entry_points(group="auxcal.commands")),
)
"""The one list of commands, in the order in which --help shows them; packages may add their own by entry points."""

app = typer.Typer(
    help="An honest probability that your classifier is right, where it meets data it was not trained on.",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _say_version(asked: bool) -> None:
    if asked:
        typer.echo(f"auxcal {VERSION}")
        raise typer.Exit


@app.callback()
def _auxcal(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """An honest probability that your classifier is right, where it meets data it was not trained on."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def _help(command: Callable[..., None]) -> str:
    """Return a command's docstring, with the lines of its examples as they are."""
    text, _, examples = (inspect.getdoc(command) or "").partition("Examples\n--------\n")
    # What follows a backspace is not wrapped.
    lines = "".join(f"\n  {line}" for line in examples.splitlines())
    return f"{text}\b\nExamples:{lines}" if lines else text


def _apart(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command, which then refuses to write onto a file that it reads."""

    @wraps(command)
    def checked(**arguments: Any) -> None:
        from auxcal._core.files import check_apart

        given = {name: value if isinstance(value, list) else [value] for name, value in arguments.items()}
        paths = {name: [path for each in values if (path := _here(name, each))] for name, values in given.items()}
        for out in paths.pop("out", []):
            check_apart(out, chain.from_iterable(paths.values()))
        command(**arguments)

    return checked


def _here(name: str, value: Any) -> Path | None:
    """Return the path on this machine that an argument is, if it is one."""
    if isinstance(value, str) and name == "class_names" and os.path.isfile(value):  # noqa: PTH113 (or names)
        return Path(value)
    return value if isinstance(value, Path) else None


for command in COMMANDS:
    app.command(help=_help(command), short_help=_help(command).partition("\n")[0])(_apart(command))


def main() -> None:
    """Run the command line; an expected error is one sentence and exit code 2."""
    with process():
        code = app(prog_name="auxcal", standalone_mode=False)
    sys.exit(code)
