"""SignalCalibrator: what it learns, odd tables, and that everything around calibrators takes signals too."""

import warnings
from functools import partial

import numpy as np
import pytest

import auxcal
from auxcal import InputWarning, InvalidInputError, SignalCalibrator, evaluate
from auxcal.calibrators import additive_model
from auxcal.monitoring import timeline

pd = pytest.importorskip("pandas")

TOPICS = np.array(["art", "law", "maths", "physics"])


def answers(n, random_state, gaps=0.1):
    """Return signals of answers with the probability that each is right."""
    rng = np.random.default_rng(random_state)
    ability, topic = rng.normal(size=n), rng.integers(4, size=n)
    chance = 1 / (1 + np.exp(-(1.5 * ability + np.array([-1.5, 0, 0.5, 1.5])[topic])))
    verbal = np.clip(np.round(0.8 + 0.1 * ability, 2), 0, 1)
    verbal[rng.random(n) < gaps] = np.nan
    words = np.exp(5 - 0.3 * ability + 0.5 * rng.normal(size=n))
    table = pd.DataFrame({"verbal": verbal, "words": words, "topic": TOPICS[topic], "cited": rng.random(n) < 0.5})
    return table, rng.random(n) < chance, chance


@pytest.fixture(scope="module")
def data():
    return answers(1500, 0)


@pytest.fixture(scope="module")
def fitted(data):
    return SignalCalibrator(random_state=0).fit(*data[:2])


@pytest.fixture(scope="module")
def new():
    return answers(2000, 1)


def test_the_confidence_is_calibrated_and_better_than_any_signal_alone(fitted, data, new):
    table, correct, _ = new
    scores = evaluate(fitted.predict_confidence(table), correct)
    assert scores["ece"] < scores["ece_floor_p95"]
    alone = SignalCalibrator(random_state=0).fit(data[0][["verbal"]], data[1])
    assert scores["brier"] < evaluate(alone.predict_confidence(table), correct)["brier"] - 0.01


def test_useless_signals_leave_the_base_rate():
    rng = np.random.default_rng(0)
    table = {f"signal {j}": rng.normal(size=400) for j in range(5)} | {"topic": rng.choice(TOPICS, 400)}
    correct = rng.random(400) < 0.7
    confidence = SignalCalibrator(random_state=0).fit(table, correct).predict_confidence(table)
    assert abs(confidence.mean() - correct.mean()) < 0.01
    assert confidence.std() < 0.05


def test_a_hundred_answers_are_enough_for_something_sensible(new):
    table, _, chance = new
    few, right, _ = answers(100, 3)
    confidence = SignalCalibrator(random_state=0).fit(few, right).predict_confidence(table)
    assert np.mean((confidence - chance) ** 2) < 0.5 * np.mean((right.mean() - chance) ** 2)


def test_a_signal_that_may_only_raise_the_confidence_does():
    rng = np.random.default_rng(0)
    score, other = rng.random(800), rng.normal(size=800)
    correct = rng.random(800) < np.where(score > 0.7, 0.3, score)  # the data say otherwise
    fit = SignalCalibrator(increasing=["score"], random_state=0).fit({"score": score, "other": other}, correct)
    grid = np.linspace(-0.1, 1.1, 60)
    for value in (-1.0, 0.0, 2.0):
        assert np.diff(fit.predict_confidence({"score": grid, "other": np.full(60, value)})).min() >= -1e-9


def test_one_score_is_enough():
    rng = np.random.default_rng(0)
    score = rng.random(1000)
    fit = SignalCalibrator(random_state=0).fit(score, rng.random(1000) < score**2)
    np.testing.assert_allclose(fit.predict_confidence([0.2, 0.5, 0.9]), [0.04, 0.25, 0.81], atol=0.08)


def test_probabilities_may_be_0_and_1(data):
    table, correct, _ = data
    fit = SignalCalibrator(probabilities=["verbal"], random_state=0).fit(table, correct)
    assert np.isfinite(fit.predict_confidence(table.assign(verbal=1.0))).all()


