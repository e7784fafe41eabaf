"""The mix against which new rows are held: classes that are rare by chance are expected back."""

from types import SimpleNamespace

import numpy as np
import pytest

from auxcal.monitoring._evidence import another_mix
from auxcal.monitoring._home import Home, home_of
from auxcal.monitoring._known import Known
from auxcal.reference import READINGS, Reference

CLASSES, ROWS = 60, 720


def drawn(n, rng, shares=None):
    """Return the classes of rows, and distributions over them and none."""
    y = rng.choice(CLASSES, size=n, p=shares)
    scores = 3 * np.eye(CLASSES + 1)[y] + rng.normal(size=(n, CLASSES + 1)) - 4 * np.eye(CLASSES + 1)[-1]
    return y, np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)


def fitted(rng, n=ROWS, shares=None):
    """Return a calibrator and the rows of its reference."""
    y, strata = drawn(n, rng, shares)
    counts = np.append(np.bincount(y, minlength=CLASSES), 0.0)
    reference = Reference(np.zeros((n, len(READINGS))), strata, y, y, counts, counts)
    return SimpleNamespace(adaptation_=None), Known(reference)


def test_the_share_of_rare_classes_is_that_of_all_data():
    found = []
    for state in range(200):
        calibrator, known = fitted(np.random.default_rng(state))
        truth = np.sum(known.group[:-1] == 0) / CLASSES
        found.append((known.shares[0], home_of(calibrator, known).mix[0], truth))
    before, expected, truth = np.mean(found, axis=0)
    assert before < truth - 0.05
    assert expected == pytest.approx(truth, abs=0.01)


def test_classes_that_are_rare_by_chance_are_no_other_mix():
    alarms = []
    for state in range(40):
        rng = np.random.default_rng(state)
        calibrator, known = fitted(rng)
        new = known.grouped(drawn(2000, rng)[1])
        counted = Home(known.shares, ROWS, np.zeros(len(known.shares)))
        alarms.append([another_mix(known, new, home) < 0.05 for home in (counted, home_of(calibrator, known))])
    as_counted, as_expected = np.mean(alarms, axis=0)
    assert as_counted > 0.25
    assert as_expected <= 0.1


def test_classes_that_are_rare_indeed_stay_rare():
    shares = np.append(np.full(10, 0.001), np.full(CLASSES - 10, 0.99 / (CLASSES - 10)))
    calibrator, known = fitted(np.random.default_rng(0), 3000, shares)
    home = home_of(calibrator, known)
    assert np.sum(known.group == 0) == 11  # none is one of them
    assert home.mix.tolist() == known.shares.tolist()
    assert not home.doubt.any()
