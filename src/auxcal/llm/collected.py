"""Collects what records say in arrays: a row for each reply."""

from __future__ import annotations

import re
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log, nan
from typing import Any, NamedTuple

from auxcal._core.arrays import NO_CLASS
from auxcal._core.labels import LEFT_OUT, MISSING
from auxcal._core.text import some
from auxcal.llm.label_tokens import NOT_RETURNED, LabelTokens, check_logprob, last
from auxcal.llm.records import JSON, BadRecord, kind_of, lookup
from auxcal.llm.replies import FAILED, REFUSED, UNREADABLE, Parsed, Reply, Tokens

REPLY_SIGNALS = ("outside", "missing_labels", "mean_logprob", "min_logprob", "length", "stated_confidence")
"""What is known of each reply; `Question` adds what is known of all replies to a question."""

STATED = re.compile(r"(?i)confidence\W{0,6}(?:(?:is|of)\W{0,3})?(\d+(?:\.\d+)?|\.\d+)\s*(%)?")
"""A confidence that a model states in its text: the last number after the word."""

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

_LEAST_LEFT = 1e-12  # of a probability: what rounding leaves when those of the labels are taken from 1


@dataclass(frozen=True)
class Keys:
    """The keys of a record under which the user has something."""

    truth: str | None = None
    correct: str | None = None
    id: str | None = None
    group: str | None = None
    prediction: str | None = None
    signals: Sequence[str] = ()
    confidence: str | None = None
    pattern: re.Pattern[str] | None = None


class Row(NamedTuple):
    """What a reply says: the code of its answer, the log-probabilities of the labels, its signals."""

    code: int
    reason: str
    logprobs: Sequence[float]
    signals: tuple[float, ...]


NO_SIGNALS = (nan,) * len(REPLY_SIGNALS)