class TestOddTables:
    def test_half_of_all_values_are_missing(self, new):
        table, correct, _ = answers(1500, 0, gaps=0.5)
        confidence = (
            SignalCalibrator(random_state=0).fit(table, correct).predict_confidence(new[0].assign(verbal=np.nan))
        )
        assert evaluate(confidence, new[1])["brier"] < 0.2

    def test_a_constant_column_changes_nothing(self, fitted, data, new):
        table, correct, _ = data
        fit = SignalCalibrator(random_state=0).fit(table.assign(constant=1.0, empty=np.nan, version="v1"), correct)
        further = fit.predict_confidence(new[0].assign(constant=7.0, empty=np.nan, version="v2"))
        np.testing.assert_allclose(further, fitted.predict_confidence(new[0]), atol=0.02)

    def test_a_category_of_5000_levels_tells_nothing_where_each_is_rare(self):
        correct = answers(6000, 5)[1]
        users = np.random.default_rng(0).integers(5000, size=6000).astype(str)
        fit = SignalCalibrator(random_state=0).fit({"user": users}, correct)
        confidence = fit.predict_confidence({"user": np.arange(5000).astype(str)})
        assert np.abs(confidence - correct.mean()).max() < 0.15

    def test_frequent_levels_out_of_many_tell(self):
        rng = np.random.default_rng(0)
        users, rate = rng.integers(300, size=9000), rng.random(300)
        fit = SignalCalibrator(random_state=0).fit({"user": users.astype(str)}, rng.random(9000) < rate[users])
        confidence = fit.predict_confidence({"user": np.arange(300).astype(str)})
        assert np.corrcoef(confidence, rate)[0, 1] > 0.9

    @pytest.mark.parametrize("as_text", [False, True])
    def test_a_signal_that_is_the_label_is_too_good_to_be_true(self, data, as_text):
        table, correct, _ = data
        leak = np.where(correct, "yes", "no") if as_text else correct
        with pytest.warns(
            InputWarning, match="'mark' alone separates right answers from wrong ones: too good to be true"
        ):
            SignalCalibrator(random_state=0).fit(table.assign(mark=leak), correct)

    def test_a_new_level_counts_as_the_average_one(self, fitted, new):
        table = new[0].iloc[:200]
        each = np.stack([fitted.predict_confidence(table.assign(topic=topic)) for topic in TOPICS])
        new_level = fitted.predict_confidence(table.assign(topic="history"))
        assert np.all((new_level > each.min(axis=0)) & (new_level < each.max(axis=0)))

    def test_infinities_count_as_the_largest_numbers(self, fitted, data, new):
        table, correct, _ = data
        most, least = table["words"].max(), table["words"].min()
        found = fitted.predict_confidence(new[0].assign(words=np.where(np.arange(2000) % 2, np.inf, -np.inf)))
        wanted = fitted.predict_confidence(new[0].assign(words=np.where(np.arange(2000) % 2, most + 1, least - 1)))
        np.testing.assert_array_equal(found, wanted)
        with_some = table.assign(words=table["words"].where(np.arange(len(table)) % 50 > 0, np.inf))
        fit = SignalCalibrator(random_state=0).fit(with_some, correct)
        assert evaluate(fit.predict_confidence(new[0]), new[1])["brier"] < 0.2

    def test_numbers_of_any_size(self, data, new):
        table, correct, _ = data
        scaled = SignalCalibrator(random_state=0).fit(table.assign(words=1e9 + 1e6 * table["words"]), correct)
        plain = SignalCalibrator(random_state=0).fit(table, correct)
        found = scaled.predict_confidence(new[0].assign(words=1e9 + 1e6 * new[0]["words"]))
        np.testing.assert_allclose(found, plain.predict_confidence(new[0]), atol=0.05)

    @pytest.mark.parametrize("right", [True, False])
    @pytest.mark.parametrize("n", [30, 100, 1500])
    def test_all_answers_right_or_wrong_leave_what_half_an_answer_leaves(self, data, right, n):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InputWarning)  # 30 are few
            fit = SignalCalibrator(random_state=0).fit(data[0][:n], np.full(n, right))
        doubt = 0.5 / (n + 1)  # the mean of Jeffreys' posterior
        left = np.abs(fit.predict_confidence(data[0]) - right)
        assert left.mean() == pytest.approx(doubt, rel=0.05)
        assert doubt / 2 < left.min() < left.max() < 2 * doubt

    @pytest.mark.parametrize("n", [100, 300])
    def test_where_right_answers_are_rare_the_mean_confidence_is_that_of_jeffreys_posterior(self, n):
        rng = np.random.default_rng(0)
        draw = lambda n: {"score": rng.normal(size=n), "topic": rng.choice(TOPICS, n)}  # noqa: E731
        new, said, wanted = draw(500), [], []
        for _ in range(15):
            # From Jeffreys' prior, up to 5 %: then the mean of its posterior is calibrated, whatever is drawn.
            correct = rng.random(n) < 0.05 * rng.beta(0.5, 1)
            said.append(SignalCalibrator(random_state=0).fit(draw(n), correct).predict_confidence(new).mean())
            wanted.append((correct.sum() + 0.5) / (n + 1))
        np.testing.assert_allclose(said, wanted, rtol=0.25)
        assert np.mean(said) == pytest.approx(np.mean(wanted), rel=0.05)

    @pytest.mark.parametrize(
        ("correct", "words"),
        [(np.ones(3), "one value for each of the 1500"), (np.full(1500, 2), "booleans"), (["yes"] * 1500, "booleans")],
    )
    def test_what_does_not_say_right_or_wrong_is_refused(self, data, correct, words):
        with pytest.raises(InvalidInputError, match=words):
            SignalCalibrator().fit(data[0], correct)


