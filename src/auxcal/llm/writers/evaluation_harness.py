"""The samples that lm-evaluation-harness logs: one line per question and filter."""

from __future__ import annotations

from typing import Any

from auxcal.llm.records import JSON, BadRecord, kind_of, member
from auxcal.llm.replies import UNREADABLE, Format, Parsed, Reply

_INVALID = "[invalid]"


def _parse(record: JSON, options: dict[str, Any]) -> Parsed | None:
    if record.get("filter") != (options["filter"] or options.setdefault("first_filter", record.get("filter"))):
        return None
    responses = member(record, "filtered_resps", list)
    if not responses:
        raise BadRecord("expected at least one response under 'filtered_resps'; got none")
    if "doc_id" not in record:
        raise BadRecord("expected the question's number under 'doc_id'; there is no such key")
    chosen = all(type(response) is list and len(response) == 2 for response in responses)
    replies = [_scored(responses)] if chosen else [_written(response) for response in responses]
    return Parsed(
        record["doc_id"],
        replies,
        truth=_target(record.get("target"), len(responses) if chosen else 0),
        correct=None if chosen else _metric(record),
    )


def _scored(responses: list[Any]) -> Reply:
    """Return the log-likelihoods of the options, which the harness writes as text."""
    try:
        logprobs = [float(response[0]) for response in responses]
    except (TypeError, ValueError):
        raise BadRecord(f"expected log-probabilities under 'filtered_resps'; got {responses[0]!r}") from None
    return Reply("", options=logprobs, n_options=len(logprobs))


def _written(response: Any) -> Reply:
    text = response[0] if type(response) is list and len(response) == 1 else response
    if type(text) is not str:
        raise BadRecord(f"expected a text under 'filtered_resps'; got {kind_of(text)}")
    return Reply(text, ended=UNREADABLE if text == _INVALID else "")


def _target(target: Any, n_options: int) -> Any:
    """Return the true answer: for options their index, which the harness writes as text."""
    if not n_options or type(target) is not str or not target.strip().isdecimal():
        return target
    return int(target)


def _metric(record: JSON) -> Any:
    """Return the first metric of a question, if it means right or wrong."""
    names = record.get("metrics") or [name for name in ("exact_match", "acc") if name in record]
    value = record.get(names[0]) if names else None
    return value if value in (0, 1) else None


def _matches(record: JSON, named: object) -> bool:
    return "filtered_resps" in record or ("doc_id" in record and "resps" in record)


FORMAT = Format("samples of lm-evaluation-harness ('filtered_resps')", _matches, _parse)
