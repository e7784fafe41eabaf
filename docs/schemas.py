"""Make a JSON Schema of each table in docs/reference/json.md: what the commands print with --json.

python docs/schemas.py
"""

import json
import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent / "reference/json.md"
FOLDER = PAGE.parent / "schemas"
LISTS = ("methods", "compare")  # these print a list of such objects
ESTIMATE = {
    "type": "object",
    "required": ["value", "low", "high"],
    "properties": {name: {"type": ["number", "null"]} for name in ("value", "low", "high")},
}


def schemas() -> dict[str, dict[str, Any]]:
    """Return the schema of each command."""
    sections = re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return {name: _schema(name, text) for name, text in sections if "| key |" in text}


def _schema(command: str, text: str) -> dict[str, Any]:
    properties = {}
    for keys, kind, what in re.findall(r"^\| (`.*?) \| (.*?) \| (.*) \|$", text, re.MULTILINE):
        for key in re.findall(r"`(\w+)`", keys):
            properties[key] = _type(kind) | {"description": re.sub(r"\[(.*?)\]\(.*?\)", r"\1", what)}
    each = {"type": "object", "required": list(properties), "properties": properties}
    schema = {"type": "array", "items": each} if command in LISTS else each
    title = f"auxcal {command} --json"
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **schema}


def _type(words: str) -> dict[str, Any]:
    """Return the schema of a type in words, such as `list of string or null`."""
    kind, _, null = words.partition(" or ")
    if kind.startswith("list of "):
        found: dict[str, Any] = {"type": "array", "items": {"type": kind.removeprefix("list of ")}}
    else:
        found = dict(ESTIMATE) if kind == "estimate" else {"type": kind}
    return found | {"type": [found["type"], "null"]} if null else found


def main() -> None:
    """Write the schemas."""
    FOLDER.mkdir(exist_ok=True)
    for command, schema in schemas().items():
        (FOLDER / f"{command}.json").write_text(
            json.dumps(schema, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
