"""A sample is drawn in one pass: each label in its share, the same rows for the same random state."""

import numpy as np
import pytest

from auxcal import InputWarning, InvalidInputError
from auxcal.tables import batches, read_labelled, read_predictions

N = 6000
Y = np.repeat([0, 1, 2, -1], [4000, 1500, 440, 60])
LOGITS = np.stack([np.arange(N), Y, -np.arange(N)], axis=1).astype(np.float64)


@pytest.fixture(params=["csv", "npz"])
def table(request, tmp_path, monkeypatch):
    """Give a folder of parts that are read in many batches."""
    monkeypatch.setattr(batches, "BATCH_BYTES", 2**13)
    for place, rows in enumerate(np.array_split(np.random.default_rng(0).permutation(N), 3)):
        if request.param == "npz":
            np.savez(tmp_path / f"{place}.npz", logits=LOGITS[rows], y=Y[rows])
        else:
            lines = [",".join(map(str, [*LOGITS[row], Y[row]])) for row in rows]
            (tmp_path / f"{place}.csv").write_text("\n".join(["logit_0,logit_1,logit_2,y", *lines]))
    return tmp_path


def test_each_label_has_its_share(table):
    with pytest.warns(InputWarning, match=r"(59\d|600) of 6,000 rows are used, a random sample .* \(--sample\)"):
        read = read_labelled(table, sample=600)
    data, everything = read.data, read_predictions(table)
    counts = np.array([(data.y == label).sum() for label in (0, 1, 2, -1)])
    assert np.abs(counts - [400, 150, 44, 6]).max() <= 3  # of a rare label there can be a few less
    assert len(np.unique(data.logits[:, 0])) == len(data)
    assert np.array_equal(everything.logits[read.rows], data.logits)
    assert np.array_equal(everything.y[read.rows], data.y)
    places = np.sort(read.rows) / N
    assert abs(places.mean() - 0.5) < 0.05  # from the whole table


def test_the_random_state_decides(table):
    def rows(random_state):
        with pytest.warns(InputWarning):
            return read_labelled(table, sample=500, random_state=random_state).rows

    assert np.array_equal(rows(1), rows(1))
    assert not np.array_equal(rows(1), rows(2))


def test_all_rows_where_there_are_no_more(table):
    assert np.array_equal(read_predictions(table, sample=N).logits, read_predictions(table).logits)
    with pytest.raises(InvalidInputError, match="sample must be a whole number of at least 1"):
        read_predictions(table, sample=0)


def test_a_table_without_rows(tmp_path):
    (tmp_path / "new.csv").write_text("logit_0,logit_1,y\n")
    with pytest.raises(InvalidInputError, match="there are no rows"):
        read_predictions(tmp_path / "new.csv", sample=10)
