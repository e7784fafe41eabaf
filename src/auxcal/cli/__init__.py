"""The command line: one file per command, which parses, calls and prints; the work is done elsewhere."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from itertools import chain
from typing import Annotated

from auxcal._core.errors import AuxcalError
from auxcal._core.extras import needs

with needs("cli"):  # before the files of the commands, which all import it
    import typer

from auxcal._version import VERSION
from auxcal.cli import _help
from auxcal.cli._options import Command, as_command
from auxcal.cli._process import process

# Each is a function in the file of its name. What it needs is imported when it runs, so that --help answers at once.
_OWN = tuple(chain.from_iterable(_help.COMMANDS.values()))


def _commands_of_packages() -> Iterator[Command]:
    """Give the commands that other packages add by entry points; one that can't be loaded says so when it is called."""
    taken = {*_OWN}
    for entry in entry_points(group="auxcal.commands"):
        if entry.name not in taken:
            taken.add(entry.name)
            yield _loaded(entry)


def _loaded(entry: EntryPoint) -> Command:
    try:
        command: Command = entry.load()
        inspect.signature(command, eval_str=True)
    except Exception as error:  # whatever is wrong with another package, the other commands work
        reason = f"the command {entry.name} can't be loaded from {entry.value}: {error}"

        def broken() -> None:
            raise AuxcalError(f"{reason}. Repair or remove the package that it comes from.")

        broken.__name__, broken.__doc__ = entry.name, "Not available: its package can't be loaded."
        return broken
    return command


COMMANDS: tuple[Command, ...] = (
    *(getattr(import_module(f"auxcal.cli.{name}"), name) for name in _OWN),
    *_commands_of_packages(),
)
"""The one list of commands, in the order in which --help shows them."""

app = typer.Typer(
    cls=_help.GroupedCommands,
    help="An honest probability that your classifier is right, where it meets data it was not trained on.",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"auxcal {VERSION}")
        raise typer.Exit


@app.callback()
def _auxcal(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def _text(command: Command) -> str:
    """Return a command's docstring, with the lines of its examples as they are."""
    text, _, examples = (inspect.getdoc(command) or "").partition("Examples\n--------\n")
    # What follows a backspace is not wrapped.
    lines = "".join(f"\n  {line}" for line in examples.splitlines())
    return f"{text}\b\nExamples:{lines}" if lines else text


for command in COMMANDS:
    text = _text(command)
    describe = app.command(command.__name__, cls=_help.GroupedOptions, help=text, short_help=text.partition("\n")[0])
    describe(as_command(command))


def main() -> None:
    """Run the command line; an expected error is one sentence and exit code 2."""
    with process():
        code = app(prog_name="auxcal", standalone_mode=False)
    sys.exit(code)
