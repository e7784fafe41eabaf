"""Noisy text: OCR errors and typos.

The semantics are those of nlpaug's ``OcrAug`` and ``RandomCharAug``: an operation draws a share of a document's words,
and in each of them a share of its characters. Unlike nlpaug, it keeps the spacing between words.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeVar

import numpy as np

from auxcal._core.errors import InvalidInputError

_T = TypeVar("_T")
_WORD = re.compile(r"\w+")
_TYPED = string.ascii_letters + string.digits + "!@#$%^&*()_+"


def _alternatives(groups: str) -> Mapping[str, Sequence[str]]:
    """Map every character to the other members of its groups."""
    sets = [set(group) for group in groups.split()]
    return {
        char: sorted(set().union(*(other for other in sets if char in other)) - {char}) for char in set().union(*sets)
    }


_LOOK_ALIKES = _alternatives("0OoDQ 1lIi7 2Zz 5Ss 8B3S 6bG 9gq uv ce hb rn kx CG EF UV ft")


@dataclass(frozen=True)
class _Operation:
    """How one kind of error changes characters of a word, and which words and characters it may touch."""

    change: Callable[[list[str], Sequence[int], np.random.Generator], None]
    min_length: int
    min_chars: int
    can_touch: Callable[[str], bool]


def _misread(chars: list[str], positions: Sequence[int], rng: np.random.Generator) -> None:
    for i in positions:
        chars[i] = _choice(_LOOK_ALIKES[chars[i]], rng)


def _substitute(chars: list[str], positions: Sequence[int], rng: np.random.Generator) -> None:
    for i in positions:
        chars[i] = _choice(_TYPED, rng)


def _swap(chars: list[str], positions: Sequence[int], rng: np.random.Generator) -> None:
    for i in positions:
        step = 1 if i == 0 else -1 if i == len(chars) - 1 else int(_choice((-1, 1), rng))
        first, second = chars[i], chars[i + step]
        chars[i], chars[i + step] = _with_case_of(first, second), _with_case_of(second, first)


def _delete(chars: list[str], positions: Sequence[int], rng: np.random.Generator) -> None:
    for i in positions:
        chars[i] = ""


OPERATIONS = MappingProxyType(
    {
        "ocr": _Operation(_misread, min_length=1, min_chars=2, can_touch=_LOOK_ALIKES.__contains__),
        "substitute": _Operation(_substitute, min_length=4, min_chars=1, can_touch=lambda char: True),
        "swap": _Operation(_swap, min_length=4, min_chars=1, can_touch=lambda char: True),
        "delete": _Operation(_delete, min_length=4, min_chars=1, can_touch=lambda char: True),
    }
)
"""The kinds of errors: a look-alike, a random character, two neighbours swapped, a character left out."""


@dataclass(frozen=True)
class TextNoise:
    """Add character errors to documents.

    Every operation is applied to every document, one after the other. It changes ``int(word_share * words)``
    words, at least one and at most `max_words`, and in each of them ``int(char_share * characters)``
    characters, at least one (two for "ocr") and at most ten. "ocr" touches only characters that have a
    look-alike; the others skip words of fewer than four characters. Spaces and punctuation between words never change.

    Parameters
    ----------
    operations : tuple of str
        Some of `OPERATIONS`: "ocr", "substitute", "swap", "delete".
    word_share : float
        The share of a document's words that each operation changes.
    char_share : float
        The share of such a word's characters that the operation changes.
    max_words : int or None
        The maximum number of words per document that each operation changes; None for no limit.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal_paper.shifts.text import TextNoise
    >>> noise = TextNoise(operations=("swap",))
    >>> noise(["confidence calibration, at last"], np.random.default_rng(0))
    ['confidence calibration, at lats']
    """

    operations: tuple[str, ...] = tuple(OPERATIONS)
    word_share: float = 0.3
    char_share: float = 0.3
    max_words: int | None = 10

    def __post_init__(self) -> None:
        unknown = sorted(set(self.operations) - set(OPERATIONS))
        if unknown:
            raise InvalidInputError(
                f"operations must be some of {', '.join(OPERATIONS)}; got {', '.join(self.operations)}. "
                f"Leave out {', '.join(unknown)}."
            )
        for name, share in (("word_share", self.word_share), ("char_share", self.char_share)):
            if not 0 <= share <= 1:
                raise InvalidInputError(f"{name} must be a share in [0, 1]; got {share}. 0.3 is three in ten.")
        if self.max_words is not None and self.max_words < 1:
            raise InvalidInputError(f"max_words must be at least 1; got {self.max_words}. Use None for no limit.")

    def __call__(self, documents: Iterable[str], rng: np.random.Generator | int) -> list[str]:
        """Return the documents with errors, in the same order.

        Parameters
        ----------
        documents : iterable of str
            The texts; they are not modified.
        rng : numpy Generator or int
            The only source of randomness.
        """
        if isinstance(documents, str):
            raise InvalidInputError("documents must be a list of texts; got a single text. Pass [text].")
        rng = np.random.default_rng(rng)
        return [self._noisy(document, rng) for document in documents]

    def _noisy(self, document: str, rng: np.random.Generator) -> str:
        for name in self.operations:
            document = self._apply(OPERATIONS[name], document, rng)
        return document

    def _apply(self, operation: _Operation, document: str, rng: np.random.Generator) -> str:
        spans = [match.span() for match in _WORD.finditer(document)]
        eligible = [i for i, (start, end) in enumerate(spans) if end - start >= operation.min_length]
        pieces, position = [], 0
        for i in _draw(eligible, _count(self.word_share, len(spans), 1, self.max_words), rng):
            start, end = spans[i]
            pieces += [document[position:start], self._changed(operation, document[start:end], rng)]
            position = end
        return "".join([*pieces, document[position:]])

    def _changed(self, operation: _Operation, word: str, rng: np.random.Generator) -> str:
        chars = list(word)
        eligible = [i for i, char in enumerate(chars) if operation.can_touch(char)]
        count = _count(self.char_share, len(chars), operation.min_chars, 10)
        operation.change(chars, _draw(eligible, count, rng), rng)
        return "".join(chars)


def _count(share: float, size: int, least: int, most: int | None) -> int:
    count = max(int(share * size), least)
    return count if most is None else min(count, most)


def _draw(items: Sequence[int], count: int, rng: np.random.Generator) -> list[int]:
    """Draw items without replacement, and keep their order."""
    return [items[i] for i in np.sort(rng.permutation(len(items))[:count])]


def _choice(items: Sequence[_T], rng: np.random.Generator) -> _T:
    return items[int(rng.random() * len(items))]


def _with_case_of(place: str, char: str) -> str:
    return char.upper() if place.isupper() else char.lower()
