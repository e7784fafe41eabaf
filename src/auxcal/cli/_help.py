"""The help: commands and options in groups, in plain text, which keeps the lines of examples as they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from typer.core import TyperCommand, TyperGroup

COMMANDS = {
    "Fit": ("demo", "compare", "fit", "transfer", "methods"),
    "Judge": ("evaluate", "threshold", "show"),
    "Watch": ("check", "monitor", "adapt"),
    "Label": ("pick", "plan"),
    "Ship": ("score", "export"),
}
"""Our own commands, by what they are for; --help shows them in this order."""

_PAPER, _OTHERS = "The paper", "Of other packages"

_OPTIONS = {
    "Output": ("out", "metrics", "proba", "json", "open", "overwrite"),
    "General": ("random_state", "help"),
}
_TABLE, _REST = "The table", "Options"  # where things are in the file that is read; and what is the command's own


class GroupedCommands(TyperGroup):
    """Shows commands by what they are for."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a section for each group of commands."""
        named = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        groups = {name: head for head, names in COMMANDS.items() for name in names} | {"reproduce": _PAPER}
        limit = formatter.width - 6 - max(map(len, named))
        sections: dict[str, list[tuple[str, str]]] = {head: [] for head in (*COMMANDS, _PAPER, _OTHERS)}
        for name, command in named.items():
            if command is not None:
                sections[groups.get(name, _OTHERS)].append((name, command.get_short_help_str(limit)))
        _write(formatter, sections, max(map(len, named)))


class GroupedOptions(TyperCommand):
    """Shows a command's own options first, then those of the table, of the output and of every command."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, and a section for each group of options."""
        from auxcal.cli._options import table_option_names

        groups = {name: head for head, names in _OPTIONS.items() for name in names}
        groups |= dict.fromkeys(table_option_names(), _TABLE)
        sections: dict[str, list[tuple[str, str]]] = {
            "Arguments": [],
            _REST: [],
            _TABLE: [],
            "Output": [],
            "General": [],
        }
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                argument = parameter.param_type_name == "argument"
                sections["Arguments" if argument else groups.get(parameter.name or "", _REST)].append(record)
        _write(formatter, sections)


def _write(formatter: Any, sections: Mapping[str, Iterable[tuple[str, str]]], width: int | None = None) -> None:
    """Write sections that have something; with a width, the second columns of all are below each other."""
    for head, rows in sections.items():
        if rows := list(rows):
            with formatter.section(head):
                formatter.write_dl([(name.ljust(width or 0), text) for name, text in rows])
