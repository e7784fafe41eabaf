"""Labels and tokens: which label a text or a token means, and the log-probability of each label."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from math import exp, log
from typing import Any, NamedTuple

from auxcal._core.errors import InvalidInputError
from auxcal._core.labels import as_class_names
from auxcal.llm.records import BadRecord

NOT_RETURNED = -9999.0
"""The log-probability that OpenAI's servers give a token outside the likeliest ones: it means nothing but that."""

_MOST_TOTAL = 1.1  # of probabilities: what log-probabilities with one decimal may add up to

ROUNDING = 1e-3
"""By how much the log-probabilities of servers may exceed 0: those of float16 do."""

_WRAPPING = " \t\r\n\"'`*_#$()[]{}<>.,:;!=\\/ĠĊ▁“”‘’"  # before or after a label, with the blanks of two tokenizers
_STEM = 2  # letters: the start of a word by which an alternative token is known for it; one letter starts too many
_MOST_KNOWN = 100_000  # tokens that are remembered: about the size of a vocabulary
_AMBIGUOUS, _OUTSIDE = -1, -2  # codes of tokens that may be several labels, or none

_LEADS = "answer choice option label verdict grade rating boxed classification category".split()  # noqa: SIM905
_LEAD = "|".join(word for lead in _LEADS for word in (lead, lead.title(), lead.upper()))  # faster than (?i:…)
_BETWEEN = r"(?:[\s\"'*_:=(\[{$\\-]|(?i:\b(?:is|should be|would be|the|best|correct)\b))*"


class LabelScores(NamedTuple):
    """The log-probabilities of the labels, from the tokens at the place of the answer."""

    logprobs: list[float]
    """The log-probability of each label."""
    outside: float
    """The log-probability of all tokens that were returned and mean no label."""
    n_missing: int
    """How many labels were not returned."""


class LabelTokens:
    """Maps tokens and texts to labels.

    Parameters
    ----------
    labels : sequence of str
        What the model may answer, such as letters or words.

    Examples
    --------
    >>> from auxcal.llm.label_tokens import LabelTokens
    >>> letters = LabelTokens(["A", "B", "C", "D"])
    >>> letters.find("Let us see. The answer is (B).")
    (1, 27)
    >>> top = [{"token": " B", "logprob": -0.1}, {"token": "b", "logprob": -4.0}, {"token": "A.", "logprob": -3.0}]
    >>> scores = letters.scores([{"token": " B", "logprob": -0.1, "top_logprobs": top}], 0)
    >>> [round(logprob, 2) for logprob in scores.logprobs], scores.n_missing
    ([-3.0, -0.08, -4.69, -4.69], 2)
    """

    def __init__(self, labels: Sequence[str]) -> None:
        if isinstance(labels, str):
            raise InvalidInputError(f"labels must be a list of labels, such as {list(labels)}; got {labels!r}.")
        self.labels = as_class_names([str(label) for label in labels], len(labels))
        self._sensitive = len({label.casefold() for label in self.labels}) < len(labels)
        self._wrapped = any(label != label.strip(_WRAPPING) for label in self.labels)
        self._places = {self.fold(label): place for place, label in enumerate(self.labels)}
        self._codes: dict[str, _Codes] = {}
        *self._prose, self._named = _patterns(self.labels, sensitive=self._sensitive)

    def fold(self, text: str) -> str:
        """Return a text as it is compared: without what wraps it, in small letters unless two labels differ in them."""
        text = text.strip() if self._wrapped else text.strip(_WRAPPING)
        return text if self._sensitive else text.casefold()

    def place(self, text: Any) -> int | None:
        """Return the index of the label that a text is, or None."""
        return self._places.get(self.fold(text)) if isinstance(text, str) else None

    def find(self, text: str) -> tuple[int, int] | None:
        """Return the label that a text answers with and where it begins, or None if it is unclear."""
        place = self._places.get(self.fold(text))
        if place is not None:
            return place, len(text) - len(text.lstrip(None if self._wrapped else _WRAPPING))
        for pattern in self._prose:
            match = last(pattern.finditer(text))
            if match is not None:
                return self._places[self.fold(match["label"])], match.start("label")
        return self._only_one(text)

    def _only_one(self, text: str) -> tuple[int, int] | None:
        """Return the one label that a text names, if it names no other."""
        named = {self._places[self.fold(match["label"])]: match.start("label") for match in self._named.finditer(text)}
        return next(iter(named.items())) if len(named) == 1 else None

    def scores(self, content: Sequence[Mapping[str, Any]], first: int) -> LabelScores:
        """Return the log-probability of every label at a place of the answer.

        Variants of a label add up. While a token could begin several labels, the next one decides.
        """
        sums = [0.0] * (len(self.labels) + 2)  # the last two: what may be several labels, and what is none
        path, so_far = 0.0, ""
        for position in content[first:]:
            chosen, codes = position["token"], self._codes_after(so_far)
            top = position.get("top_logprobs") or ()
            for other in top:
                sums[codes[other["token"]]] += exp(path + other["logprob"])
            if not any(other["token"] == chosen for other in top):
                sums[codes[chosen]] += exp(path + position["logprob"])
            if codes[chosen] != _AMBIGUOUS:
                break
            path, so_far = path + position["logprob"], so_far + chosen
            sums[_AMBIGUOUS] -= exp(path)
        total = sum(sums)
        if not total <= _MOST_TOTAL:  # NaN is not
            raise BadRecord(f"expected log-probabilities of tokens; got probabilities that add up to {total:.4g}")
        returned_sums, outside = sums[:_OUTSIDE], sums[_OUTSIDE] + sums[_AMBIGUOUS]
        smallest = 0.0
        if not all(returned_sums) or outside <= 0:
            returned = [position["logprob"], *(other["logprob"] for other in top)]
            smallest = path + min((value for value in returned if value > NOT_RETURNED), default=0.0)
        return fill_missing(returned_sums, outside, smallest, 1 - total)

    def _codes_after(self, so_far: str) -> _Codes:
        codes = self._codes.get(so_far)
        if codes is None or len(codes) > _MOST_KNOWN:
            codes = self._codes[so_far] = _Codes(self, so_far)
        return codes

    def meaning(self, text: str) -> int:
        """Return the label that a text means or begins, or that it may begin several, or that it means none."""
        text = self.fold(text)
        if text in self._places:
            return self._places[text]
        begun = [place for label, place in self._places.items() if label.startswith(text)]
        if len(begun) == 1 and len(text) >= _STEM:
            return begun[0]
        return _AMBIGUOUS if begun else _OUTSIDE


