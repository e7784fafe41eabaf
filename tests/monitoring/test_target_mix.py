"""The mix that new rows are compared with: classes that are rare by chance are expected back."""

import numpy as np
import pytest

from auxcal.monitoring._mix import ReferenceGroups, TargetMix
from auxcal.monitoring._two_samples import mix_p_value
from auxcal.reference import READINGS, Reference

CLASSES, ROWS = 60, 720


def drawn(n, rng, shares=None):
    """Return the classes of rows, and distributions over them and none."""
    y = rng.choice(CLASSES, size=n, p=shares)
    scores = 3 * np.eye(CLASSES + 1)[y] + rng.normal(size=(n, CLASSES + 1)) - 4 * np.eye(CLASSES + 1)[-1]
    return y, np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)


def fitted(rng, n=ROWS, shares=None):
    """Return the rows of a reference."""
    y, strata = drawn(n, rng, shares)
    counts = np.append(np.bincount(y, minlength=CLASSES), 0.0)
    reference = Reference(np.zeros((n, len(READINGS))), strata, y, y, counts, counts, np.arange(n, dtype=np.uint64))
    return ReferenceGroups(reference)


def test_the_share_of_rare_classes_is_that_of_all_data():
    found = []
    for state in range(200):
        groups = fitted(np.random.default_rng(state))
        truth = np.sum(groups.group[:-1] == 0) / CLASSES
        found.append((groups.shares[0], TargetMix.of(groups, None).shares[0], truth))
    before, expected, truth = np.mean(found, axis=0)
    assert before < truth - 0.05
    assert expected == pytest.approx(truth, abs=0.01)


def test_classes_that_are_rare_by_chance_are_no_other_mix():
    alarms = []
    for state in range(40):
        rng = np.random.default_rng(state)
        groups = fitted(rng)
        new = groups.grouped(drawn(2000, rng)[1])
        counted = TargetMix(groups.shares, ROWS, np.zeros(len(groups.shares)))
        alarms.append([mix_p_value(groups, new, mix) < 0.05 for mix in (counted, TargetMix.of(groups, None))])
    as_counted, as_expected = np.mean(alarms, axis=0)
    assert as_counted > 0.25
    assert as_expected <= 0.1


def test_classes_that_are_rare_indeed_stay_rare():
    shares = np.append(np.full(10, 0.001), np.full(CLASSES - 10, 0.99 / (CLASSES - 10)))
    groups = fitted(np.random.default_rng(0), 3000, shares)
    target = TargetMix.of(groups, None)
    assert np.sum(groups.group == 0) == 11  # none is one of them
    assert target.shares.tolist() == groups.shares.tolist()
    assert not target.error.any()
