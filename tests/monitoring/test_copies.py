"""Rows that stand there several times: copies count once, and what repeats by itself counts as often as it is there."""

import numpy as np
import pytest

import auxcal
from auxcal import Monitor, PlattScaling
from auxcal.splits import row_hashes


def few_values(n, random_state=0, n_values=12, population=7):
    values = np.random.default_rng(population).normal(scale=2, size=(n_values, 4))
    rng = np.random.default_rng(random_state)
    at = rng.integers(n_values, size=n)
    logits = values[at]
    return logits, (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)


@pytest.mark.parametrize(("of_fit", "of_new"), [(5, 1), (1, 5), (5, 5)])
def test_copies_are_no_reason_for_an_alarm(draw, of_fit, of_new):
    verdicts = []
    for random_state in range(20):
        logits, y = draw(300, random_state=random_state)
        fitted = PlattScaling().fit(logits.repeat(of_fit, axis=0), y.repeat(of_fit))
        found = auxcal.check(fitted, draw(300, random_state=100 + random_state)[0].repeat(of_new, axis=0))
        assert (found.n_rows, found.n_reference) == (300 * of_new, 300 * of_fit)
        assert (found.n_counted, found.n_reference_counted) == (300, 300)
        verdicts.append(found.verdict)
    assert verdicts.count("same") >= 17  # while copies counted as rows: 12, 13 and 1


def test_rows_that_were_copied_more_often_still_count_more(draw):
    logits, y = draw(1000)
    often = np.where(np.arange(1000) % 2, 3, 1)
    found = auxcal.check(PlattScaling().fit(logits, y), draw(1000, random_state=1)[0].repeat(often, axis=0))
    assert 300 < found.n_counted < 1000
    assert found.verdict == "same"
    assert "were left out as copies" in str(found)


def test_values_that_repeat_by_themselves_are_no_copies():
    fitted = PlattScaling().fit(*few_values(500))
    same, other = few_values(300, random_state=1)[0], few_values(300, random_state=1, population=8)[0]
    for logits, verdict in ((same, "same"), (other, "new")):
        found = auxcal.check(fitted, logits)
        assert (found.n_counted, found.n_reference_counted) == (300, 500)
        assert found.verdict == verdict


def test_a_classifier_that_says_the_same_of_all_rows_is_noticed(draw, calibrator):
    found = auxcal.check(calibrator, np.tile(np.float32([1, 2, 5]), (100, 1)))
    assert found.verdict == "new"
    assert found.n_counted == 100


def test_rows_that_repeat_meet_the_fit_that_new_rows_meet(draw):
    logits, y = few_values(300)
    fitted = auxcal.CCACX(random_state=0).fit(logits, y)
    assert np.allclose(fitted.reference_.strata, fitted.strata(logits, None), atol=1e-3)
    logits, y = draw(300)
    fitted = auxcal.CCACX(random_state=0).fit(logits, y)  # whose rows differ: those were held out
    assert not np.allclose(fitted.reference_.strata, fitted.strata(logits, None), atol=1e-3)


def test_of_rows_of_a_group_that_are_alike_the_reference_keeps_one(draw):
    logits, y = draw(200)
    rows, groups = np.repeat(np.arange(200), 5), np.repeat(np.arange(200), 5)
    alike = logits[rows] + np.random.default_rng(0).normal(scale=0.1, size=(1000, 3))
    assert len(PlattScaling().fit(alike, y[rows], groups=groups).reference_.y) == 200
    unlike, y = draw(1000)
    assert len(PlattScaling().fit(unlike, y, groups=groups).reference_.y) == 1000
    assert len(PlattScaling().fit(unlike, y, groups=np.zeros(1000)).reference_.y) == 1000


def test_large_groups_that_are_alike_count_as_much_as_before(draw):
    logits, y = draw(300)
    often = np.where(np.arange(300) % 3, 1, 4)
    rows = np.repeat(np.arange(300), often)
    alike = logits[rows] + np.random.default_rng(0).normal(scale=0.01, size=(len(rows), 3))
    kept = PlattScaling().fit(alike, y[rows], groups=rows).reference_
    before = PlattScaling().fit(alike, y[rows]).reference_
    assert len(kept.y) < 300
    assert kept.readings[:, 0].mean() == pytest.approx(before.readings[:, 0].mean(), rel=0.1)


def test_a_calibrator_that_knows_its_rows_by_heart_raises_no_alarm():
    rng = np.random.default_rng(0)
    draw = lambda n: 2 * np.eye(6)[rng.integers(6, size=n)] + rng.normal(size=(n, 6))  # noqa: E731
    verdicts = []
    for _ in range(10):
        logits = draw(100)
        fitted = auxcal.MatrixScaling(off_diagonal=1e-3).fit(
            logits, (logits + rng.gumbel(size=(100, 6))).argmax(axis=1)
        )
        verdicts.append(auxcal.check(fitted, draw(1000)).verdict)
    assert verdicts.count("same") >= 8


def test_equal_rows_share_a_hash_whatever_their_kind():
    logits = np.random.default_rng(0).normal(size=(1000, 3))
    hashes = row_hashes(logits, None)
    assert len(np.unique(hashes)) == 1000
    assert np.array_equal(hashes, row_hashes(logits.astype(np.float32), None))
    assert np.array_equal(hashes[::2], row_hashes(np.asfortranarray(logits)[::2], None))
    assert (row_hashes(np.array([[0.0, 1]]), None) == row_hashes(np.array([[-0.0, 1]]), None)).all()
    assert (row_hashes(logits, logits) != row_hashes(logits, -logits)).all()


@pytest.mark.parametrize("copied", ["three times", "unevenly"])
def test_copies_in_the_fit_are_no_reason_for_an_alarm_of_a_monitor(draw, copied):
    alarms = 0
    for random_state in range(20):
        logits, y = draw(50, random_state=random_state)
        rng = np.random.default_rng(random_state)
        rows = np.arange(50).repeat(3) if copied == "three times" else rng.integers(50, size=150)
        monitor = Monitor(PlattScaling().fit(logits[rows], y[rows]), keep=0)
        monitor.update(*draw(1000, random_state=100 + random_state))
        alarms += monitor.alarm is not None
    assert alarms <= 3


@pytest.mark.parametrize(("copied", "values"), [("three times", "any"), ("unevenly", "any"), ("three times", "few")])
def test_a_fit_that_holds_rows_out_is_not_deceived_by_their_copies(copied, values):
    alarms = 0
    for random_state in range(8):
        rng = np.random.default_rng(random_state)
        logits = rng.normal(size=(1100, 8))
        logits = np.round(logits[:, :4]) if values == "few" else logits
        y = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)  # 36 or 51 % right
        rows = np.arange(100).repeat(3) if copied == "three times" else rng.integers(100, size=300)
        fitted = auxcal.CCACX(random_state=0).fit(logits[rows], y[rows])
        monitor = Monitor(fitted, keep=0)
        monitor.update(logits[100:], y[100:])
        alarms += "labels" in [alarm.kind for alarm in monitor.alarms]
    assert alarms <= 1  # while copies were in other folds, of 16 fits: 16, 16 and 6
