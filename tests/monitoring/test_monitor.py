"""Monitor: exact bets, late labels, bounded memory, and state that can be taken up again."""

import numpy as np
import pytest

import auxcal
from auxcal import NO_CLASS, FileFormatError, InvalidInputError, Monitor
from auxcal.monitoring._bets import (
    N_CELLS,
    Cells,
    LabelBets,
    RecalibrationPosterior,
    ReferenceScores,
    Wealth,
    log_odds,
)
from auxcal.monitoring._state import restore, state_of


def draw(n, rng, spread=2.5, foreign=0.0):
    y = rng.integers(4, size=n)
    logits = rng.normal(size=(n, 4)) + spread * np.eye(4)[y]
    none = rng.random(n) < foreign
    return np.where(none[:, None], rng.normal(size=(n, 4)), logits), np.where(none, NO_CLASS, y)


@pytest.fixture(scope="module")
def calibrator():
    return auxcal.CCACX().fit(*draw(600, np.random.default_rng(0), foreign=0.1))


def test_wealth_is_1_on_average_whatever_came_before():
    rng = np.random.default_rng(1)
    ends = [Wealth([3]).grow(np.where(rng.random((30, 3)) < 0.5, 1.2, 0.8))[-1, 0] for _ in range(2000)]
    assert np.mean(ends) == pytest.approx(1, abs=0.05)


def test_wealth_does_not_depend_on_how_rows_are_batched():
    factors = np.random.default_rng(2).uniform(0.5, 1.5, size=(100, 5))
    whole, parts = Wealth([2, 3]), Wealth([2, 3])
    grown = whole.grow(factors)
    assert np.array_equal(grown, np.concatenate([parts.grow(part) for part in np.split(factors, [1, 40])]))


@pytest.mark.parametrize("values", [3, 10**6])
def test_cells_follow_the_urn_whatever_the_ties(values):
    rng = np.random.default_rng(3)
    n, found = 255, np.zeros(N_CELLS)
    for _ in range(400):
        cells = Cells.of(rng.integers(values, size=n), rng.random(n))
        assert cells.slots.sum() == n + 1
        found += np.bincount(cells.find(rng.integers(values, size=20), rng.random(20)), minlength=N_CELLS)
    expected = cells.slots / cells.slots.sum() * found.sum()
    assert ((found - expected) ** 2 / expected).sum() < 1.6 * N_CELLS  # rows of one reference depend on each other


def test_cells_of_a_small_reference_are_left_empty():
    rng = np.random.default_rng(4)
    cells = Cells.of(rng.normal(size=5), rng.random(5))
    hit = cells.find(rng.normal(size=1000), rng.random(1000))
    assert cells.slots.sum() == 6
    assert (cells.slots[hit] > 0).all()


def scores_of(confidence):
    return ReferenceScores(confidence, np.full(len(confidence), 1 / len(confidence)))


def test_label_bets_win_nothing_on_average_over_what_the_fit_leaves_open():
    rng = np.random.default_rng(5)
    scores = scores_of(rng.uniform(0.05, 0.95, size=500))
    n_rows = 400
    odds = np.log(scores.confidence / (1 - scores.confidence))
    v = scores.confidence * (1 - scores.confidence)
    centre = (v * odds).sum() / v.sum()
    spread = np.sqrt((v * (odds - centre) ** 2).sum() / v.sum())
    bets, ends = LabelBets(scores, n_rows, 0), []
    start = state_of(bets)
    for _ in range(2000):
        c = rng.uniform(0.05, 0.95, size=40)
        a, b = rng.normal(size=2) / np.sqrt(n_rows * v.mean())
        line = np.log(c / (1 - c))
        truth = 1 / (1 + np.exp(-(line + a + b * (line - centre) / spread)))
        restore(bets, start)
        ends.append(bets.update(c, rng.random(40) < truth)[-1])
    assert np.mean(ends) == pytest.approx(1, abs=0.06)


@pytest.mark.parametrize("off", [-0.1, 0, 0.1])
def test_label_bets_win_nothing_within_the_tolerance(off):
    rng = np.random.default_rng(5)
    c = rng.uniform(0.15, 0.85, size=(1000, 30))
    correct = rng.random(c.shape) < c + off
    scores = scores_of(c.ravel())
    bets = LabelBets(scores, 10**9, 0.1)
    start = state_of(bets)
    ends = []
    for row in zip(c, correct, strict=True):
        restore(bets, start)
        ends.append(bets.update(*row)[-1])
    assert np.mean(ends) <= 1 + 3 * np.std(ends) / np.sqrt(len(ends))


