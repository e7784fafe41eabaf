"""A sample of rows that come in batches."""

import numpy as np

from auxcal.monitoring import RowSample, _mix, sampled


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