class TestRows:
    def test_their_order_makes_no_difference(self, fitted, data, new):
        table, correct, _ = data
        order = np.random.default_rng(0).permutation(len(correct))
        again = SignalCalibrator(random_state=0).fit(table.iloc[order], correct[order])
        np.testing.assert_allclose(again.predict_confidence(new[0]), fitted.predict_confidence(new[0]), atol=1e-3)

    def test_copies_count_once(self, fitted, data, new):
        table, correct, _ = data
        twice = SignalCalibrator(random_state=0).fit(pd.concat([table, table]), np.concatenate([correct, correct]))
        np.testing.assert_allclose(twice.predict_confidence(new[0]), fitted.predict_confidence(new[0]), atol=0.01)

    def test_a_group_of_equal_answers_counts_as_about_one(self, data, new):
        table, correct, _ = data
        table, correct = table.iloc[:300], correct[:300]
        noisy = pd.concat([table] * 5).assign(words=lambda rows: rows["words"] * np.tile([0.9, 1, 1.1, 1.2, 1.3], 300))
        grouped = SignalCalibrator(random_state=0).fit(noisy, np.tile(correct, 5), groups=np.tile(np.arange(300), 5))
        scores = evaluate(grouped.predict_confidence(new[0]), new[1])
        assert scores["ece"] < 0.08

    def test_weights_count(self, data):
        table, correct, _ = data
        heavy = SignalCalibrator(random_state=0).fit(table, correct, sample_weight=np.where(correct, 3.0, 1.0))
        assert heavy.predict_confidence(table).mean() > correct.mean() + 0.1


class TestAround:
    def test_facts_speak_of_signals(self, fitted):
        from auxcal.calibrators.description import facts

        found = facts(fitted)
        assert found["takes"] == "4 signals of each answer"
        assert "of them wrong" in found["fitted on"]
        assert "4 signals" in fitted._repr_html_()

    def test_check(self, fitted, new):
        assert auxcal.check(fitted, new[0]).verdict == "same"
        found = auxcal.check(fitted, new[0].assign(words=20 * new[0]["words"]))
        assert found.verdict == "new"
        assert found.differences[0].what == "words"
        assert auxcal.check(fitted, new[0].assign(topic="history")).verdict == "new"

    def test_adapt_to_another_share_of_right_answers(self, fitted, new):
        table, correct, _ = new
        kept = correct | (np.random.default_rng(0).random(len(correct)) < 0.2)
        found = auxcal.check(fitted, table[kept])
        assert found.verdict == "mix"
        adapted = fitted.adapt(table[kept])
        before, after = (evaluate(each.predict_confidence(table[kept]), correct[kept]) for each in (fitted, adapted))
        assert after["brier"] < before["brier"]

    def test_monitor(self, fitted, new):
        table, correct, _ = new
        monitor = auxcal.Monitor(fitted)
        monitor.update(table, correct)
        assert not monitor.alarms
        monitor.update(table.assign(words=20 * table["words"]))
        assert "words" in str(monitor.alarms[0])

    def test_timeline(self, fitted, new):
        days = np.repeat(["monday", "tuesday"], 1000)
        found = timeline(fitted, new[0], days, y=new[1])
        assert [chunk.n_labels for chunk in found.chunks] == [1000, 1000]

    def test_rows_of_the_fit_are_recognised(self, fitted, data, new):
        assert fitted.share_in_fit(data[0]) == 1
        assert fitted.share_in_fit(new[0]) < 0.01

    def test_score_is_the_negative_brier_score(self, fitted, new):
        found = evaluate(fitted.predict_confidence(new[0]), new[1])
        assert fitted.score(*new[:2]) == pytest.approx(-found["brier"])

    def test_no_warning_of_anything(self, data):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            SignalCalibrator(random_state=0).fit(*data[:2])


def test_few_answers_are_called_few_without_advice_on_logits():
    with pytest.warns(InputWarning, match="5 rows are few to learn from: label 100 or more. auxcal plan"):
        SignalCalibrator(random_state=0).fit({"a": np.arange(5.0)}, [True, False, True, True, False])


def test_many_signals_of_few_answers_are_solved_row_by_row_to_the_same_numbers(monkeypatch):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(70, 12))  # with 97 features
    x[rng.random(x.shape) < 0.05] = np.nan
    correct, weight = rng.random(70) < 1 / (1 + np.exp(-np.nan_to_num(x[:, 0]))), rng.integers(1, 4, 70)
    fit = partial(SignalCalibrator(random_state=0).fit, x, correct, sample_weight=weight)
    by_features = fit().predict_confidence(x)
    monkeypatch.setattr(additive_model, "_MANY", 0)
    monkeypatch.delattr(additive_model._Fit, "_optimum")  # which is not needed then
    np.testing.assert_allclose(fit().predict_confidence(x), by_features, atol=1e-6)
