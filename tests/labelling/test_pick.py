"""Rows to label: as many as asked for, each with its own probability, and estimates that stay true."""

import csv

import numpy as np
import pytest

from auxcal import InvalidInputError, TemperatureScaling, Uncalibrated
from auxcal.labelling import estimate, pick
from auxcal.tables import pick_file, read_predictions


def rows(seed, n=4000):
    rng = np.random.default_rng(seed)
    confidence = rng.beta(4, 1, size=n)
    return confidence, rng.uniform(size=n) < confidence


def test_so_many_different_rows_are_picked_and_more_where_it_is_open():
    confidence, _ = rows(0)
    picks = pick(confidence, 300)
    assert len(set(picks.rows.tolist())) == 300
    assert picks.probability.sum() == pytest.approx(300)
    assert picks.sample_weight.mean() == pytest.approx(1)
    assert picks.sample_weight * picks.probability[picks.rows] == pytest.approx(
        np.full(300, (picks.sample_weight * picks.probability[picks.rows])[0])
    )
    assert confidence[picks.rows].mean() < confidence.mean() - 0.02


def test_each_row_is_picked_as_often_as_its_probability_says():
    confidence, _ = rows(1, n=60)
    often = np.zeros(60)
    for state in range(2000):
        often[pick(confidence, 20, random_state=state).rows] += 1
    assert often / 2000 == pytest.approx(pick(confidence, 20).probability, abs=0.05)


def test_more_are_spread_evenly_where_nothing_is_calibrated():
    confidence, _ = rows(0)
    least = [pick(confidence, 300, calibrated=each).probability.min() * len(confidence) / 300 for each in (True, False)]
    assert least == pytest.approx([0.3, 0.7], abs=0.05)


def test_a_row_that_must_be_picked_has_probability_one():
    picks = pick([0.5] * 3 + [1.0] * 7, 9)
    assert picks.probability.max() == 1
    assert picks.probability.sum() == pytest.approx(9)
    assert {0, 1, 2} <= set(picks.rows.tolist())


def test_weighted_estimates_are_unbiased_and_their_intervals_hold():
    confidence, correct = rows(2)
    found = []
    for state in range(150):
        picks = pick(confidence, 100, random_state=state)
        labelled = confidence[picks.rows], correct[picks.rows]
        found.append(estimate(*labelled, confidence, sample_weight=picks.sample_weight)["accuracy"])
    values = np.array([each.value for each in found])
    assert values.mean() == pytest.approx(correct.mean(), abs=3 * values.std() / np.sqrt(150))
    assert np.mean([each.low <= correct.mean() <= each.high for each in found]) > 0.9


def test_none_of_the_classes_makes_strata_of_its_own():
    none = np.arange(1000) % 2 * 0.9
    picks = pick(np.full(1000, 0.5), 100, none=none)
    assert (none[picks.rows] > 0.5).sum() == 50


@pytest.mark.parametrize("n", [0, 10, 11, 2.5])
def test_more_rows_than_there_are_can_not_be_picked(n):
    with pytest.raises(InvalidInputError, match="less than the 10 given"):
        pick([0.5] * 10, n)


def test_a_file_of_picks_can_be_labelled_and_read(tmp_path):
    rng = np.random.default_rng(0)
    logits, y = rng.normal(size=(200, 3)).round(3), rng.integers(3, size=200)
    np.savez(tmp_path / "rest.npz", logits=logits, case=np.arange(200))
    fitted = TemperatureScaling().fit(logits, y)
    picks = pick_file(fitted, tmp_path / "rest.npz", out=tmp_path / "picks.csv", n=30)
    with (tmp_path / "picks.csv").open() as file:
        table = list(csv.DictReader(file))
    assert [int(row["case"]) for row in table] == picks.rows.tolist()
    with (tmp_path / "labelled.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(table[0]))
        writer.writeheader()
        writer.writerows(row | {"y": int(y[int(row["case"])])} for row in table)
    read = read_predictions(tmp_path / "labelled.csv")
    assert read.logits == pytest.approx(logits[picks.rows])
    with pytest.raises(InvalidInputError, match="only read"):
        pick_file(None, tmp_path / "rest.npz", out=tmp_path / "picks.pt", n=30)


def test_picks_name_the_predicted_class_beside_a_label_that_is_to_be_filled_in(tmp_path):
    logits = np.random.default_rng(0).normal(size=(40, 2)).round(3)
    lines = [f"{a},{b}," for a, b in logits]
    (tmp_path / "rest.csv").write_text("\n".join(["cat,dog,y", *lines]) + "\n")
    (tmp_path / "fit.csv").write_text("\n".join(["cat,dog,y", *(f"{line}cat" for line in lines)]) + "\n")
    data = read_predictions(tmp_path / "fit.csv", columns=["cat", "dog"])
    pick_file(Uncalibrated()._fit_on(data, None), tmp_path / "rest.csv", out=tmp_path / "picks.csv", n=5)
    with (tmp_path / "picks.csv").open() as file:
        assert {row["prediction"] for row in csv.DictReader(file)} <= {"cat", "dog"}


def test_what_is_no_probability_of_none_for_each_row_is_explained():
    with pytest.raises(InvalidInputError, match="one probability for each of the 4 rows; got 2"):
        pick([0.9, 0.8, 0.7, 0.6], 2, none=[0.1, 0.2])


def test_slices_with_more_harm_give_more_rows_and_the_weights_undo_it():
    confidence, correct = rows(0)
    harm = np.where(np.arange(len(confidence)) % 2, 0.1, 0.02)
    picks = pick(confidence, 400, harm=harm)
    assert np.mean(harm[picks.rows] == 0.1) > 0.75
    assert picks.probability.sum() == pytest.approx(400)
    weighed = np.average(correct[picks.rows], weights=picks.sample_weight)
    assert weighed == pytest.approx(correct.mean(), abs=0.08)
    with pytest.raises(InvalidInputError, match="harm must have one number"):
        pick(confidence, 400, harm=harm[:10])
