"""Noisy text: OCR errors and typos, as nlpaug makes them.

The semantics, strengths and look-alikes are those of ``OcrAug`` and ``RandomCharAug`` in nlpaug 0.0.14 of April 2020,
the last before the paper. Later versions change more: they draw only from words that are long enough, round up, and
misread at least two characters.
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
_TOKEN = re.compile(r"\w+|[^\w\s]")
_TYPED = string.ascii_letters + string.digits + "!@#$%^&*()_+"
_TRIES = 4  # nlpaug's: a document that comes out as it went in is tried again


def _mutual(pairs: str) -> Mapping[str, Sequence[str]]:
    """Map every character to those that it is misread as; "08" is 0 read as 8, and 8 as 0."""
    both = [*pairs.split(), *(pair[::-1] for pair in pairs.split())]
    return {char: sorted({pair[1] for pair in both if pair[0] == char}) for char in {pair[0] for pair in both}}


_LOOK_ALIKES = _mutual("08 09 0o 0O 0D 14 17 1l 1I 2z 2Z 58 6b 8s 8S 8@ 8& 9g ou rk CG OD OU EB")


@dataclass(frozen=True)
class _Operation:
    """How one kind of error changes characters of a word, and which words and characters it may touch."""

    change: Callable[[list[str], Sequence[int], np.random.Generator], None]
    min_length: int
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
        "ocr": _Operation(_misread, min_length=1, can_touch=_LOOK_ALIKES.__contains__),
        "substitute": _Operation(_substitute, min_length=4, can_touch=lambda char: True),
        "swap": _Operation(_swap, min_length=4, can_touch=lambda char: True),
        "delete": _Operation(_delete, min_length=4, can_touch=lambda char: True),
    }
)
"""The kinds of errors: a look-alike, a random character, two neighbours swapped, a character left out."""


@dataclass(frozen=True)
class TextNoise:
    """Add character errors to documents.

    Every operation is applied to every document, one after the other. It takes the document apart into words and
    punctuation marks and draws ``int(word_share * tokens)`` of these, at least one and at most `max_words`. In each it
    changes ``int(char_share * characters)`` characters, at least one and at most ten. "ocr" touches only characters
    that have a look-alike; the others spare what has fewer than four characters, so they change fewer words than they
    draw. A space then separates all words and marks.

    Parameters
    ----------
    operations : tuple of str
        Some of `OPERATIONS`: "ocr", "substitute", "swap", "delete".
    word_share : float
        The share of a document's words and punctuation marks that each operation draws.
    char_share : float
        The share of such a word's characters that the operation changes.
    max_words : int or None
        The maximum number of them per document that each operation draws; None for no limit.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal_paper.shifts.text import TextNoise
    >>> noise = TextNoise(operations=("swap",))
    >>> noise(["confidence calibration, at last"], np.random.default_rng(3))
    ['confidence calibration , at lats']
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
            before = document.strip()
            for _ in range(_TRIES):
                document = self._apply(OPERATIONS[name], before, rng)
                if document != before:
                    break
        return document

    def _apply(self, operation: _Operation, document: str, rng: np.random.Generator) -> str:
        tokens = _TOKEN.findall(document)
        for i in _draw(range(len(tokens)), _count(self.word_share, len(tokens), self.max_words), rng):
            if len(tokens[i]) >= operation.min_length:
                tokens[i] = self._changed(operation, tokens[i], rng)
        return " ".join(tokens)

    def _changed(self, operation: _Operation, word: str, rng: np.random.Generator) -> str:
        chars = list(word)
        eligible = [i for i, char in enumerate(chars) if operation.can_touch(char)]
        operation.change(chars, _draw(eligible, _count(self.char_share, len(chars), 10), rng), rng)
        return "".join(chars)


def _count(share: float, size: int, most: int | None) -> int:
    count = max(int(share * size), 1)
    return count if most is None else min(count, most)


def _draw(items: Sequence[int], count: int, rng: np.random.Generator) -> list[int]:
    """Draw items without replacement, in random order."""
    return [items[i] for i in rng.permutation(len(items))[:count]]


def _choice(items: Sequence[_T], rng: np.random.Generator) -> _T:
    return items[int(rng.random() * len(items))]


def _with_case_of(place: str, char: str) -> str:
    return char.upper() if place.isupper() else char.lower()
