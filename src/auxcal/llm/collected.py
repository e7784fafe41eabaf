"""Collects the records of each question, and turns them into `Answers`."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
from math import exp, log, nan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from auxcal._core.arrays import NO_CLASS, Bools, Floats, Ints
from auxcal._core.errors import InputWarning, InvalidInputError
from auxcal._core.labels import LEFT_OUT, MISSING
from auxcal._core.text import some
from auxcal.llm.answers import Answers
from auxcal.llm.label_tokens import NOT_RETURNED, LabelTokens, check_logprob, last
from auxcal.llm.records import JSON, BadRecord, kind_of, lookup
from auxcal.llm.replies import FAILED, NO_LOGPROBS, REFUSED, UNREADABLE, Parsed, Reply, Tokens

_RANKS = 3  # log-probabilities, the largest first, that stand for the logits where the number of options differs

_OF_REPLY = ("outside", "missing_labels", "mean_logprob", "min_logprob", "length", "stated_confidence")

SIGNALS = (*_OF_REPLY, "agreement", "entropy", "margin", "options", *(f"logprob_{n + 1}" for n in range(_RANKS)))
"""The signals of answers without further keys of the user."""

_STATED = re.compile(r"(?i)confidence\W{0,6}(?:(?:is|of)\W{0,3})?(\d+(?:\.\d+)?|\.\d+)\s*(%)?")
"""A confidence that a model states in its text: the last number after the word."""

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

_LEAST_LEFT = 1e-12  # of a probability: what rounding leaves when those of the labels are taken from 1


@dataclass(frozen=True)
class Keys:
    """The keys of a record that the user named."""

    truth: str | None = None
    correct: str | None = None
    id: str | None = None
    group: str | None = None
    prediction: str | None = None
    signals: Sequence[str] = ()
    confidence: str | None = None
    pattern: re.Pattern[str] | None = None


class _Row(NamedTuple):
    """A reply: the code of its answer, or why there is none, the log-probabilities of the labels, signals."""

    code: int
    reason: str = ""
    logprobs: Sequence[float] = ()
    signals: Sequence[float] = (nan,) * len(_OF_REPLY)


class _Truth(NamedTuple):
    """The index of the true label, or the true text, or whether the answer is right; as far as known."""

    y: int = LEFT_OUT
    text: str = ""
    mark: int = -1


class _Question(NamedTuple):
    """A question with its truth, group and signals, and the replies to it."""

    place: int
    truth: _Truth
    group: str | None
    signals: Sequence[Any]
    rows: list[_Row]


class Collector:
    """Collects records, each checked before anything of it is kept."""

    def __init__(self, labels: LabelTokens | None, keys: Keys, truths: Mapping[str, Any] | None) -> None:
        self.labels, self.keys, self._truths = labels, keys, truths
        self.questions: dict[str, _Question] = {}
        self.lines: list[tuple[int, int]] = []  # the number of each line, and the place of its question
        self.texts: dict[str, int] = {}
        self.written: list[str] = []
        self._model: Any = None
        self._serials: dict[Any, int] = {}

    def add(self, parsed: Parsed, record: JSON, line: int, raw: bytes) -> None:
        """Keep a record, or raise a `BadRecord` and keep nothing of it."""
        name = self._name(parsed, record, line)
        # Some servers give all responses one id, so that of the question counts too.
        serial = (name, parsed.serial or hash(raw)) if parsed.serial or (raw and parsed.id is not None) else None
        self._check_first(parsed.model, serial)
        n_options = parsed.replies[0].n_options
        labels = self.labels or (_letters(n_options) if 2 <= n_options <= len(_LETTERS) else None)
        prediction = lookup(record, self.keys.prediction) if self.keys.prediction else parsed.prediction
        stated = self._stated(record) if self.keys.confidence else None
        rows = [self._row(reply, labels, prediction, stated) for reply in parsed.replies]
        truth = self._truth(parsed, record, name, labels, len(labels.labels) if labels else n_options)
        signals = tuple(_scalar(record, key) for key in self.keys.signals)
        group = None if self.keys.group is None else str(_scalar(record, self.keys.group, is_group=True))
        question = self.questions.get(name) or _Question(len(self.questions), truth, group, signals, [])
        if (truth.y, truth.text) != (question.truth.y, question.truth.text):
            raise BadRecord(f"expected the same truth as in an earlier line of {name!r}; got another")
        self.questions[name] = question
        question.rows.extend(rows)
        self.lines.append((line, question.place))
        if serial is not None:
            self._serials[serial] = line
        self._model = self._model or parsed.model

    @property
    def n_replies(self) -> int:
        """How many replies were kept."""
        return sum(len(question.rows) for question in self.questions.values())

    # Who was asked, and whether this record is one of the others ------------------------------------------------------

    def _name(self, parsed: Parsed, record: JSON, line: int) -> str:
        name = parsed.id if self.keys.id is None else lookup(record, self.keys.id)
        if name is None and self.keys.id is not None:
            raise BadRecord(f"expected an id under {self.keys.id!r}; there is none")
        if name is not None and type(name) not in (str, int, float):
            raise BadRecord(f"expected an id that is a string or a number; got {kind_of(name)}")
        if type(name) is float:
            return f"{name:.15g}"
        return str(line if name is None else name)

    def _check_first(self, model: Any, serial: Any) -> None:
        if model is not None and self._model is not None and model != self._model:
            raise BadRecord(f"expected answers of one model, {self._model!r}; got one of {model!r}")
        if serial is not None and serial in self._serials:
            raise BadRecord(f"repeats line {self._serials[serial]}")

    # What is replied --------------------------------------------------------------------------------------------------

    def _row(self, reply: Reply, labels: LabelTokens | None, prediction: Any, stated: float | None) -> _Row:
        if reply.ended in (REFUSED, FAILED):
            return _Row(-1, reply.ended)
        if reply.options is not None:
            return _row_of_options(reply, labels, nan if stated is None else stated)
        tokens = reply.tokens
        text = "".join([token["token"] for token in tokens]) if tokens else reply.text
        mean, least, length = _of_tokens(tokens, reply.length)
        stated = self._stated_in(text) if stated is None else stated
        if labels is None:
            code = self._text_code(reply.text if prediction is None else prediction)
            reason = "" if code >= 0 and not reply.ended else reply.ended or UNREADABLE
            return _Row(code, reason, (), (nan, nan, mean, least, length, stated))
        code, at = _answer(text, reply.text, labels, prediction)
        if tokens is None or (at is None and len(tokens) > 1):
            reason = "" if code >= 0 else reply.ended or UNREADABLE
            return _Row(code, reason, (), (nan, nan, mean, least, length, stated))
        scores = labels.scores(tokens, 0 if at is None else _token_at(tokens, at))
        if scores.n_missing == len(labels.labels):
            return _Row(-1, reply.ended or UNREADABLE)
        if code < 0:
            code = max(range(len(scores.logprobs)), key=scores.logprobs.__getitem__)
        return _Row(code, "", tuple(scores.logprobs), (scores.outside, scores.n_missing, mean, least, length, stated))

    def _text_code(self, prediction: Any) -> int:
        """Return a number for each text that is another, -1 for none."""
        text = _plain(prediction)
        if not text:
            return -1
        code = self.texts.setdefault(text.casefold(), len(self.written))
        if code == len(self.written):
            self.written.append(text)
        return code

    # What the user has beside it --------------------------------------------------------------------------------------

    def _stated(self, record: JSON) -> float:
        value = lookup(record, self.keys.confidence or "")
        if isinstance(value, str):
            match = re.search(r"(\d+(?:\.\d+)?|\.\d+)\s*(%)?", value)
            return nan if match is None else _as_share(match)
        return nan if value is None or isinstance(value, bool | list | dict) else _share(float(value))

    def _stated_in(self, text: str) -> float:
        pattern = self.keys.pattern
        if pattern is None:
            if "onfidence" not in text and "ONFIDENCE" not in text:
                return nan
            pattern = _STATED
        match = last(pattern.finditer(text))
        return nan if match is None else _as_share(match)

    # The truth --------------------------------------------------------------------------------------------------------

    def _truth(self, parsed: Parsed, record: JSON, name: str, labels: LabelTokens | None, n_options: int) -> _Truth:
        """Return the index of the true label, or the true text, and whether the answer is right, as far as known."""
        if self.keys.correct is not None:
            return _Truth(mark=_mark(lookup(record, self.keys.correct), self.keys.correct))
        if self._truths is not None:
            truth = self._truths.get(name)
        else:
            truth = parsed.truth if self.keys.truth is None else lookup(record, self.keys.truth)
        named = self._truths is not None or self.keys.truth is not None
        if parsed.correct is not None and not named and not n_options:
            return _Truth(mark=int(parsed.correct))
        if isinstance(truth, bool | list | dict):
            what = "label" if n_options else "answer"
            raise BadRecord(f"expected the true {what}; got {kind_of(truth)}. Is it under correct (--correct)?")
        return _Truth(_true_label(truth, labels, n_options)) if n_options else _Truth(text=_plain(truth).casefold())


def _scalar(record: JSON, key: str, *, is_group: bool = False) -> Any:
    """Return the number or string under a key; None if there is none, which no group may be."""
    value = lookup(record, key)
    if isinstance(value, list | dict) or (is_group and value is None):
        raise BadRecord(
            f"expected {'a group' if is_group else 'a number or a string'} under {key!r}; got {kind_of(value)}"
        )
    return value


@cache
def _letters(n: int) -> LabelTokens:
    """Return the letters of the options of a question."""
    return LabelTokens(list(_LETTERS[:n]))


def _true_label(truth: Any, labels: LabelTokens | None, n_options: int) -> int:
    """Return the index of the true label, given as a label or as its index."""
    if truth is None or truth != truth:
        return LEFT_OUT
    text = f"{truth:.15g}" if isinstance(truth, int | float) else str(truth).strip()
    place = None if labels is None else labels.place(text)
    if place is not None:
        return place
    if text in MISSING:
        return LEFT_OUT
    number = int(text) if text.removeprefix("-").isdecimal() else None
    if number is None or not NO_CLASS <= number < n_options:
        known = some(labels.labels) if labels is not None else f"0 to {n_options - 1}"
        raise BadRecord(f"expected a truth that is one of {known}; got {truth!r}")
    return number


def _mark(value: Any, key: str) -> int:
    """Return whether an answer is right, -1 if that is not known."""
    marks = {"c": 1, "i": 0, "true": 1, "false": 0, "1": 1, "0": 0, "": -1}
    text = "" if value is None or value != value else f"{value:g}" if isinstance(value, float) else str(value)
    mark = marks.get(text.strip().casefold())
    if mark is None:
        raise BadRecord(f"expected true or false, 1 or 0, C or I under {key!r}; got {value!r}")
    return mark


def _row_of_options(reply: Reply, labels: LabelTokens | None, stated: float) -> _Row:
    """Return the row of a reply whose labels have log-probabilities in the file."""
    options = reply.options or ()
    if labels is not None and len(options) != len(labels.labels):
        raise BadRecord(f"expected {len(labels.labels)} log-probabilities, one for each label; got {len(options)}")
    known = [logprob for logprob in options if logprob > NOT_RETURNED]  # NaN is not
    if not known:
        return _Row(-1, UNREADABLE)
    largest = max(known)
    check_logprob(largest)
    n_missing = len(options) - len(known)
    least = min(known) - log(2)
    logprobs = [logprob if logprob > NOT_RETURNED else least for logprob in options] if n_missing else options
    if reply.n_options:  # whole texts, where many others are possible
        rest, missing = nan, nan
    else:
        rest, missing = log(max(1 - sum(map(exp, known)), _LEAST_LEFT)), float(n_missing)
    return _Row(options.index(largest), "", logprobs, (rest, missing, nan, nan, nan, stated))


def _answer(text: str, other: str, labels: LabelTokens, prediction: Any) -> tuple[int, int | None]:
    """Return the label that is answered, and where in the text it is; -1 and None if it is unclear."""
    answer = labels.find(text)
    if prediction is not None:
        place = labels.place(prediction if isinstance(prediction, str) else _plain(prediction))
        if place is None:
            return -1, None
        return place, answer[1] if answer is not None and answer[0] == place else None
    if answer is None and other != text:
        answer = labels.find(other)
        return (-1, None) if answer is None else (answer[0], None)
    return (-1, None) if answer is None else answer


def _token_at(tokens: Tokens, at: int) -> int:
    """Return the place of the token that has a character of the text."""
    for place, token in enumerate(tokens):
        at -= len(token["token"])
        if at < 0:
            return place
    return len(tokens) - 1


def _of_tokens(tokens: Tokens | None, length: float) -> tuple[float, float, float]:
    """Return the mean and the smallest log-probability of tokens, and their number."""
    if not tokens:
        return nan, nan, length
    if len(tokens) == 1 and NOT_RETURNED < (logprob := tokens[0]["logprob"]) <= 0:
        return logprob, logprob, 1.0
    values = [token["logprob"] for token in tokens]
    total, least = sum(values), min(values)
    check_logprob(max(values))
    check_logprob(total)  # NaN hides from max
    if least <= NOT_RETURNED:
        values = [value for value in values if value > NOT_RETURNED] or [nan]
        total, least = sum(values), min(values)
    return total / len(values), least, float(len(tokens))


def _plain(value: Any) -> str:
    """Return an answer as it is compared with the truth: without blanks and a full stop around it."""
    text = f"{value:.15g}" if isinstance(value, float) else "" if value is None else str(value)
    return text.strip().removesuffix(".").strip()


def _as_share(match: re.Match[str]) -> float:
    value = float(match[1])
    percent = match.re.groups > 1 and match[2]
    return value / 100 if percent else _share(value)


def _share(value: float) -> float:
    """Return a confidence as a share: what is above 1 is in percent."""
    return value / 100 if value > 1 else value


def as_answers(rows: Collector, format_name: str, problems: dict[int, str], *, wants_truth: bool) -> Answers:
    """Return the answers to all questions that have one, and whose truth is known if there is one."""
    questions = list(rows.questions.values())
    has_logprobs = any(row.logprobs for question in questions for row in question.rows)
    joined = [_joined(question.rows, has_logprobs=has_logprobs) for question in questions]
    answered = np.array([not row.reason for row in joined], np.bool_)
    width = max(len(row.logprobs) for row in joined)
    scores = np.array([[*row.logprobs, *(nan,) * (width - len(row.logprobs))] for row in joined])
    whole = width > 1 and not np.isnan(scores[answered]).any()
    labels = rows.labels.labels if rows.labels is not None else _option_names(width) if whole else None
    y = np.array([question.truth.y for question in questions], np.int64)
    marks = [_is_right(row.code, question.truth, rows.texts) for row, question in zip(joined, questions, strict=True)]
    correct = np.array(marks, np.int64)
    of_replies = dict(zip((*_OF_REPLY, "agreement"), np.array([row.signals for row in joined]).T, strict=True))
    signals = {**of_replies, **_of_scores(scores, answered, whole=whole), **_extras(rows)}
    known = answered & _known(rows, correct, wants_truth=wants_truth)
    has_truth = bool((correct[known] >= 0).all() and known.any())
    ids = np.array(list(rows.questions), dtype=object)
    return Answers(
        ids=ids[known],
        prediction=_predictions(rows, joined, labels)[known],
        logits=scores[known] if whole else None,
        signals={name: column[known] for name, column in signals.items() if _is_known(column[known])},
        y=y[known] if whole and has_truth and (y[known] != LEFT_OUT).all() else None,
        correct=correct[known] == 1 if has_truth else None,
        groups=np.array([question.group for question in questions], dtype=object)[known] if rows.keys.group else None,
        labels=labels,
        answered=answered,
        all_ids=ids,
        unanswered=dict(Counter(row.reason for row in joined if row.reason)),
        format=format_name,
        lines=np.array(rows.lines, np.int64),
        problems=problems,
    )


def _joined(rows: Sequence[_Row], *, has_logprobs: bool) -> _Row:
    """Return the replies to a question as one row; their agreement is one more signal."""
    used = [row for row in rows if not row.reason and (row.logprobs or not has_logprobs)]
    if not used:
        return _Row(-1, rows[-1].reason or NO_LOGPROBS, signals=(nan,) * (len(_OF_REPLY) + 1))
    code, _, logprobs, signals = used[0]
    if len(used) > 1:
        code = Counter(row.code for row in used).most_common(1)[0][0]  # the first in a tie
        logprobs = [_log_mean(column) for column in zip_longest(*(row.logprobs for row in used), fillvalue=nan)]
        signals = [_mean(column) for column in zip(*(row.signals for row in used), strict=True)]
    if logprobs:
        code = logprobs.index(max(logprobs))
    agreement = sum(row.code == code for row in used) / len(used) if len(used) > 1 else nan
    return _Row(code, "", logprobs, (*signals, agreement))


def _log_mean(logprobs: Sequence[float]) -> float:
    """Return the logarithm of the mean probability."""
    top = max(logprobs)
    return top + log(sum(exp(logprob - top) for logprob in logprobs) / len(logprobs))


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if value == value]
    return sum(known) / len(known) if known else nan


def _is_right(code: int, truth: _Truth, texts: Mapping[str, int]) -> int:
    """Return whether an answer is right: 1, 0, or -1 where that is not known."""
    if truth.y != LEFT_OUT:
        return code == truth.y
    return code == texts.get(truth.text) if truth.text else truth.mark


def _of_scores(scores: Floats, answered: Bools, *, whole: bool) -> dict[str, Floats]:
    """Return what stands for the logits where the number of options differs; where there are logits, they hold it all.

    On MMLU the entropy and the margin beside logits made the Brier score worse by up to .0007 at 100 labels.
    """
    if whole or scores.shape[1] < 2:
        return {}
    signals = {name: np.full(len(scores), np.nan) for name in ("entropy", "margin")}
    known = scores[answered]
    ranked = -np.sort(-known, axis=1)  # NaN last
    shares = ranked - ranked[:, :1]
    shares -= np.log(np.nansum(np.exp(shares), axis=1, keepdims=True))
    signals["entropy"][answered] = -np.nansum(np.exp(shares) * shares, axis=1)
    signals["margin"][answered] = ranked[:, 0] - ranked[:, 1]
    for rank in range(min(_RANKS, scores.shape[1])):
        signals[f"logprob_{rank + 1}"] = np.full(len(scores), np.nan)
        signals[f"logprob_{rank + 1}"][answered] = shares[:, rank]
    signals["options"] = (~np.isnan(scores)).sum(axis=1).astype(np.float64)
    return signals


def _extras(rows: Collector) -> dict[str, NDArray[Any]]:
    """Return the user's own signals: numbers, or strings as they are."""
    columns = {}
    for place, key in enumerate(rows.keys.signals):
        values = [question.signals[place] for question in rows.questions.values()]
        text = any(isinstance(value, str) for value in values)
        missing = None if text else np.nan
        column = [missing if value is None else str(value) if text else value for value in values]
        whole = all(type(value) is int for value in values)
        columns[key] = np.array(column, dtype=object if text else np.int64 if whole else np.float64)
    return columns


def _is_known(column: NDArray[Any]) -> bool:
    """Whether any answer has the signal."""
    return any(value is not None for value in column) if column.dtype == object else not np.isnan(column).all()


def _known(rows: Collector, correct: Ints, *, wants_truth: bool) -> Bools:
    """Return the rows to keep: those with a truth, if the user named its key; warn if it is not all."""
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


def _option_names(n: int) -> tuple[str, ...]:
    """Return the names of options that have none: letters, or numbers where there are more."""
    return tuple(_LETTERS[:n]) if n <= len(_LETTERS) else tuple(map(str, range(n)))


def _predictions(rows: Collector, joined: Sequence[_Row], labels: tuple[str, ...] | None) -> NDArray[Any]:
    code = [row.code for row in joined]
    names = labels or tuple(rows.written) or _option_names(max(code) + 1)
    return np.array([*names, None], dtype=object)[code]  # -1 is the last