class _Codes(dict[str, int]):
    """What tokens mean after others; each is looked up once."""

    def __init__(self, labels: LabelTokens, so_far: str) -> None:
        super().__init__()
        self._labels, self._so_far = labels, so_far

    def __missing__(self, token: str) -> int:
        code = self[token] = self._labels.meaning(self._so_far + token)
        return code


def fill_missing(sums: Sequence[float], outside: float, smallest: float, left: float) -> LabelScores:
    """Give labels that were not returned less than the smallest that was: half of it, or their share of what is left.

    The servers return the likeliest tokens, so that no other is likelier than these.
    """
    n_missing = sums.count(0.0)
    least = smallest - log(2)
    if n_missing and left > 0:
        least = min(least, log(left / n_missing))
    logprobs = [log(p) if p else least for p in sums]
    return LabelScores(logprobs, log(outside) if outside > 0 else least, n_missing)


def check_logprob(logprob: float) -> None:
    """Reject a value above 0, which no log-probability has."""
    if not logprob <= ROUNDING:  # NaN is not
        raise BadRecord(f"expected a log-probability, a number up to 0; got {logprob}")


def last(matches: Iterable[re.Match[str]]) -> re.Match[str] | None:
    """Return the last match, None if there is none."""
    return next(iter(deque(matches, maxlen=1)), None)


def _patterns(labels: Sequence[str], *, sensitive: bool) -> list[re.Pattern[str]]:
    """Return how answers are written, the surest first; the last finds labels anywhere.

    A single letter counts only as it is written, and with a mark after it: "A" is an article too.
    """
    long_first = sorted(labels, key=len, reverse=True)
    words = "|".join(re.escape(label) for label in long_first if len(label) > 1)
    letters = "|".join(re.escape(label) for label in long_first if len(label) == 1)
    flag = "" if sensitive else "i"
    word = rf"(?{flag}:{words})(?!\w)" if words else r"(?!)"
    letter = rf"(?:{letters})" if letters else r"(?!)"
    either = rf"(?P<label>{word}|{letter}(?!\w|['’]\w))"
    marked = rf"(?P<label>{word}|{letter}(?=\s*(?:[.):,;\]}}\"'*]|$)))"
    return [
        re.compile(rf"(?:{_LEAD}){_BETWEEN}{either}"),
        re.compile(rf"\A[\s\"'*_(\[]*{marked}"),
        re.compile(rf"(?:\A|\n)(?:[\"'*_(\[]|[^\S\n])*{marked}[\s.\"'*)\]]*\Z"),
        re.compile(rf"(?<!\w)(?P<label>{word}|(?<=\(){letter}(?=\)))"),
    ]
