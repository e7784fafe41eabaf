"""The samples of Inspect's logs."""

from __future__ import annotations

from typing import Any

from auxcal.llm.records import JSON, BadRecord, member
from auxcal.llm.replies import CUT_OFF, FAILED, REFUSED, UNREADABLE, Format, Parsed, Reply
from auxcal.llm.writers.chat_completions import as_reply

_MARKS = {"C": True, "I": False, True: True, False: False}  # 1 and 0 are equal to these
_ENDED = {"content_filter": REFUSED, "max_tokens": CUT_OFF, "model_length": CUT_OFF}
_NO_ANSWER = "N"


def _parse(record: JSON, options: dict[str, Any]) -> Parsed:
    if "id" not in record:
        raise BadRecord("expected the sample's id under 'id'; there is no such key")
    about = record.get("eval") or {}
    output = member(record, "output", dict)
    if record.get("error") or not output.get("choices"):
        if "choices" not in output:
            raise BadRecord("expected a list under 'output.choices'; there is no such key")
        return Parsed(record["id"], [Reply("", ended=FAILED)], about.get("model"))
    scores = record.get("scores") or {}
    score = next(iter(scores.values())) if scores else {}
    value = score.get("value")
    n_options = len(record.get("choices") or ())
    replies = [_reply(choice, n_options, no_answer=value == _NO_ANSWER) for choice in member(output, "choices", list)]
    return Parsed(
        record["id"],
        replies,
        about.get("model", output.get("model")),
        truth=_target(record.get("target")),
        correct=_MARKS.get(value) if isinstance(value, str | int | float) else None,
        serial=record.get("uuid"),
        prediction=score.get("answer") or None,
    )


def _reply(choice: Any, n_options: int, *, no_answer: bool) -> Reply:
    reply = as_reply(choice, "stop_reason")
    ended = UNREADABLE if no_answer else _ENDED.get(choice.get("stop_reason"), reply.ended)
    return reply._replace(n_options=n_options, ended=ended)


def _target(target: Any) -> Any:
    return target[0] if isinstance(target, list) and len(target) == 1 else target


def _matches(record: JSON, named: object) -> bool:
    return isinstance(record.get("output"), dict) and ("scores" in record or "target" in record)


FORMAT = Format("an Inspect log ('samples' with 'output' and 'target')", _matches, _parse)