@pytest.mark.parametrize("n_rows", [100, 300, 1000, 5000])
@pytest.mark.parametrize("sure", [0.999, 0.9999, 1.0])
def test_right_labels_do_not_show_that_a_confidence_near_1_is_too_low(n_rows, sure):
    """The posterior of a fit without mistakes was so wide that a handful of right labels raised an alarm."""
    rng = np.random.default_rng(18)
    scores = scores_of(np.clip(sure - rng.exponential(1 - sure, size=n_rows), 0.6, 1))
    c = rng.choice(scores.confidence, size=5000)
    assert LabelBets(scores, n_rows, 0).update(c, np.full(5000, True)).max() < 20
    assert LabelBets(scores, n_rows, 0).update(c[:1000], rng.random(1000) > 0.2).max() > 40


def test_the_doubt_of_a_fit_is_that_of_bayes_rule():
    """Beside Bayes' rule on a fine grid of lines."""
    rng = np.random.default_rng(19)
    scores = scores_of(rng.uniform(0.9, 0.999, size=200))
    c, correct = rng.choice(scores.confidence, size=400), rng.random(400) > 0.02
    posterior = RecalibrationPosterior(scores, 100)
    a, b = np.meshgrid(*[np.sqrt(posterior.line[2]) * np.linspace(-5, 5, 201)] * 2)
    weight = np.exp(-(a**2 + b**2) / (2 * posterior.line[2]))
    expected = []
    for x, odds, right in zip((log_odds(c) - posterior._centre) / posterior._spread, log_odds(c), correct, strict=True):
        p = 1 / (1 + np.exp(-(odds + a + b * x)))
        expected.append((weight * p).sum() / weight.sum())
        weight = weight * (p if right else 1 - p)
    assert posterior.expect(c, correct) == pytest.approx(np.array(expected), abs=0.01)


@pytest.mark.parametrize(("n_rows", "wrong"), [(100, 0.2), (300, 0.1), (1000, 0.05)])
def test_an_error_beyond_that_of_any_such_fit_is_not_learned_as_one_that_it_left_open(n_rows, wrong):
    rng = np.random.default_rng(20)
    scores = scores_of(1 / (1 + np.exp(-np.log(999) - 1.5 * rng.normal(size=n_rows))))
    c = rng.choice(scores.confidence, size=1000)
    assert LabelBets(scores, n_rows, 0).update(c, rng.random(1000) > wrong).max() > 40


def test_labels_of_a_quiet_stream_do_not_show_that_many_numbers_were_learned_from_few_rows():
    for state in range(4):
        rng = np.random.default_rng([state, 21])
        logits = 2 * (rng.normal(size=(800, 10)) + 3 * np.eye(10)[rng.integers(10, size=800)])
        y = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
        monitor = Monitor(auxcal.MatrixScaling().fit(logits[:300], y[:300]))
        monitor.update(logits[300:], y[300:])
        assert not monitor.alarms


@pytest.mark.parametrize(
    ("calibrator", "n_free"),
    [
        (auxcal.TemperatureScaling(), 2),
        (auxcal.PlattScaling(), 2),
        (auxcal.PlattScaling(scheme="per-class"), 8),
        (auxcal.HistogramBinning(n_bins=10), 10),
        (auxcal.VectorScaling(), 8),
        (auxcal.MatrixScaling(), 20),
    ],
)
def test_the_doubt_grows_with_the_numbers_that_were_learned(calibrator, n_free):
    fitted = calibrator.fit(*draw(300, np.random.default_rng(22)))
    assert fitted._n_free() == n_free
    one, many = Monitor(auxcal.TemperatureScaling().fit(*draw(300, np.random.default_rng(22)))), Monitor(fitted)
    assert many._n_rows_of_a_line(300) == one._n_rows_of_a_line(300) * 2 / n_free


@pytest.mark.parametrize("sure", [1e-6, 0.5, 1 - 1e-6])
def test_label_bets_stand_a_confidence_that_is_always_the_same(sure):
    scores = scores_of(np.full(50, sure))
    evidence = LabelBets(scores, 50, 0).update(np.full(20, sure), np.full(20, sure > 0.5))
    assert np.isfinite(evidence).all()


