"""A table: columns that the user names hold the answer, or the log-probabilities of the labels."""

from __future__ import annotations

from collections.abc import Sequence
from math import log, nan
from typing import Any

from auxcal.llm.records import JSON, BadRecord, kind_of
from auxcal.llm.replies import Format, Parsed, Reply


def _parse(record: JSON, options: dict[str, Any]) -> Parsed:
    columns, probabilities = options["columns"], options["probabilities"]
    if not columns:
        return Parsed(record.get("id"), [Reply("")])
    logprobs = []
    for column in columns:
        if column not in record:
            raise BadRecord(f"expected a column {column!r}; there is none")
        value = record[column]
        if value is None or value != value or (probabilities and value == 0):
            logprobs.append(nan)
        elif type(value) not in (int, float) or (probabilities and value < 0):
            wanted = "a probability" if probabilities else "a log-probability"
            raise BadRecord(f"expected {wanted} in {column!r}; got {value if type(value) is float else kind_of(value)}")
        else:
            logprobs.append(log(value) if probabilities else float(value))
    return Parsed(record.get("id"), [Reply("", options=logprobs)])


def _matches(record: JSON, named: Sequence[str]) -> bool:
    return bool(named) and all(name in record for name in named)


FORMAT = Format("a table with the columns that you name", _matches, _parse)
