"""Groups of the fit, such as days or subjects, tell what is usual for one more."""

import numpy as np
import pytest

import auxcal
from auxcal import CCACX, PlattScaling, TemperatureScaling
from auxcal.monitoring import timeline
from auxcal.monitoring._mix import GroupVariation, represent
from auxcal.reference import MOST_BYTES, MOST_GROUPS

SPREAD = 0.6  # of the log-odds by which groups are harder or easier than their logits say


class Days:
    """Days on which a classifier meets other shares, harder samples, and labels that its logits over- or underrate."""

    def __init__(self, state, spread=SPREAD):
        self.rng, self.spread = np.random.default_rng(state), spread

    def draw(self, n):
        """Return logits and labels of n rows of a new day."""
        rng = self.rng
        shares, scale, shift = rng.dirichlet([20, 20, 20]), rng.uniform(0.8, 1.2), self.spread * rng.normal()
        prediction = rng.choice(3, size=n, p=shares)
        margin = np.abs(2 * rng.normal(size=n)) * scale
        right = rng.random(n) < 1 / (1 + np.exp(-margin - shift))
        y = np.where(right, prediction, (prediction + rng.integers(1, 3, size=n)) % 3)
        logits = rng.normal(scale=0.1, size=(n, 3))
        logits[np.arange(n), prediction] += margin + 0.5
        return logits.astype(np.float32), y

    def fit(self, n_days, n=80, method=None):
        """Fit with the days as groups."""
        days = [self.draw(n) for _ in range(n_days)]
        logits, y = (np.concatenate(each) for each in zip(*days, strict=True))
        return (method or PlattScaling()).fit(logits, y, groups=np.repeat(np.arange(n_days), n))


@pytest.fixture(scope="module")
def days():
    return Days(0)


@pytest.fixture(scope="module")
def calibrator(days):
    return days.fit(30)


def test_a_day_like_the_others_is_not_new_and_its_interval_covers():
    covered, verdicts, widths = [], [], []
    for state in range(6):
        days = Days(state)
        calibrator = days.fit(20)
        for _ in range(25):
            logits, y = days.draw(200)
            found = auxcal.check(calibrator, logits)
            verdicts.append(found.verdict)
            if found.accuracy is not None:
                right = np.mean(logits.argmax(axis=1) == y)
                covered.append(found.accuracy.low <= right <= found.accuracy.high)
                widths.append(found.accuracy.high - found.accuracy.low)
    assert np.mean(np.array(verdicts) == "new") <= 0.1
    assert np.mean(covered) >= 0.86
    assert np.mean(widths) < 0.4  # an interval of everything would cover too


def test_rows_unlike_any_day_are_new(days, calibrator):
    logits, _ = days.draw(500)
    found = auxcal.check(calibrator, -3 * logits)
    assert found.verdict == "new"
    assert "than these differ from each other" in str(found)
    assert found.harm.value > 0.03


def test_the_answer_names_the_groups_and_the_interval_is_as_wide_as_they_differ(days, calibrator):
    alike = Days(1, spread=0.0)
    logits, _ = days.draw(500)
    found, narrow = auxcal.check(calibrator, logits), auxcal.check(alike.fit(30), alike.draw(500)[0])
    assert found.n_groups == narrow.n_groups == 30
    assert "its 30 groups differ from each other. Expect" in str(found)
    assert narrow.group_spread < found.group_spread
    assert narrow.accuracy.high - narrow.accuracy.low < found.accuracy.high - found.accuracy.low
    assert narrow.harm.value < found.harm.value


def test_few_groups_give_a_wide_interval():
    variance = 0.1 / 200
    widths = []
    for n in (3, 60):
        days = Days(3)
        fitted = days.fit(n)
        rows = represent(fitted, days.draw(200)[0], None)
        gap, _ = GroupVariation(fitted.reference_).forecast(rows, variance)
        widths.append(gap.high - gap.low)
    assert widths[0] > 1.3 * widths[1]


def test_the_gap_follows_the_readings_where_it_does_so_in_the_groups_of_the_fit():
    """Days with larger margins are overconfident here, and the forecast for one more such day says so."""
    rng = np.random.default_rng(0)

    def draw(scale, n=200):
        margin = np.abs(rng.normal(size=n)) * scale
        right = rng.random(n) < 1 / (1 + np.exp(-np.abs(rng.normal(size=n))))
        return np.stack([margin, np.zeros(n)], axis=1).astype(np.float32), np.where(right, 0, 1)

    scales = np.linspace(0.5, 3, 20)
    logits, y = (np.concatenate(each) for each in zip(*map(draw, scales), strict=True))
    fitted = TemperatureScaling().fit(logits, y, groups=np.repeat(scales, 200))
    low, high = (auxcal.check(fitted, draw(scale)[0]) for scale in (0.6, 2.9))
    assert low.accuracy.value - low.confidence > 0.03 + high.accuracy.value - high.confidence


