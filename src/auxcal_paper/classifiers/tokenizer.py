"""Text to word indices, with the semantics of Keras' ``Tokenizer`` and ``pad_sequences``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_SEPARATORS = str.maketrans(dict.fromkeys('!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\t\n', " "))


@dataclass(frozen=True)
class Tokenizer:
    """Numbers the words of a corpus, the most frequent word 1; 0 is the padding.

    Texts are lower-cased and split at spaces and punctuation. Words that are not among the most frequent of the
    corpus are left out.

    Parameters
    ----------
    index : mapping of str to int
        The number of each word.
    length : int
        The length of a sequence: longer texts keep their last words, shorter ones are padded in front.

    Examples
    --------
    >>> from auxcal_paper.classifiers.tokenizer import Tokenizer
    >>> tokenizer = Tokenizer.of(["The rate rose.", "the rate fell"], n_words=4, length=4)
    >>> tokenizer.index
    {'the': 1, 'rate': 2, 'rose': 3}
    >>> tokenizer.sequences(["Rose the unheard-of rate?"])
    array([[0, 3, 1, 2]])
    """

    index: Mapping[str, int]
    length: int

    @classmethod
    def of(cls, texts: Iterable[str], *, n_words: int, length: int) -> Tokenizer:
        """Count the words of `texts` and keep the ``n_words - 1`` most frequent, the earlier of ties."""
        counts = Counter(word for text in texts for word in words(text))
        frequent = counts.most_common(n_words - 1)
        return cls({word: number for number, (word, _) in enumerate(frequent, start=1)}, length)

    @property
    def size(self) -> int:
        """The number of word indices, including the padding's 0."""
        return len(self.index) + 1

    def sequences(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return an array of shape (len(texts), length) of word indices."""
        array = np.zeros((len(texts), self.length), dtype=np.int64)
        for row, text in enumerate(texts):
            numbers = [self.index[word] for word in words(text) if word in self.index][-self.length :]
            array[row, self.length - len(numbers) :] = numbers
        return array


def words(text: str) -> list[str]:
    """Split a text into lower-case words.

    Examples
    --------
    >>> from auxcal_paper.classifiers.tokenizer import words
    >>> words("Don't e-mail: rates fell 5%")
    ["don't", 'e', 'mail', 'rates', 'fell', '5']
    """
    return text.lower().translate(_SEPARATORS).split()
