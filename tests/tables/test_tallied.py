"""Scored tables of any size: more rows than are held are counted, and give what all of them give."""

import numpy as np
import pytest

import auxcal
from auxcal import InputWarning, InvalidInputError
from auxcal.tables import Scored, Tallied, read_scored, read_scored_or_tally, scored, sources

N = 5000
RNG = np.random.default_rng(0)
CONFIDENCE = RNG.random(N).round(4)
CORRECT = RNG.random(N) < CONFIDENCE
NAMES = np.array(["cat", "dog", "elk"])
PREDICTION = RNG.integers(3, size=N)
Y = np.where(CORRECT, PREDICTION, (PREDICTION + 1) % 3)
WEIGHT = RNG.integers(0, 3, size=N)
PLACE = np.where(np.arange(N) < N // 10, "sea", "land")


@pytest.fixture
def few_rows(monkeypatch):
    """Hold few rows, and read small batches."""
    monkeypatch.setattr(scored, "MOST_ROWS", 1000)
    monkeypatch.setattr(scored, "_AT_ONCE", 700)
    monkeypatch.setattr(sources, "BATCH_BYTES", 2**15)


def write(path, prediction=NAMES[PREDICTION], y=NAMES[Y]):
    rows = zip(prediction, CONFIDENCE, y, WEIGHT, PLACE, strict=True)
    lines = (",".join(map(str, row)) for row in rows)
    path.write_text("\n".join(["prediction,confidence,y,weight,place", *lines]))
    return path


@pytest.mark.usefixtures("few_rows")
@pytest.mark.parametrize("weight", [None, "weight"])
def test_a_tally_gives_what_the_rows_give(weight, tmp_path):
    path = write(tmp_path / "scored.csv")
    found = read_scored_or_tally(path, weight=weight, by="place")
    assert isinstance(found, Tallied)
    times = None if weight is None else WEIGHT
    exact = auxcal.evaluate(CONFIDENCE, CORRECT, sample_weight=times)
    for name, value in found.tally.evaluate().items():
        assert value == pytest.approx(exact[name], abs=1e-12 if "floor" not in name else 2e-3), name
    assert found.tally.accuracy == pytest.approx(np.average(CORRECT, weights=times), abs=1e-12)
    assert found.tally.confidence == pytest.approx(np.average(CONFIDENCE, weights=times), abs=1e-12)
    counted = np.ones(N, dtype=bool) if weight is None else WEIGHT > 0
    rows = {"sea": counted[: N // 10].sum(), "land": counted[N // 10 :].sum()}
    assert {name: each.n_rows for name, each in found.by.items()} == rows
    assert found.by["sea"].accuracy == pytest.approx(
        np.average(CORRECT[: N // 10], weights=None if weight is None else WEIGHT[: N // 10]), abs=1e-12
    )


@pytest.mark.usefixtures("few_rows")
def test_groups_and_few_rows_are_held(tmp_path, monkeypatch):
    path = write(tmp_path / "scored.csv")
    assert isinstance(read_scored_or_tally(path, group="place"), Scored)
    monkeypatch.setattr(scored, "MOST_ROWS", N)
    held = read_scored_or_tally(path)
    assert np.array_equal(held.correct, CORRECT)
    assert np.array_equal(held.y, Y)
    assert held.class_names == tuple(NAMES)


@pytest.mark.usefixtures("few_rows")
@pytest.mark.parametrize("kept", ["names", "indices"])
def test_classes_that_come_late(kept, tmp_path):
    """What the first batches don't show is known in the end: classes that are predicted later, or never."""
    prediction, y = (np.sort(PREDICTION), np.sort(Y)) if kept == "indices" else (NAMES[PREDICTION], NAMES[Y])
    y = y.astype(object)
    y[:600] = -1
    y[-1] = 7 if kept == "indices" else "emu"
    path = write(tmp_path / "scored.csv", prediction, y)
    if kept == "names":
        with pytest.warns(InputWarning, match="never predicted, which count as wrong: 'emu'"):
            found = read_scored_or_tally(path)
    else:
        found = read_scored_or_tally(path)
    assert found.tally.accuracy == pytest.approx(np.mean(prediction == y), abs=1e-12)


@pytest.mark.usefixtures("few_rows")
def test_labels_of_another_kind_far_down_are_said_with_their_row(tmp_path):
    y = Y.astype(object)
    y[4000] = "cat"
    path = write(tmp_path / "scored.csv", PREDICTION, y)
    with pytest.raises(InvalidInputError, match=r"got 'cat' in row \d+ .*Rows are counted from row [\d,]+\."):
        read_scored_or_tally(path)


@pytest.mark.usefixtures("few_rows")
def test_rows_that_are_left_out_are_counted_over_all_batches(tmp_path):
    y = Y.astype(object)
    y[::100] = ""
    with pytest.warns(InputWarning, match=r"50 of 5,000 rows have no label"):
        assert read_scored_or_tally(write(tmp_path / "scored.csv", PREDICTION, y)).tally.n_rows == N - 50


@pytest.mark.usefixtures("few_rows")
def test_a_sample_is_even_and_keeps_the_order(tmp_path):
    path = write(tmp_path / "scored.csv")
    with pytest.warns(InputWarning, match="500 of 5,000 rows are used, a random sample"):
        found = read_scored(path, sample=500)
    assert len(found.y) == 500
    assert abs(found.correct.mean() - CORRECT.mean()) < 0.06  # though the rows were drawn with the same random state
    places = [row.tolist() for row in np.array_split(CONFIDENCE, 10)]
    counts = [np.isin(part, found.confidence).sum() for part in places]
    assert min(counts) > 20  # from the whole table
    assert np.array_equal(read_scored(path, sample=N).confidence, CONFIDENCE)


@pytest.mark.usefixtures("few_rows")
def test_intervals_of_counts_are_those_of_rows(tmp_path):
    tally = read_scored_or_tally(write(tmp_path / "scored.csv")).tally
    ours = tally.evaluate(bootstrap=300)
    rows = auxcal.evaluate(CONFIDENCE, CORRECT, bootstrap=300)
    for name in ("auroc", "brier", "nll", "aurc"):
        width = rows[f"{name}_high"] - rows[f"{name}_low"]
        for end in ("low", "high"):
            assert abs(ours[f"{name}_{end}"] - rows[f"{name}_{end}"]) < 0.2 * width, (name, end)
