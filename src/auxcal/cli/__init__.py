"""The command line: one file per command, which parses, calls and prints; the work is done elsewhere."""

from __future__ import annotations

import inspect
import os
import sys
import warnings
from collections.abc import Callable
from typing import Annotated, Any

import typer

from auxcal._version import VERSION
from auxcal.cli.compare import compare
from auxcal.cli.demo import demo
from auxcal.cli.evaluate import evaluate
from auxcal.cli.export import export
from auxcal.cli.fit import fit
from auxcal.cli.methods import methods
from auxcal.cli.reproduce import reproduce
from auxcal.cli.score import score
from auxcal.cli.show import show
from auxcal.cli.threshold import threshold
from auxcal.cli.transfer import transfer

# What a command needs is imported inside it, so that --help answers at once.
COMMANDS = (demo, compare, fit, transfer, show, score, evaluate, threshold, export, methods, reproduce)
"""The one list of commands, in the order in which --help shows them."""

USAGE = 2  # the exit code of a command that can't do what it is asked

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


for command in COMMANDS:
    app.command(help=_help(command), short_help=_help(command).partition("\n")[0])(command)


def main() -> None:
    """Run the command line; an expected error is one sentence and exit code 2."""
    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = _say_warning
        try:
            sys.exit(app(prog_name="auxcal", standalone_mode=False))
        except BrokenPipeError:  # whoever read the output has had enough of it
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)
        except Exception as error:
            sentence = _sentence(error)
            if sentence is None:
                raise
            typer.echo(f"auxcal: {' '.join(sentence.split())}", err=True)
            sys.exit(USAGE)


def _say_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    typer.echo(f"auxcal: warning: {' '.join(str(message).split())}", err=True)


def _sentence(error: Exception) -> str | None:
    """Return what to tell the user about an expected error; None for a bug."""
    from auxcal._errors import AuxcalError

    # Of the errors of the command line only some are public, and their module has moved; all of them have this method.
    if hasattr(error, "format_message"):
        return str(error.format_message())
    return str(error) if isinstance(error, AuxcalError | OSError) else None
