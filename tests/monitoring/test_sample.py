"""Samples of rows that come in batches: to check them, to see whether a promise holds, and while scoring."""

from copy import copy

import numpy as np
import pytest

import auxcal
from auxcal.monitoring import RowSample, ScoreWatch, _mix, _sample, sampled
from auxcal.thresholds.certificate import FoundOn


def test_all_rows_stay_while_they_are_few(calibrator, draw):
    logits, _ = draw(300)
    sample = sampled(calibrator, [(logits[:100], None), (logits[100:], None)])
    assert np.array_equal(sample.seen.prediction, logits.argmax(axis=1))


def test_of_many_rows_each_stays_with_the_same_probability(calibrator, draw, monkeypatch):
    monkeypatch.setattr(_mix, "MOST_ROWS", 400)
    sample = RowSample(calibrator)
    for i in range(10):
        sample.add(draw(500, foreign=i / 10, random_state=i)[0])
    assert sample.n_rows == 5000
    assert len(sample.seen.prediction) == 400
    assert abs(sample.check(level=0.05).no_class.value - 0.45) < 0.08


@pytest.fixture
def promised(calibrator, draw):
    """Give a calibrator a promise that was found on rows like those of its fit."""
    logits, _ = draw(1000, random_state=1)
    confidence = calibrator.predict_confidence(logits)
    found = auxcal.thresholds.threshold_at_risk(confidence, np.ones(1000, dtype=bool), 0.1)
    found_on = FoundOn.of(confidence, logits.argmax(axis=1), logits.shape[1])
    given = copy(calibrator)
    given.certificate_ = auxcal.Certificate.of(found, n_rows=1000, found_on=found_on)
    return given


def holds(calibrator, *batches):
    return sampled(calibrator, [(logits, None) for logits in batches]).guarantee_holds()


def test_rows_of_the_same_kind_keep_a_promise_and_others_withdraw_it(promised, draw):
    kept = [holds(promised, draw(500, random_state=state)[0]) for state in range(2, 42)]
    assert kept.count(False) <= 2
    assert not holds(promised, *(draw(250, random_state=state)[0] / 2 for state in (2, 3)))


def test_copies_of_a_row_are_no_evidence(promised, draw):
    """Five copies of 100 rows vary as 100 rows do."""
    kept = [holds(promised, np.repeat(draw(100, random_state=state)[0], 5, axis=0)) for state in range(2, 42)]
    assert kept.count(False) <= 2


def test_of_many_rows_a_part_is_looked_at(promised, draw, monkeypatch):
    monkeypatch.setattr(_mix, "MOST_ROWS", 200)
    assert holds(promised, *(draw(300, random_state=state)[0] for state in range(2, 9)))
    assert not holds(promised, *(draw(300, random_state=state)[0] / 2 for state in range(2, 9)))


def test_without_a_promise_or_its_rows_nothing_is_known(calibrator, draw):
    assert holds(calibrator, draw(100)[0]) is None


def watched(calibrator, *batches):
    """Return a watch of rows, which must not be scored again while they come."""
    watch = ScoreWatch(calibrator)
    for logits in batches:
        watch.update(logits, calibrator.predict_confidence(logits))
    return watch


@pytest.mark.parametrize("scale", [1, 0.5])
def test_a_watch_has_the_verdict_of_a_check_and_the_answer_of_the_promise(promised, draw, scale):
    batches = [scale * draw(250, random_state=state)[0] for state in (2, 3)]
    watch = watched(promised, *batches)
    assert watch.n_rows == 500
    assert watch.verdict(0.01) == auxcal.check(promised, np.concatenate(batches), level=0.01).verdict
    assert watch.guarantee_holds() == holds(promised, *batches)


def test_a_watch_scores_no_row_while_rows_come(promised, draw, monkeypatch):
    logits, _ = draw(500, random_state=2)
    confidence = promised.predict_confidence(logits)
    for name in ("score_validated", "strata"):
        monkeypatch.setattr(type(promised), name, lambda *_: pytest.fail("scored again"))
    watch = ScoreWatch(promised)
    watch.update(logits, confidence)
    assert watch.guarantee_holds()


def test_a_watch_of_many_rows_reads_its_verdict_from_some(calibrator, draw, monkeypatch):
    monkeypatch.setattr(_sample, "WATCHED_ROWS", 300)
    assert watched(calibrator, *(draw(500, random_state=state)[0] for state in range(2, 6))).verdict() == "same"
    assert watched(calibrator, *(draw(500, random_state=state)[0] / 2 for state in range(2, 6))).verdict() == "new"


def test_a_watch_without_reference_or_with_few_rows_finds_nothing(calibrator, draw):
    old = copy(calibrator)
    old.reference_ = None
    assert watched(old, draw(100)[0] / 2).verdict() == "same"
    few = watched(calibrator, draw(10)[0] / 2)
    assert few.verdict() == "same"
    assert few.guarantee_holds() is None