class Collector:
    """Collects records, each checked before anything of it is kept."""

    def __init__(self, labels: LabelTokens | None, keys: Keys, truths: Mapping[str, Any] | None) -> None:
        self.labels, self.keys, self._truths = labels, keys, truths
        self.ids: dict[str, int] = {}
        self.y, self.correct = array("q"), array("b")
        self.groups: list[Any] = []
        self.columns: dict[str, list[Any]] = {key: [] for key in keys.signals}
        self.truth_texts: list[str] = []
        self.lines = array("q")  # of each record: its line and its question
        self.heads = array("q")  # of each reply: its question, the code of its answer, its number of log-probabilities
        self.reasons: list[str] = []
        self.signals, self.logprobs = array("d"), array("d")
        self.texts: dict[str, int] = {}
        self.written: list[str] = []
        self._model: Any = None
        self._serials: dict[Any, int] = {}
        self._letters: dict[int, LabelTokens] = {}
        self._true_codes: dict[tuple[str | int, int], int] = {}

    def add(self, parsed: Parsed, record: JSON, line: int, raw: bytes) -> None:
        """Keep a record, or raise a `BadRecord` and keep nothing of it."""
        name = self._name(parsed, record, line)
        # Some servers give all responses one id, so that of the question counts too.
        serial = (name, parsed.serial or hash(raw)) if parsed.serial or (raw and parsed.id is not None) else None
        self._check_first(parsed.model, serial)
        labels = self.labels or self._labels_of(parsed.replies[0])
        prediction = lookup(record, self.keys.prediction) if self.keys.prediction else parsed.prediction
        stated = self._stated(record) if self.keys.confidence else None
        rows = [self._row(reply, labels, prediction, stated) for reply in parsed.replies]
        n_options = len(labels.labels) if labels else parsed.replies[0].n_options
        y, text, correct = self._truth(parsed, record, name, labels, n_options)
        extra = [self._extra(record, key) for key in self.keys.signals] if self.keys.signals else ()
        group = None if self.keys.group is None else self._group(record)
        question = self._question(name, y, text, correct, group, extra)
        if serial is not None:
            self._serials[serial] = line
        self._model = self._model or parsed.model
        self.lines.extend((line, question))
        for code, reason, logprobs, signals in rows:
            self.heads.extend((question, code, len(logprobs)))
            self.reasons.append(reason)
            self.logprobs.extend(logprobs)
            self.signals.extend(signals)

    # Who was asked, and whether this record is one of the others ------------------------------------------------------

    def _name(self, parsed: Parsed, record: JSON, line: int) -> str:
        found = parsed.id if self.keys.id is None else lookup(record, self.keys.id)
        if found is None and self.keys.id is not None:
            raise BadRecord(f"expected an id under {self.keys.id!r}; there is none")
        if found is not None and type(found) not in (str, int, float):
            raise BadRecord(f"expected an id that is a string or a number; got {kind_of(found)}")
        if type(found) is float:
            return f"{found:.15g}"
        return str(line if found is None else found)

    def _check_first(self, model: Any, serial: Any) -> None:
        if model is not None and self._model is not None and model != self._model:
            raise BadRecord(f"expected answers of one model, {self._model!r}; got one of {model!r}")
        if serial is not None and serial in self._serials:
            raise BadRecord(f"repeats line {self._serials[serial]}")

    def _question(self, name: str, y: int, text: str, correct: int, group: Any, extra: Sequence[Any]) -> int:
        """Return the place of a question, a new one if it is new; the truth must be that of earlier lines."""
        place = self.ids.get(name)
        if place is None:
            place = self.ids[name] = len(self.ids)
            self.y.append(y)
            self.correct.append(correct)
            if self.labels is None:
                self.truth_texts.append(text)
            if self.keys.group is not None:
                self.groups.append(group)
            for column, value in zip(self.columns.values(), extra, strict=True):
                column.append(value)
        elif y != self.y[place] or (self.labels is None and text != self.truth_texts[place]):
            raise BadRecord(f"expected the same truth as in an earlier line of {name!r}; got another")
        return place

    # What is replied --------------------------------------------------------------------------------------------------

    def _labels_of(self, reply: Reply) -> LabelTokens | None:
        """Return the letters of the options of a question, where the file says how many it has."""
        n = reply.n_options
        if not 2 <= n <= len(LETTERS):
            return None
        if n not in self._letters:
            self._letters[n] = LabelTokens(list(LETTERS[:n]))
        return self._letters[n]

    def _row(self, reply: Reply, labels: LabelTokens | None, prediction: Any, stated: float | None) -> Row:
        if reply.ended in (REFUSED, FAILED):
            return Row(-1, reply.ended, (), NO_SIGNALS)
        if reply.options is not None:
            return _row_of_options(reply, labels, nan if stated is None else stated)
        tokens = reply.tokens
        text = "".join([token["token"] for token in tokens]) if tokens else reply.text
        mean, least, length = _of_tokens(tokens, reply.length)
        said = self._stated_in(text) if stated is None else stated
        if labels is None:
            code = self._text_code(reply.text if prediction is None else prediction)
            reason = "" if code >= 0 and not reply.ended else reply.ended or UNREADABLE
            return Row(code, reason, (), (nan, nan, mean, least, length, said))
        code, at = _answer(text, reply.text, labels, prediction)
        if tokens is None or (at is None and len(tokens) > 1):
            reason = "" if code >= 0 else reply.ended or UNREADABLE
            return Row(code, reason, (), (nan, nan, mean, least, length, said))
        scores = labels.scores(tokens, 0 if at is None else _token_at(tokens, at))
        if scores.n_missing == len(labels.labels):
            return Row(-1, reply.ended or UNREADABLE, (), NO_SIGNALS)
        if code < 0:
            code = max(range(len(scores.logprobs)), key=scores.logprobs.__getitem__)
        return Row(code, "", scores.logprobs, (scores.outside, scores.n_missing, mean, least, length, said))

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
            found = re.search(r"(\d+(?:\.\d+)?|\.\d+)\s*(%)?", value)
            return nan if found is None else _as_share(found)
        return nan if value is None or isinstance(value, bool | list | dict) else _share(float(value))

    def _stated_in(self, text: str) -> float:
        pattern = self.keys.pattern
        if pattern is None:
            if "onfidence" not in text and "ONFIDENCE" not in text:
                return nan
            pattern = STATED
        found = last(pattern.finditer(text))
        return nan if found is None else _as_share(found)

    def _group(self, record: JSON) -> Any:
        value = lookup(record, self.keys.group or "")
        if value is None or isinstance(value, list | dict):
            raise BadRecord(f"expected a group under {self.keys.group!r}; got {kind_of(value)}")
        return str(value)

    def _extra(self, record: JSON, key: str) -> Any:
        value = lookup(record, key)
        if isinstance(value, list | dict):
            raise BadRecord(f"expected a number or a string under {key!r}; got {kind_of(value)}")
        return value

    # The truth --------------------------------------------------------------------------------------------------------

    def _truth(
        self, parsed: Parsed, record: JSON, name: str, labels: LabelTokens | None, n_options: int
    ) -> tuple[int, str, int]:
        """Return the index of the true label, or the true text, and whether the answer is right, as far as known."""
        if self.keys.correct is not None:
            return LEFT_OUT, "", _mark(lookup(record, self.keys.correct), self.keys.correct)
        if self._truths is not None:
            truth = self._truths.get(name)
        else:
            truth = parsed.truth if self.keys.truth is None else lookup(record, self.keys.truth)
        given = self._truths is not None or self.keys.truth is not None
        if n_options:
            return self._true_code(truth, labels, n_options), "", -1
        if parsed.correct is not None and not given:
            return LEFT_OUT, "", int(parsed.correct)
        if isinstance(truth, bool | list | dict):
            raise BadRecord(f"expected the true answer; got {kind_of(truth)}. Is it under correct (--correct)?")
        return LEFT_OUT, "" if truth is None else _plain(truth).casefold(), -1

    def _true_code(self, truth: Any, labels: LabelTokens | None, n_options: int) -> int:
        """Return the index of the true label, which is found out once."""
        if type(truth) not in (str, int):
            return _true_label(truth, labels, n_options)
        code = self._true_codes.get((truth, n_options))
        if code is None:
            code = self._true_codes[truth, n_options] = _true_label(truth, labels, n_options)
        return code