def test_quiet_streams_raise_alarms_at_most_at_the_level(calibrator):
    rng = np.random.default_rng(6)
    alarms = 0
    for state in range(40):
        fitted = auxcal.PlattScaling().fit(*draw(300, rng, foreign=0.1))
        monitor = Monitor(fitted, level=0.2, random_state=state)
        monitor.update(*draw(800, rng, foreign=0.1))
        alarms += monitor.alarm is not None
    assert alarms <= 14  # of 40 at 0.2: 8 are expected at most


def test_foreign_samples_are_noticed_without_labels(calibrator):
    rng = np.random.default_rng(7)
    monitor = Monitor(calibrator)
    monitor.update(draw(1000, rng, foreign=0.1)[0])
    assert monitor.alarm is None
    monitor.update(draw(600, rng, foreign=0.5)[0])
    assert monitor.alarm.kind == "data"
    assert 1000 < monitor.alarm.after <= 1600
    assert "differ" in str(monitor.alarm)


def test_wrong_labels_are_noticed(calibrator):
    rng = np.random.default_rng(8)
    monitor = Monitor(calibrator)
    logits, y = draw(1500, rng, foreign=0.1)
    monitor.update(logits, np.where(rng.random(1500) < 0.3, (y + 1) % 4, y))
    assert [alarm.kind for alarm in monitor.alarms] == ["labels"]
    assert monitor.alarm.reason in ("the confidence is too high", "the confidence is too extreme")


def test_late_labels_count_as_those_that_come_at_once(calibrator):
    logits, y = draw(300, np.random.default_rng(9), foreign=0.1)
    at_once, late = Monitor(calibrator), Monitor(calibrator)
    at_once.update(logits, y)
    rows = late.update(logits)
    late.label(rows[:100], y[:100])
    late.label(rows[100:], y[100:])
    assert late.evidence == at_once.evidence
    assert rows.tolist() == list(range(300))


def test_a_saved_monitor_goes_on_to_the_same_bits(calibrator, tmp_path):
    rng = np.random.default_rng(10)
    first, second = draw(200, rng), draw(5000, rng)
    whole = Monitor(calibrator, level=0.01)
    rows = whole.update(first[0])
    whole.save(tmp_path / "monitor.safetensors")
    again = Monitor.load(tmp_path / "monitor.safetensors", calibrator)
    for monitor in (whole, again):
        monitor.label(rows[50:], first[1][50:])
        monitor.update(*second)
    assert again.evidence == whole.evidence
    assert again.alarms == whole.alarms
    assert again.level == 0.01


def test_only_the_last_rows_are_kept(calibrator):
    logits, y = draw(30, np.random.default_rng(11))
    monitor = Monitor(calibrator, keep=10)
    rows = monitor.update(logits)
    with pytest.raises(InvalidInputError, match=r"last 10 of the 30 rows seen; got row 0\. Keep more"):
        monitor.label(rows, y)
    monitor.label(rows[-10:], y[-10:])
    none = Monitor(calibrator, keep=0)
    none.update(logits, y)
    assert none.evidence.n_labels == 30


def test_what_fails_leaves_nothing_behind(calibrator):
    logits, y = draw(20, np.random.default_rng(12))
    monitor = Monitor(calibrator)
    rows = monitor.update(logits)
    before = monitor.evidence
    for call in (
        lambda: monitor.update(logits, y[:-1]),
        lambda: monitor.update(logits[:, :3]),
        lambda: monitor.update(logits, np.full(20, 7)),
        lambda: monitor.label(rows, y[:-1]),
        lambda: monitor.label([0, 0], [1, 1]),
        lambda: monitor.label([0.5], [1]),
        lambda: monitor.update(np.where(np.arange(80).reshape(20, 4) == 7, np.nan, logits)),
    ):
        with pytest.raises(InvalidInputError):
            call()
    for row in (20, -1):
        with pytest.raises(InvalidInputError, match=rf"the 20 rows seen, counted from 0; got {row}\. Give what update"):
            monitor.label([row], [0])
    monitor.label([], [])
    assert monitor.evidence == before
    monitor.label(rows, y)
    with pytest.raises(InvalidInputError, match="a row has one label; got another for row 3"):
        monitor.label([3], [1])


