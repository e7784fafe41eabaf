"""New rows, held against those that a promise was found on."""

from copy import copy

import numpy as np
import pytest

import auxcal
from auxcal.monitoring import PromiseSample, _mix
from auxcal.thresholds.certificate import FoundOn


@pytest.fixture
def promised(calibrator, draw):
    """Give a calibrator a promise that was found on rows like those of its fit."""
    logits, _ = draw(1000, random_state=1)
    confidence = calibrator.predict_confidence(logits)
    found = auxcal.metrics.threshold_at_risk(confidence, np.ones(1000, dtype=bool), 0.1)
    found_on = FoundOn.of(confidence, logits.argmax(axis=1), logits.shape[1])
    given = copy(calibrator)
    given.certificate_ = auxcal.Certificate.of(found, n_rows=1000, found_on=found_on)
    return given


def holds(calibrator, *batches):
    sample = PromiseSample(calibrator)
    for logits in batches:
        sample.add(logits)
    return sample.guarantee_holds()


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
