"""The content of a record in any format: its id, the replies, and the truth if the file has it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any, NamedTuple, TypeAlias

from auxcal.llm.records import JSON, BadRecord, kind_of

REFUSED, CUT_OFF, FAILED, UNREADABLE, NO_LOGPROBS = "refused", "cut off", "failed", "not readable", "no log-probability"
"""Why there is no answer."""

Tokens: TypeAlias = list[dict[str, Any]]


class Reply(NamedTuple):
    """One text that a model wrote."""

    text: str
    tokens: Tokens | None = None
    """Its tokens with their log-probabilities and alternatives."""
    ended: str = ""
    """Why there may be no answer in it."""
    length: float = nan
    """Its number of tokens, if that is known without them."""
    options: Sequence[float] | None = None
    """The log-probabilities of the labels, where the file has these instead of tokens; NaN: not returned."""
    n_options: int = 0
    """How many labels a question has, where the file has it."""


class Parsed(NamedTuple):
    """A record, whatever its format."""

    id: Any
    replies: Sequence[Reply]
    model: Any = None
    truth: Any = None
    """The true answer, as the format has it."""
    correct: Any = None
    """Whether the answer is right, as the format has it."""
    serial: Any = None
    """Unique to the reply, such as the id that the server gave it."""
    prediction: Any = None
    """The answer, where the format has read it from the text."""


@dataclass(frozen=True)
class Format:
    """How the records of one writer are recognised and read."""

    title: str
    """What it is, and the keys that show it."""
    matches: Callable[[JSON, Sequence[str]], bool]
    parse: Callable[[JSON, dict[str, Any]], Parsed | None]
    """Returns the content of a record, None if it is not wanted; takes the options of the user that concern formats."""


def failed(record: JSON) -> Parsed:
    """Return a record whose request failed."""
    return Parsed(record.get("custom_id", record.get("id")), [Reply("", ended=FAILED)])


def envelope(record: JSON) -> JSON | None:
    """Return the response within a record: the record, what is under `response`, or its `body`; None if it failed."""
    if "choices" in record or "output" in record:
        return record
    response = record.get("response")
    if response is None and record.get("error"):
        return None
    if not isinstance(response, dict):
        raise BadRecord("expected the server's response: choices, output, or an object under 'response'")
    if "body" not in response:
        return response
    body = response["body"]
    if not isinstance(body, dict):
        raise BadRecord("expected an object under 'response.body'")
    status = response.get("status_code", 200)
    if not isinstance(status, int | float):
        raise BadRecord(f"expected a number under 'response.status_code'; got {kind_of(status)}")
    return None if status >= 400 else body  # what HTTP calls an error


def body_has(record: JSON, key: str) -> bool:
    """Whether a response, bare or in an envelope, has a key."""
    try:
        body = envelope(record)
    except BadRecord:
        return False
    return body is not None and isinstance(body.get(key), list)


def id_beside(record: JSON, body: JSON) -> Any:
    """Return the id that the user gave a request, else that of the server."""
    if "custom_id" in record:
        return record["custom_id"]
    return record.get("id", body.get("id"))


def count(value: Any) -> float:
    """Return the number of tokens, NaN if it is unknown."""
    return float(value) if type(value) is int else nan
