"""Joins the replies to each question, and turns what was collected into `Answers`."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from auxcal._core.arrays import Bools, Floats, Ints
from auxcal._core.errors import InputWarning, InvalidInputError
from auxcal._core.labels import LEFT_OUT
from auxcal.llm.answers import Answers
from auxcal.llm.collected import LETTERS, REPLY_SIGNALS, Collector
from auxcal.llm.replies import NO_LOGPROBS

_RANKS = 3  # log-probabilities, the largest first, that stand for the logits where the number of options differs


SIGNALS = (*REPLY_SIGNALS, "agreement", "entropy", "margin", "options", *(f"logprob_{n + 1}" for n in range(_RANKS)))
"""What is known of answers without further keys of the user."""


class _Joined(NamedTuple):
    """What is known of each question."""

    scores: Floats
    """The log-probability of each label, NaN beyond the options of a question; no columns if there are none."""
    code: Ints
    signals: dict[str, Floats]
    answered: Bools
    reasons: list[str]


def as_answers(rows: Collector, format_name: str, problems: dict[int, str], *, wants_truth: bool) -> Answers:
    """Return the answers to all questions that have one, and whose truth is known if there is one."""
    joined = _join(rows)
    scores, code = joined.scores, joined.code
    width = scores.shape[1]
    whole = width > 1 and not np.isnan(scores[joined.answered]).any()
    labels = _labels(rows, width, whole=whole)
    y, correct = _truths(rows, code)
    signals = {**joined.signals, **_of_scores(scores, joined.answered, whole=whole), **_extras(rows)}
    known = joined.answered & _known(rows, correct, wants_truth=wants_truth)
    unanswered = Counter(joined.reasons[place] for place in np.flatnonzero(~joined.answered).tolist())
    has_truth = bool((correct[known] >= 0).all() and known.any())
    ids = np.array(list(rows.ids), dtype=object)
    return Answers(
        ids=ids[known],
        prediction=_predictions(rows, code, labels)[known],
        logits=scores[known] if whole else None,
        signals={name: column[known] for name, column in signals.items() if _tells(column[known])},
        y=y[known] if whole and has_truth and (y[known] != LEFT_OUT).all() else None,
        correct=correct[known] == 1 if has_truth else None,
        groups=np.array(rows.groups, dtype=object)[known] if rows.keys.group else None,
        labels=labels,
        answered=joined.answered,
        all_ids=ids,
        unanswered=dict(unanswered),
        format=format_name,
        lines=np.frombuffer(rows.lines, np.int64).reshape(-1, 2),
        problems=problems,
    )


def _join(rows: Collector) -> _Joined:
    n = len(rows.ids)
    question, read, sizes = np.frombuffer(rows.heads, np.int64).reshape(-1, 3).T
    reasons = rows.reasons
    answered = np.array([not reason for reason in reasons], np.bool_)
    if sizes.any():
        without = answered & (sizes == 0)
        reasons = [NO_LOGPROBS if lacks else reason for lacks, reason in zip(without, reasons, strict=True)]
        answered = answered & (sizes > 0)
    scores = _padded(np.frombuffer(rows.logprobs), sizes)
    columns = np.frombuffer(rows.signals).reshape(len(question), len(REPLY_SIGNALS))
    signals: dict[str, Floats] = dict(zip(REPLY_SIGNALS, columns.T, strict=True))
    if len(question) == n:
        return _Joined(scores, _best(scores, read), signals, answered, reasons)
    used = question[answered]
    merged = _mean_scores(scores[answered], used, n)
    code = _best(merged, _most_frequent(read[answered], used, n))
    signals = {name: _mean(column[answered], used, n) for name, column in signals.items()}
    signals["agreement"] = _agreement(read[answered], used, code)
    any_answer = np.bincount(used, minlength=n) > 0
    last = dict(zip(question.tolist(), reasons, strict=True))
    return _Joined(merged, code, signals, any_answer, [last[place] for place in range(n)])


def _padded(logprobs: Floats, sizes: Ints) -> Floats:
    """Return a row of log-probabilities for each reply, with NaN after the last one."""
    width = int(sizes.max(initial=0))
    scores = np.full((len(sizes), width), np.nan)
    scores[np.arange(width) < sizes[:, None]] = logprobs
    return scores


def _best(scores: Floats, code: Ints) -> Ints:
    """Return the likeliest label, or where no log-probabilities are known the answer that was read."""
    known = ~np.isnan(scores).all(axis=1)
    best = code.copy()
    if known.any():
        best[known] = np.nanargmax(scores[known], axis=1)
    return best


def _mean_scores(scores: Floats, question: Ints, n: int) -> Floats:
    """Return the logarithms of the mean probabilities of each question's replies."""
    top = np.full((n, scores.shape[1]), -np.inf)
    np.maximum.at(top, question, scores)
    total = np.zeros_like(top)
    np.add.at(total, question, np.exp(scores - top[question]))
    count = np.bincount(question, minlength=n)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):  # of questions without a reply
        return np.where(count > 0, top + np.log(total / count), np.nan)