@pytest.mark.parametrize(
    "options",
    [
        {"level": 0},
        {"level": 1.0},
        {"level": "low"},
        {"tolerance": -0.1},
        {"tolerance": None},
        {"keep": -1},
        {"keep": 1.5},
        {"random_state": None},
        {"random_state": -1},
    ],
)
def test_bad_options_are_refused(calibrator, options):
    with pytest.raises(InvalidInputError, match=next(iter(options))):
        Monitor(calibrator, **options)


def test_options_may_be_numbers_of_numpy_and_are_saved(calibrator, tmp_path):
    options = {"level": np.float32(0.25), "tolerance": np.float32(0.5), "keep": np.int64(5), "random_state": np.int8(3)}
    Monitor(calibrator, **options).save(tmp_path / "monitor.safetensors")
    found = Monitor.load(tmp_path / "monitor.safetensors", calibrator)
    assert (found.level, found.tolerance, found.keep, found.random_state) == (0.25, 0.5, 5, 3)


def test_labels_may_be_the_names_of_the_fit():
    logits, y = draw(600, np.random.default_rng(3))
    names = np.array(["ant", "bee", "cat", "dog"])
    fitted = auxcal.PlattScaling().fit(logits, names[y], class_names=names, no_class="fox")
    by_index, by_name = Monitor(fitted), Monitor(fitted)
    by_index.update(logits[:50], np.append(y[:49], auxcal.NO_CLASS))
    by_name.update(logits[:50], [*names[y[:49]], "fox"])
    by_index.label(by_index.update(logits[50:]), y[50:])
    by_name.label(by_name.update(logits[50:]), names[y[50:]])
    assert by_name.evidence == by_index.evidence
    with pytest.raises(InvalidInputError, match="one of the classes ant, bee, cat, dog; got 'cow' in row 1"):
        by_name.update(logits[:2], ["ant", "cow"])


def test_what_is_no_fitted_calibrator_is_refused():
    with pytest.raises(InvalidInputError, match=r"calibrator must be a fitted auxcal\.Calibrator; got str"):
        Monitor("ccac-x.safetensors")
    with pytest.raises(auxcal.NotFittedError):
        Monitor(auxcal.PlattScaling())


def test_a_file_belongs_to_its_calibrator(calibrator, tmp_path):
    path = tmp_path / "monitor.safetensors"
    Monitor(calibrator).save(path)
    with pytest.raises(InvalidInputError, match="another calibrator"):
        Monitor.load(path, auxcal.PlattScaling().fit(*draw(100, np.random.default_rng(14))))
    with pytest.raises(FileFormatError, match="lacks one of"):
        auxcal.load(path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(FileFormatError, match="monitor"):
        Monitor.load(path, calibrator)


def with_other(state, *path, value):
    """Return a copy of nested dicts with another value in one place."""
    first, *rest = path
    return state | {first: with_other(state[first], *rest, value=value) if rest else value}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("_labels", "_posterior", "line"), (0.0, 1.0)),
        (("_labels", "_learner", "line"), ("a",) * 5),
        (("_labels", "wealth", "staked"), np.full(6, np.nan)),
        (("_rows", "_sums"), np.zeros(1)),
        (("_rows", "_rng"), {}),
        (("_waiting", "_prediction"), np.zeros(3, dtype=np.int32)),
        (("_waiting", "n_rows"), "many"),
        (("evidence",), (1, 2, "a", 0.5)),
        (("_alarms",), [["noise", 1, "loud"]]),
        (("_alarms",), [["data", "soon", "different"]]),
    ],
)
def test_a_state_that_no_monitor_has_is_refused_whole(calibrator, tmp_path, monkeypatch, path, value):
    monitor = Monitor(calibrator)
    monitor.update(*draw(30, np.random.default_rng(17)))
    forged = with_other(monitor._copied_state(), *path, value=value)
    monkeypatch.setattr(monitor, "_copied_state", lambda: forged)
    monitor.save(tmp_path / "monitor.safetensors")
    with pytest.raises(FileFormatError, match="does not fit a monitor"):
        Monitor.load(tmp_path / "monitor.safetensors", calibrator)


def test_an_adapted_calibrator_is_at_home_in_its_mix():
    rng = np.random.default_rng(15)
    adapted = auxcal.CCACX().fit(*draw(1500, rng, foreign=0.4)).adapt(draw(4000, rng, foreign=0.6)[0])
    there, back = Monitor(adapted), Monitor(adapted)
    there.update(*draw(500, rng, foreign=0.6))
    back.update(draw(1000, rng, foreign=0.1)[0])
    assert there.alarm is None
    assert back.alarm.kind == "data"
