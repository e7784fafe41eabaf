from pathlib import Path

import numpy as np
import pytest

from auxcal._core.errors import FileFormatError
from auxcal_paper.datasets.glove import load_glove


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "glove"
    folder.mkdir()
    return folder


def test_reads_the_official_layout(folder: Path) -> None:
    # U+0085 is a line break to str.splitlines, and part of a word in the official file.
    (folder / "glove.6B.50d.txt").write_text("the 0.5 -1\n, 2 3e-1\ncaf\u00e9\u0085 0 1\n", encoding="utf-8")
    glove = load_glove(folder.parent)
    assert glove.words == ("the", ",", "caf\u00e9\u0085")
    assert glove.vectors.dtype == np.float32
    np.testing.assert_allclose(glove.vectors, [[0.5, -1], [2, 0.3], [0, 1]])


@pytest.mark.parametrize("text", ["the 1 2\nof 1\n", "the 1 x\n", "", "the\nof\n"])
def test_a_damaged_file_is_named(folder: Path, text: str) -> None:
    (folder / "glove.6B.50d.txt").write_text(text)
    with pytest.raises(FileFormatError, match=r"expected lines of a word.*Unpack glove.6B.50d.txt again"):
        load_glove(folder.parent)


def test_reads_the_layout_of_the_package(folder: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    vectors = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.save(folder / "glove_6B_50d_emb.npy", vectors)
    parquet.write_table(pyarrow.table({"index": ["the", "of"]}), folder / "glove_6B_index.parquet")
    glove = load_glove(folder.parent)
    assert glove.words == ("the", "of")
    np.testing.assert_array_equal(glove.vectors, vectors)


def test_matrix_puts_every_vector_at_the_number_of_its_word(folder: Path) -> None:
    (folder / "glove.6B.50d.txt").write_text("the 1 2\nof 3 4\nship 5 6\n")
    matrix = load_glove(folder.parent).matrix({"ship": 1, "zzz": 2, "the": 3, "of": 9}, n_rows=4)
    np.testing.assert_array_equal(matrix, [[0, 0], [5, 6], [0, 0], [1, 2]])