def _true_label(truth: Any, labels: LabelTokens | None, n_options: int) -> int:
    """Return the index of the true label: from a label, or a number that is none."""
    if truth is None or truth != truth:
        return LEFT_OUT
    if isinstance(truth, bool | list | dict):
        raise BadRecord(f"expected the true label; got {kind_of(truth)}. Is it under correct (--correct)?")
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


def _row_of_options(reply: Reply, labels: LabelTokens | None, stated: float) -> Row:
    """Return the row of a reply of which the file has the labels' log-probabilities."""
    options = reply.options or ()
    if labels is not None and len(options) != len(labels.labels):
        raise BadRecord(f"expected {len(labels.labels)} log-probabilities, one for each label; got {len(options)}")
    known = [each for each in options if each > NOT_RETURNED]  # NaN is not
    if not known:
        return Row(-1, UNREADABLE, (), NO_SIGNALS)
    largest = max(known)
    check_logprob(largest)
    n_missing = len(options) - len(known)
    least = min(known) - log(2)
    logprobs = [each if each > NOT_RETURNED else least for each in options] if n_missing else options
    if reply.n_options:  # whole texts, of which there are many others
        rest, missing = nan, nan
    else:
        rest, missing = log(max(1 - sum(map(exp, known)), _LEAST_LEFT)), float(n_missing)
    return Row(options.index(largest), "", logprobs, (rest, missing, nan, nan, nan, stated))


def _answer(text: str, other: str, labels: LabelTokens, prediction: Any) -> tuple[int, int | None]:
    """Return the label that is answered, and where in the text it is; -1 and None if it can't be told."""
    found = labels.find(text)
    if prediction is not None:
        place = labels.place(prediction if isinstance(prediction, str) else _plain(prediction))
        if place is None:
            return -1, None
        return place, found[1] if found is not None and found[0] == place else None
    if found is None and other != text:
        found = labels.find(other)
        return (-1, None) if found is None else (found[0], None)
    return (-1, None) if found is None else found


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


def _as_share(found: re.Match[str]) -> float:
    value = float(found[1])
    percent = found.re.groups > 1 and found[2]
    return value / 100 if percent else _share(value)


def _share(value: float) -> float:
    """Return a confidence as a share: what is above 1 is in percent."""
    return value / 100 if value > 1 else value
