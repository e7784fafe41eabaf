"""FORMATS, the formats in which answers of language models are saved, recognised by the keys of a record."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from auxcal._core.errors import InvalidInputError
from auxcal._core.text import some
from auxcal.llm.records import JSON, Record
from auxcal.llm.replies import Format
from auxcal.llm.writers import chat_completions, evaluation_harness, flat_table, inspect_logs, responses_api

FORMATS: dict[str, Format] = {
    "harness": evaluation_harness.FORMAT,
    "inspect": inspect_logs.FORMAT,
    "chat": chat_completions.FORMAT,
    "responses": responses_api.FORMAT,
    "table": flat_table.FORMAT,
}
"""The formats of answers, by the names that `read` takes; the first whose keys a record has is its format."""


def format_named(name: str) -> Format:
    """Return a format by its name."""
    if name not in FORMATS:
        raise InvalidInputError(f"format must be one of {', '.join(FORMATS)}; got {name!r}.")
    return FORMATS[name]


def recognise(path: Path, records: Sequence[Record], columns: Sequence[str] = ()) -> str:
    """Return the name of the format of the first records; `columns` are those that the user named, of a table."""
    if not records:
        raise InvalidInputError(f"{path}: there are no records. Check where the file comes from.")
    values = [record.value for record in records if record.value is not None]
    for value in values:
        for name, layout in FORMATS.items():
            if layout.matches(value, columns):
                return name
    keys = f"the keys {some([repr(key) for key in values[0]])}" if values else "no record that can be read"
    raise InvalidInputError(
        f"{path}: expected {', '.join(layout.title for layout in FORMATS.values())}; got {keys}. Name the columns of a "
        f"table with prediction (--prediction) or columns (--columns), or save what the server returned."
    )


__all__ = ["FORMATS", "JSON", "format_named", "recognise"]
