"""`read`: from a file that a server or a tool wrote to `Answers`, in one pass."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Mapping, Sequence
from itertools import chain, islice
from typing import Any, Literal, TypeAlias

from auxcal._core.errors import InputWarning, InvalidInputError
from auxcal._core.files import as_path
from auxcal._core.text import some
from auxcal.llm.answers import Answers
from auxcal.llm.collected import Collector, Keys, as_answers
from auxcal.llm.label_tokens import LabelTokens
from auxcal.llm.records import BadRecord, Record, read_records
from auxcal.llm.replies import Format
from auxcal.llm.writers import format_named, recognise

Truth: TypeAlias = str | os.PathLike[str] | Mapping[Any, Any]
"""Where the true answers are: under a key of each record, in a mapping or in a table by id."""

_FIRST = 100  # records to recognise the format from: requests at the start of a file may have failed
_MOST_SHOWN = 5  # lines that can't be used, in a warning
_TABLES = (".csv", ".jsonl", ".ndjson", ".parquet")

FILES = (".jsonl", ".ndjson", ".json")
"""The extensions of files that may hold answers of a language model, and not only tables of them."""


def read(
    path: str | os.PathLike[str],
    labels: Sequence[str] | None = None,
    truth: Truth | None = None,
    format: str | None = None,  # noqa: A002 (the word that users know)
    *,
    correct: str | None = None,
    id: str | None = None,  # noqa: A002
    group: str | None = None,
    prediction: str | None = None,
    columns: Sequence[str] | None = None,
    probabilities: bool = False,
    signals: Sequence[str] = (),
    confidence: str | None = None,
    filter: str | None = None,  # noqa: A002
    on_bad_rows: Literal["fail", "skip"] = "fail",
) -> Answers:
    r"""Read what a language model answered, with its token probabilities and other signals.

    The file is what the server or the tool wrote: chat completions or responses of OpenAI's API and of servers that
    speak like it, one a line, bare, from the batch API, or under `response` beside keys of your own; samples of
    lm-evaluation-harness; a log of Inspect in JSON; or a table.

    A label that was not returned gets less than the least likely token that was: half of its probability, or its share
    of what is left. So all logits are finite, and the signal `missing_labels` counts such labels.

    Parameters
    ----------
    path : path
        A `.jsonl`, `.json`, `.csv` or `.parquet` file.
    labels : sequence of str, optional
        What the model may answer. Variants of a label ("A", " a", "(A", "A.") add up. Without labels an answer is its
        text, unless the file has the log-probabilities of options.
    truth : str, mapping or path, optional
        The true answers: a key of each record, with dots for keys within keys; a mapping by id; or a table with the
        columns `id` and `truth`. Samples of lm-evaluation-harness and logs of Inspect have them.
    format : {"chat", "responses", "harness", "inspect", "table"}, optional
        What wrote the file; by default this is seen from its keys.
    correct : str, optional
        The key of whether the answer is right, instead of `truth`.
    id, group : str, optional
        The keys of the question's id and of what it belongs to. Replies with the same id are one row, whose signal
        `agreement` is the share of replies with the most frequent answer.
    prediction : str, optional
        The key of the answer, where it was read from the text before.
    columns : sequence of str, optional
        The columns of a table that hold the log-probabilities of the labels, in their order; missing: not returned.
    probabilities : bool
        These columns hold probabilities; 0: not returned.
    signals : sequence of str
        Further keys whose numbers or strings are signals.
    confidence : str, optional
        The confidence that the model states: a key, or a regular expression with a group that finds it in the text.
        By default the last number after "confidence". What is above 1 is in percent.
    filter : str, optional
        Which filter of lm-evaluation-harness; by default the first.
    on_bad_rows : {"fail", "skip"}
        What becomes of a line that can't be used: an error with its number and the reason, or it is left out with an
        `InputWarning`.

    Returns
    -------
    Answers

    Examples
    --------
    >>> import json, tempfile
    >>> from pathlib import Path
    >>> import auxcal
    >>> def line(number, letter, other):
    ...     top = [{"token": letter, "logprob": -0.2}, {"token": other, "logprob": -2.0}]
    ...     content = [{"token": letter, "logprob": -0.2, "top_logprobs": top}]
    ...     choice = {"message": {"content": letter}, "logprobs": {"content": content}, "finish_reason": "stop"}
    ...     return json.dumps({"id": number, "truth": "A", "response": {"choices": [choice]}})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "answers.jsonl"
    ...     _ = path.write_text(line(1, "A", "B") + "\n" + line(2, " b", "A") + "\n")
    ...     answers = auxcal.llm.read(path, labels=["A", "B", "C"], truth="truth")
    >>> answers.prediction, answers.correct
    (array(['A', 'B'], dtype=object), array([ True, False]))
    >>> answers.logits.round(1)
    array([[-0.2, -2. , -3.1],
           [-2. , -0.2, -3.1]])
    >>> sorted(answers.signals)
    ['length', 'mean_logprob', 'min_logprob', 'missing_labels', 'outside']
    """
    if on_bad_rows not in ("fail", "skip"):
        raise InvalidInputError(f"on_bad_rows must be one of fail, skip; got {on_bad_rows!r}.")
    path = as_path(path)
    key, truths = _truths(truth)
    pattern = re.compile(confidence) if confidence is not None and "(" in confidence else None
    keys = Keys(key, correct, id, group, prediction, tuple(signals), None if pattern else confidence, pattern)
    rows = Collector(LabelTokens(labels) if labels is not None else None, keys, truths)
    named = [*(columns or ()), *([prediction] if prediction else [])]
    records = read_records(path)
    if format is None:
        first = list(islice(records, _FIRST))
        format, records = recognise(path, first, named), chain(first, records)  # noqa: A001
    layout = format_named(format)
    options = {"columns": columns, "probabilities": probabilities, "filter": filter}
    problems: dict[int, str] = {}
    line = "line" if path.suffix.lower() in (".jsonl", ".ndjson") else "record"
    for record in records:
        problem = record.problem or _added(rows, record, layout, options)
        if problem and on_bad_rows == "fail":
            raise InvalidInputError(
                f"{path}: {line} {record.line}: {problem}. To leave such {line}s out, give on_bad_rows='skip' "
                f"(--on-bad-rows skip)."
            )
        if problem:
            problems[record.line] = problem
    if not rows.questions:
        raise InvalidInputError(f"{path}: there are no answers to read{_shown(problems, line)}.")
    if problems:
        n = len(problems) + rows.n_replies
        warnings.warn(
            f"{path}: {len(problems):,} of {n:,} {line}s can't be used and are left out{_shown(problems, line)}.",
            InputWarning,
            stacklevel=2,
        )
    return as_answers(rows, format, problems, wants_truth=truth is not None or correct is not None)


def holds_answers(path: str | os.PathLike[str]) -> bool:
    """Whether the keys of a file show that it holds answers of a language model, and not the rows of a table."""
    path = as_path(path)
    try:
        recognise(path, list(islice(read_records(path), _FIRST)))
    except InvalidInputError:
        return False
    return True


def _added(rows: Collector, record: Record, layout: Format, options: dict[str, Any]) -> str:
    """Keep a record; return why it can't be used, or nothing."""
    value = record.value
    if value is None:
        return record.problem
    try:
        parsed = layout.parse(value, options)
        if parsed is not None:
            rows.add(parsed, value, record.line, record.raw)
    except BadRecord as bad:
        return str(bad)
    except KeyError as error:
        return f"expected the key {error.args[0]!r} of {layout.title}; it is missing"
    except (TypeError, AttributeError, ValueError, IndexError, OverflowError) as error:
        return f"expected {layout.title}; something in it is of another type ({error})"
    return ""


def _shown(problems: Mapping[int, str], line: str) -> str:
    first = [f"{line} {number}: {reason}" for number, reason in islice(problems.items(), _MOST_SHOWN)]
    more = f"; and {len(problems) - _MOST_SHOWN} more" if len(problems) > _MOST_SHOWN else ""
    return f" ({'; '.join(first)}{more})" if first else ""


def _truths(truth: Truth | None) -> tuple[str | None, dict[str, Any] | None]:
    """Return the key of the truth, or the truths by id."""
    if truth is None:
        return None, None
    if hasattr(truth, "items"):
        return None, {_text(key): value for key, value in truth.items()}
    path = as_path(truth)
    if path.suffix.lower() not in _TABLES:
        return str(truth), None
    truths = {}
    for record in read_records(path):
        if record.value is None:
            raise InvalidInputError(f"{path}: line {record.line}: {record.problem}.")
        missing = [key for key in ("id", "truth") if key not in record.value]
        if missing:
            raise InvalidInputError(f"{path}: expected the columns 'id' and 'truth'; got {some(list(record.value))}.")
        truths[_text(record.value["id"])] = record.value["truth"]
    return None, truths


def _text(key: Any) -> str:
    return f"{key:.15g}" if isinstance(key, float) else str(key)