def test_a_monitor_takes_each_update_for_one_more_group():
    before, alarms, noticed = [], [], []
    for state in range(8):
        days = Days(100 + state)
        fitted = days.fit(20)
        alone = fitted._now()
        alone.reference_ = alone.reference_._replace(group_facts=None, group_ramps=None, group_strata=None)
        usual, without, other = auxcal.Monitor(fitted), auxcal.Monitor(alone), auxcal.Monitor(fitted)
        for _ in range(20):
            logits, y = days.draw(150)
            usual.update(logits, y)
            without.update(logits)
            other.update(2 * logits)
        before.append(bool(without.alarms))
        alarms.append(bool(usual.alarms))
        noticed.append(bool(other.alarms))
    assert sum(before) >= 1  # the days differ by more than chance
    assert sum(alarms) == 0
    assert sum(noticed) >= 7


def test_a_monitor_of_groups_goes_on_from_its_file(tmp_path):
    days = Days(7)
    fitted = days.fit(15)
    monitor = auxcal.Monitor(fitted)
    for _ in range(3):
        monitor.update(days.draw(100)[0])
    monitor.update(days.draw(5)[0])  # too few for a group
    monitor.save(tmp_path / "monitor.safetensors")
    again, last = auxcal.Monitor.load(tmp_path / "monitor.safetensors", fitted), days.draw(100)[0]
    again.update(last)
    monitor.update(last)
    assert again.evidence == monitor.evidence
    assert again.evidence.n_rows == 405


def test_the_chunks_of_a_timeline_are_groups_and_rank_by_harm():
    days = Days(2)
    fitted, chunks = days.fit(20), [days.draw(100)[0] for _ in range(5)]
    chunks.append(2 * days.draw(100)[0])
    found = timeline(fitted, np.concatenate(chunks), np.repeat(np.arange(6), 100))
    assert found.ranked[0].name == "5"
    assert [chunk.check.n_groups for chunk in found.chunks] == [20] * 6
    assert all(chunk.verdict == "same" for chunk in found.chunks[:5])
    pytest.importorskip("rich")
    from auxcal.report import terminal

    assert "differ from the 20 groups of the fit by more than these differ" in terminal.found(found)
    assert terminal.to_label(found)[0].startswith("Label first where the confidence may be off most: 5 (by ")


def test_small_groups_are_rows_that_belong_together(days):
    logits, y = days.draw(400)
    fitted = PlattScaling().fit(logits, y, groups=np.arange(400) // 4)
    assert fitted.reference_.group_facts is None
    found = auxcal.check(fitted, logits[:100])
    assert found.n_groups == 0
    assert found.group_spread is None


def test_groups_are_held_out_when_their_gap_is_measured(days):
    fitted = days.fit(12, method=CCACX(random_state=0))
    assert fitted.reference_.group_facts.shape == (12, 3)
    assert fitted.reference_.group_strata.shape == (12, 4)
    assert auxcal.check(fitted, days.draw(200)[0]).verdict in ("same", "mix")


def test_half_of_what_describes_groups_is_refused(calibrator):
    with pytest.raises(ValueError, match="group_ramps"):
        calibrator.reference_._replace(group_ramps=None).check(3)


def test_many_groups_stay_within_the_size_of_a_reference(days):
    reference = days.fit(MOST_GROUPS + 10, n=20).reference_
    assert len(reference.group_facts) == MOST_GROUPS
    assert sum(values.nbytes for values in reference if values is not None) <= MOST_BYTES


def test_harm_is_between_its_bounds_and_larger_where_the_mix_moves_the_accuracy():
    rng = np.random.default_rng(0)

    def rows(n, ood):
        y = np.where(rng.random(n) < ood, auxcal.NO_CLASS, rng.integers(3, size=n))
        return ((4 * np.eye(4)[y])[:, :3] + rng.normal(size=(n, 3))).astype(np.float32), y

    fitted = CCACX(random_state=0).fit(*rows(2000, 0.2))
    calm, other = (auxcal.check(fitted, rows(1000, share)[0]) for share in (0.2, 0.9))
    for found in (calm, other):
        assert 0 <= found.harm.low <= found.harm.value <= found.harm.high <= 1
    assert calm.harm.value < 0.02 < other.harm.value