def _mean(column: Floats, question: Ints, n: int) -> Floats:
    known = ~np.isnan(column)
    count = np.bincount(question[known], minlength=n)
    total = np.bincount(question[known], column[known], minlength=n)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _most_frequent(code: Ints, question: Ints, n: int) -> Ints:
    """Return the most frequent answer to each question, the first in a tie, -1 if there is none."""
    pairs, first, counts = np.unique(np.stack([question, code]), axis=1, return_index=True, return_counts=True)
    order = np.lexsort((first, -counts, pairs[0]))
    at, index = np.unique(pairs[0][order], return_index=True)
    found = np.full(n, -1, np.int64)
    found[at] = pairs[1][order][index]
    return found


def _agreement(code: Ints, question: Ints, chosen: Ints) -> Floats:
    """Return the share of a question's replies with its answer; NaN where there is but one."""
    n = len(chosen)
    count = np.bincount(question, minlength=n)
    same = np.bincount(question, code == chosen[question], minlength=n)
    return np.where(count > 1, same / np.maximum(count, 1), np.nan)


def _of_scores(scores: Floats, answered: Bools, *, whole: bool) -> dict[str, Floats]:
    """Return what stands for the logits where the number of options differs; where there are logits, they tell it all.

    On MMLU the entropy and the margin beside logits made the Brier score worse by up to .0007 at 100 labels.
    """
    if whole or scores.shape[1] < 2:
        return {}
    found = {name: np.full(len(scores), np.nan) for name in ("entropy", "margin")}
    known = scores[answered]
    ranked = -np.sort(-known, axis=1)  # NaN last
    shares = ranked - ranked[:, :1]
    shares -= np.log(np.nansum(np.exp(shares), axis=1, keepdims=True))
    found["entropy"][answered] = -np.nansum(np.exp(shares) * shares, axis=1)
    found["margin"][answered] = ranked[:, 0] - ranked[:, 1]
    for rank in range(min(_RANKS, scores.shape[1])):
        found[f"logprob_{rank + 1}"] = np.full(len(scores), np.nan)
        found[f"logprob_{rank + 1}"][answered] = shares[:, rank]
    found["options"] = (~np.isnan(scores)).sum(axis=1).astype(np.float64)
    return found


def _extras(rows: Collector) -> dict[str, NDArray[Any]]:
    """Return the user's own signals: numbers, or strings as they are."""
    found = {}
    for key, values in rows.columns.items():
        text = any(isinstance(value, str) for value in values)
        missing = None if text else np.nan
        column = [missing if value is None else str(value) if text else value for value in values]
        whole = all(type(value) is int for value in values)
        found[key] = np.array(column, dtype=object if text else np.int64 if whole else np.float64)
    return found


def _tells(column: NDArray[Any]) -> bool:
    """Whether a signal is known of any answer."""
    return any(value is not None for value in column) if column.dtype == object else not np.isnan(column).all()


def _truths(rows: Collector, code: Ints) -> tuple[Ints, Ints]:
    """Return the index of each true label, and whether each answer is right: 1, 0, or -1 where that is not known."""
    y, correct = np.frombuffer(rows.y, np.int64), np.frombuffer(rows.correct, np.int8).astype(np.int64)
    correct = np.where(y != LEFT_OUT, code == y, correct)
    if rows.truth_texts:
        texts = [rows.texts.get(text, -2) if text else LEFT_OUT for text in rows.truth_texts]
        true = np.array(texts, np.int64)
        correct = np.where((y == LEFT_OUT) & (true != LEFT_OUT), code == true, correct)
    return y, correct


def _known(rows: Collector, correct: Ints, *, wants_truth: bool) -> Bools:
    """Return the rows to keep: those with a truth, if the user said where it is; say so if it is not all."""
    known = correct >= 0
    if not wants_truth:
        return np.ones(len(known), np.bool_)
    if not known.any():
        where = rows.keys.truth or rows.keys.correct or "the table of truths"
        raise InvalidInputError(f"no question has a truth in {where!r}. Name where it is with truth (--truth).")
    if not known.all():
        missing = int((~known).sum())
        warnings.warn(
            f"{missing:,} of {len(known):,} questions have no truth and are left out.", InputWarning, stacklevel=4
        )
    return known


def _labels(rows: Collector, width: int, *, whole: bool) -> tuple[str, ...] | None:
    if rows.labels is not None:
        return rows.labels.labels
    return _option_names(width) if whole else None


def _option_names(n: int) -> tuple[str, ...]:
    """Return the names of options that have none: letters, or numbers where there are more."""
    return tuple(LETTERS[:n]) if n <= len(LETTERS) else tuple(map(str, range(n)))


def _predictions(rows: Collector, code: Ints, labels: tuple[str, ...] | None) -> NDArray[Any]:
    names = labels or tuple(rows.written) or _option_names(int(code.max(initial=0)) + 1)
    return np.array([*names, None], dtype=object)[code]  # -1 is the last
