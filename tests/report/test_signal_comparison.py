"""Comparisons of answers with signals: the same table, page and folder as for logits, with honest peers."""

import json

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

import auxcal
from auxcal import InputWarning, InvalidInputError, Predictions, SignalCalibrator, compare


def answers(n, random_state, levels=("law", "maths")):
    rng = np.random.default_rng(random_state)
    ability, topic = rng.normal(size=n), rng.choice(levels, n)
    correct = rng.random(n) < 1 / (1 + np.exp(-(2 * ability + np.where(topic == "law", -1, 1))))
    verbal = np.clip(0.85 + 0.1 * ability, 0.05, 0.99)
    verbal[rng.random(n) < 0.1] = np.nan
    return {"verbal": verbal, "noise": rng.normal(size=n), "topic": topic}, correct


@pytest.fixture(scope="module")
def comparison():
    return compare(*answers(1600, 0)[:1], correct=answers(1600, 0)[1], bootstrap=0, name="answers")


def entry(comparison, name):
    (found,) = (each for each in comparison.entries if each.method == name)
    return found


class TestMethods:
    def test_ours_is_beside_the_base_rate_single_signals_and_scikit_learn(self, comparison):
        assert [each.method for each in comparison.entries] == [
            "base rate",
            "signals",
            "logistic regression (scikit-learn)",
            "histogram boosting (scikit-learn)",
            "verbal: isotonic",
            "verbal: Platt",
            "noise: isotonic",
            "noise: Platt",
            "topic: logistic",
        ]
        assert "behind, ‰" in str(comparison)
        assert "* all signals" in str(comparison)
        assert "all signals" in comparison._repr_html_()
        assert not any(each.failed for each in comparison.entries)
        assert comparison.best.method == "signals"
        assert comparison.before.method == "base rate"

    def test_a_peer_is_what_scikit_learn_gives(self, comparison):
        table, correct = answers(1600, 0)
        fit = np.setdiff1d(np.arange(1600), comparison.rows)
        x, test = table["verbal"][fit], table["verbal"][comparison.rows]
        known = ~np.isnan(x)
        isotonic = IsotonicRegression(out_of_bounds="clip").fit(x[known], correct[fit][known])
        wanted = np.where(np.isnan(test), correct[fit][~known].mean(), isotonic.predict(np.nan_to_num(test)))
        np.testing.assert_allclose(entry(comparison, "verbal: isotonic").confidence, wanted, atol=1e-12)

    def test_what_is_not_ours_is_never_the_best_and_is_not_saved(self, tmp_path):
        table, correct = answers(1600, 0)
        linear = {"x": np.nan_to_num(table["verbal"])}
        found = compare(linear, correct=correct, bootstrap=0)
        assert found.best.method == "signals"
        with pytest.raises(InvalidInputError, match="is here to compare with"):
            found.entries[0].calibrator.save(tmp_path / "peer.safetensors")

    def test_a_probability_is_compared_as_it_is(self):
        table, correct = answers(1600, 0)
        data = Predictions.from_signals(table, correct, probabilities=["verbal"])
        found = compare(data, bootstrap=0, methods=["verbal: Platt"])
        assert found.before.method == "verbal as it is"
        stated = table["verbal"][found.rows]
        np.testing.assert_allclose(found.before.confidence[~np.isnan(stated)], stated[~np.isnan(stated)], atol=1e-9)
        assert found.answer.found.startswith("The signal verbal says 8")

    def test_methods_of_ones_own(self):
        mine = {"rising": SignalCalibrator(increasing=["verbal"], random_state=0)}
        compared = compare(answers(800, 0)[0], correct=answers(800, 0)[1], methods=mine, bootstrap=0)
        assert [entry.method for entry in compared.entries] == ["base rate", "rising"]
        assert compared.best.method == "rising"

    def test_answers_that_are_all_right_leave_the_others_with_a_reason(self):
        with pytest.warns(InputWarning, match=r"all 400 predictions are right.*that marks answers as right or wrong"):
            found = compare(answers(400, 0)[0], correct=np.ones(400, bool), bootstrap=0)
        assert not entry(found, "signals").failed
        assert "class" in entry(found, "logistic regression (scikit-learn)").problem


