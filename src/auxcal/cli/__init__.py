"""The command line: one file for each command, which parses, calls and prints; the work is done elsewhere."""

from __future__ import annotations

import sys

import typer

from auxcal.cli.compare import compare
from auxcal.cli.demo import demo
from auxcal.cli.reproduce import reproduce

# What a command needs is imported inside it, so that --help answers at once.
COMMANDS = (demo, compare, reproduce)
"""The one list of commands, in the order in which --help shows them."""

USAGE = 2  # the exit code of a command that can't do what it is asked

app = typer.Typer(
    help="An honest probability that your classifier is right, where it meets data it was not trained on.",
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback()
def _auxcal(context: typer.Context) -> None:
    """An honest probability that your classifier is right, where it meets data it was not trained on."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


for command in COMMANDS:
    app.command()(command)


def main() -> None:
    """Run the command line; an error that is raised on purpose is one sentence and exit code 2."""
    try:
        sys.exit(app(standalone_mode=False))
    except Exception as error:
        sentence = _sentence(error)
        if sentence is None:
            raise
        typer.echo(f"auxcal: {sentence}", err=True)
        sys.exit(USAGE)


def _sentence(error: Exception) -> str | None:
    """Return what to tell the user of an error: what is wrong with the command, the data or the machine."""
    from auxcal._errors import AuxcalError

    # Of the errors of the command line only some are public, and their module has moved; all of them have this method.
    if hasattr(error, "format_message"):
        return str(error.format_message())
    return str(error) if isinstance(error, AuxcalError | OSError) else None
