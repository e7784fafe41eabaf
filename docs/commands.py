"""The reference of the command line, written from the commands themselves."""

import inspect
import re
from collections.abc import Iterator
from textwrap import dedent
from typing import Any

import typer.main

from auxcal.cli import app


def reference() -> str:
    """Return a section for each command: what it does, how it is called, its arguments and options."""
    group: Any = typer.main.get_command(app)
    return "\n\n".join("\n\n".join(_section(name, command)) for name, command in group.commands.items())


def _section(name: str, command: Any) -> Iterator[str]:
    context = command.make_context(name, [], resilient_parsing=True)
    context.info_name = f"auxcal {name}"
    yield f"## {name}"
    yield f"```\n{' '.join(command.get_usage(context).removeprefix('Usage:').split())}\n```"
    yield _paragraphs(command.help or "")
    records = [record for record in (_record(each, context) for each in command.get_params(context)) if record]
    yield "\n".join(f"- `{term}`: {text}" for term, text in records)


def _record(parameter: Any, context: Any) -> tuple[str, str] | None:
    """Return how a parameter is written and what it does, on one line each; None where it is hidden."""
    record = parameter.get_help_record(context)
    return record and tuple(" ".join(text.split()) for text in record)


def _paragraphs(text: str) -> str:
    r"""Return a help text as Markdown; what follows a \b are examples, whose lines stay as they are."""
    parts = []
    for part in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        if part.startswith("\b"):
            examples = part.removeprefix("\b").removeprefix("\nExamples:").strip("\n")
            parts.append(f"```\n{dedent(examples)}\n```")
        else:
            parts.append(part)
    return "\n\n".join(parts)