class TestOutcome:
    def test_differences_are_paired(self, comparison):
        other, best = entry(comparison, "noise: Platt"), comparison.best
        gaps = (other.confidence - comparison.test.correct) ** 2 - (best.confidence - comparison.test.correct) ** 2
        mean, error = comparison.behind(other)
        assert mean == pytest.approx(gaps.mean())
        assert error == pytest.approx(gaps.std() / np.sqrt(len(gaps)))
        row = next(row for row in comparison.table if row["method"] == "noise: Platt")
        assert (row["behind_best"], row["behind_best_error"]) == (mean, error)

    def test_signals_that_tell_count_and_noise_does_not(self, comparison):
        verbal, topic, noise = comparison.signals
        assert (verbal.name, topic.name, noise.name) == ("verbal", "topic", "noise")
        assert topic.counts > 5 * topic.error
        assert abs(noise.counts) < 0.003

    def test_bins_hold_all_answers_and_their_share_of_right_ones(self, comparison):
        table, correct = (part[comparison.rows] for part in (answers(1600, 0)[0]["topic"], answers(1600, 0)[1]))
        topic = next(each for each in comparison.signals if each.name == "topic")
        for each in topic.bins:
            assert each.rows == (table == each.name).sum()
            assert each.right == pytest.approx(correct[table == each.name].mean())
            assert each.low < each.right < each.high
        verbal = comparison.signals[0]
        assert sum(each.rows for each in verbal.bins) == len(comparison.test)
        assert verbal.bins[-1].name == "missing"
        assert np.diff([float(each.name) for each in verbal.bins[:-1]]).min() > 0

    def test_words(self, comparison):
        assert comparison.answer.found.endswith("of the answers are right.")
        assert "With all signals" in comparison.answer.then
        rng = np.random.default_rng(0)
        nothing = compare({"noise": rng.normal(size=600)}, correct=rng.random(600) < 0.7, bootstrap=0)
        assert nothing.answer.verdict == "unhelped"
        assert "do not tell which, by more than chance" in nothing.answer.then


class TestTestPart:
    def test_levels_of_a_test_part_of_its_own_are_read_by_name(self):
        fit, test = answers(900, 0), answers(900, 1, levels=("art", "law", "maths"))
        found = compare(Predictions.from_signals(*fit), test=Predictions.from_signals(*test), bootstrap=0, methods=[])
        calibrator, confidence = found.best.measured()
        np.testing.assert_allclose(confidence, calibrator.predict_confidence(test[0]), atol=1e-6)

    def test_other_signals_are_refused(self):
        fit, test = answers(300, 0), answers(300, 1)
        with pytest.raises(InvalidInputError, match="both parts must have the same signals or features"):
            compare(
                Predictions.from_signals(*fit),
                test=Predictions.from_signals({"verbal": test[0]["verbal"]}, test[1]),
                bootstrap=0,
            )

    def test_groups_stay_together(self):
        table, correct = answers(600, 0)
        data = Predictions.from_signals(table, correct, groups=np.repeat(np.arange(200), 3))
        found = compare(data, bootstrap=0, methods=[])
        assert len(np.unique(found.rows // 3)) * 3 == len(found.rows)


def test_correct_takes_the_place_of_y():
    table, correct = answers(300, 0)
    with pytest.raises(InvalidInputError, match="got both"):
        compare(table, correct, correct=correct)


def test_the_folder_is_that_of_logits(comparison, tmp_path):
    pytest.importorskip("jinja2")
    from auxcal.report.folder import write_folder

    written = write_folder([comparison], tmp_path)
    names = ["report.html", "results.csv", "results.json", "answers-signals.safetensors"]
    assert [path.name for path in written] == names
    (found,) = json.loads((tmp_path / "results.json").read_text())
    assert [each["name"] for each in found["signals"]] == ["verbal", "topic", "noise"]
    page = (tmp_path / "report.html").read_text()
    page = page.replace("&#39;", "'")
    for words in ("Which signals count", "scikit-learn's methods are here to compare with", "Wrong answers to look"):
        assert words in page
    assert "NO_CLASS" not in page
    saved = auxcal.load(tmp_path / names[-1])
    np.testing.assert_allclose(
        saved.predict_confidence({name: column[comparison.rows] for name, column in answers(1600, 0)[0].items()}),
        comparison.best.confidence,
        atol=1e-6,
    )
