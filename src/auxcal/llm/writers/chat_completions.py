"""Chat completions of OpenAI and of servers that speak like it, bare or in an envelope."""

from __future__ import annotations

from math import nan
from typing import Any

from auxcal.llm.records import JSON, BadRecord, kind_of, member
from auxcal.llm.replies import CUT_OFF, REFUSED, Format, Parsed, Reply, body_has, count, envelope, failed, id_beside

_ENDED = {"content_filter": REFUSED, "length": CUT_OFF}


def _parse(record: JSON, options: dict[str, Any]) -> Parsed:
    body = envelope(record)
    if body is None:
        return failed(record)
    choices = member(body, "choices", list)
    if not choices:
        raise BadRecord("expected at least one choice under 'choices'; got none")
    replies = [as_reply(choice, "finish_reason") for choice in choices]
    if len(replies) == 1 and replies[0].tokens is None:
        replies = [replies[0]._replace(length=_length(body))]
    return Parsed(id_beside(record, body), replies, body.get("model"), serial=body.get("id"))


def as_reply(choice: Any, ending: str) -> Reply:
    """Return a choice as a reply; `ending` is the key of why it ended."""
    if type(choice) is not dict:
        raise BadRecord(f"expected an object in 'choices'; got {kind_of(choice)}")
    message = member(choice, "message", dict)
    logprobs = choice.get("logprobs")
    tokens = member(choice, "logprobs", dict).get("content") if logprobs is not None else None
    if tokens is not None and type(tokens) is not list:
        raise BadRecord(f"expected a list under 'logprobs.content'; got {kind_of(tokens)}")
    ended = REFUSED if message.get("refusal") else _ENDED.get(choice.get(ending) or "", "")
    return Reply(_text(message), tokens or None, ended)


def _text(message: JSON) -> str:
    """Return the content of a message, in its text, its parts or the arguments of a tool."""
    content = message.get("content")
    if type(content) is str:
        return content
    if type(content) is list:
        return "".join(part.get("text") or "" for part in content if isinstance(part, dict))
    if content is not None:
        raise BadRecord(f"expected a string under 'message.content'; got {kind_of(content)}")
    calls = message.get("tool_calls")
    return calls[0]["function"]["arguments"] if calls else ""


def _length(body: JSON) -> float:
    usage = body.get("usage")
    return count(usage.get("completion_tokens")) if isinstance(usage, dict) else nan


FORMAT = Format("chat completions ('choices')", lambda record, named: body_has(record, "choices"), _parse)
