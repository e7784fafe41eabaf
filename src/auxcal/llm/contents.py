"""What a file of answers holds, and what to do next: `auxcal show FILE`."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

from auxcal._core.files import as_path
from auxcal._core.text import some
from auxcal.llm.records import BadRecord, read_records
from auxcal.llm.replies import Parsed, Reply
from auxcal.llm.writers import FORMATS, recognise

_LOOKED_AT = 1_000  # records: enough to see, and read at once
_MOST_LABELS, _LONGEST_LABEL = 26, 20  # of what may be labels, by guess: as many as there are letters
_RARE = 0.01  # of the replies: a slip of the model, and no label


def contents(path: str | os.PathLike[str]) -> dict[str, str]:
    """Return facts about the first thousand records of a file, by name.

    Parameters
    ----------
    path : path
        A file that `read` takes.

    Examples
    --------
    >>> import json, tempfile
    >>> from pathlib import Path
    >>> from auxcal.llm import contents
    >>> reply = {"choices": [{"message": {"content": "A"}, "logprobs": None}], "model": "small"}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "answers.jsonl"
    ...     _ = path.write_text(json.dumps({"id": 1, "truth": "B", "response": reply}))
    ...     held = contents(path)
    >>> held["format"], held["keys"], held["log-probabilities"]
    ("chat completions ('choices')", 'id, truth', 'none: signals take their place')
    """
    path = as_path(path)
    records = list(islice(read_records(path), _LOOKED_AT))
    layout = FORMATS[recognise(path, records[:100])]
    options: dict[str, Any] = {"columns": None, "probabilities": False, "filter": None}
    parsed = []
    for record in records:
        with suppress(BadRecord, KeyError, TypeError, AttributeError, ValueError):
            answer = None if record.value is None else layout.parse(record.value, options)
            parsed += [] if answer is None else [answer]
    bad = len(records) - len(parsed)
    keys = dict.fromkeys(
        key
        for record in records
        for key, value in (record.value or {}).items()
        if not isinstance(value, dict | list) and value is not None
    )
    more = " (only these were looked at)" if len(records) == _LOOKED_AT else ""
    facts = {
        "format": layout.title,
        "records": f"{len(records):,}{more}" + (f", {bad:,} of them unusable" if bad else ""),
        "model": some(list(dict.fromkeys(str(record.model) for record in parsed if record.model))) or "unknown",
        "keys": some(list(keys)) or "none of your own",
    }
    return facts | dict(_of_replies(parsed, str(path)))


def _of_replies(parsed: list[Parsed], path: str) -> Iterator[tuple[str, str]]:
    """Yield what the replies are, and what to do next."""
    replies = [reply for record in parsed for reply in record.replies]
    ended = Counter(reply.ended for reply in replies if reply.ended)
    yield "ended early", ", ".join(f"{count:,} {why}" for why, count in ended.items()) or "none"
    few = [] if any(reply.n_options for reply in replies) else _frequent(replies)
    if few:
        yield "answers", some(few)
    options = {len(reply.options) for reply in replies if reply.options is not None}
    tops = [len(token.get("top_logprobs") or ()) for reply in replies for token in reply.tokens or ()]
    own = any(reply.n_options for reply in replies)
    labels = "" if own else f" --labels {','.join(few)}" if few else " --labels A,B,C,D"
    truth = "" if any(record.truth is not None for record in parsed) else " --truth KEY"
    if len(options) > 1:
        yield "log-probabilities", "of options, whose number differs: the largest ones are signals"
    elif options:
        yield "log-probabilities", f"of {options.pop()} options"
    elif tops:
        yield "log-probabilities", f"of tokens, with up to {max(tops)} alternatives"
    else:
        yield "log-probabilities", "none: signals take their place"
    yield "next", f"auxcal compare {path}{labels}{truth} --out report/"


def _frequent(replies: list[Reply]) -> list[str]:
    """Return the answers that may be the labels: few, short, and none of them rare."""
    texts = Counter(reply.text.strip() for reply in replies if reply.text.strip() and not reply.ended)
    few = sorted(text for text, count in texts.items() if count > _RARE * len(replies))
    covered = sum(texts[text] for text in few) > (1 - 5 * _RARE) * sum(texts.values())
    short = all(len(text) <= _LONGEST_LABEL and len(text.split()) == 1 for text in few)
    return few if covered and short and len(few) <= _MOST_LABELS else []
