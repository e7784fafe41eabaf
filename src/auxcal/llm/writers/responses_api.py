"""The responses API of OpenAI, bare or in an envelope."""

from __future__ import annotations

from typing import Any

from auxcal.llm.records import JSON, BadRecord, member
from auxcal.llm.replies import CUT_OFF, REFUSED, Format, Parsed, Reply, body_has, count, envelope, failed, id_beside


def _parse(record: JSON, options: dict[str, Any]) -> Parsed:
    body = envelope(record)
    if body is None or body.get("status") == "failed":
        return failed(record)
    messages = [item for item in member(body, "output", list) if item.get("type") == "message"]
    parts = [part for message in messages for part in member(message, "content", list)]
    if not all(isinstance(part, dict) for part in parts):
        raise BadRecord("expected objects under 'content'")
    texts = [part for part in parts if part.get("type") == "output_text"]
    ended = REFUSED if any(part.get("type") == "refusal" for part in parts) else _ending(body)
    tokens = [token for part in texts for token in part.get("logprobs") or ()]
    usage = body.get("usage") or {}
    reply = Reply(
        "".join(member(part, "text", str) for part in texts), tokens or None, ended, count(usage.get("output_tokens"))
    )
    return Parsed(id_beside(record, body), [reply], body.get("model"), serial=body.get("id"))


def _ending(body: JSON) -> str:
    if body.get("status") != "incomplete":
        return ""
    reason = (body.get("incomplete_details") or {}).get("reason")
    return REFUSED if reason == "content_filter" else CUT_OFF


FORMAT = Format("the responses API ('output')", lambda record, named: body_has(record, "output"), _parse)
