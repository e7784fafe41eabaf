"""A comparison splits, fits, measures, names the best, survives a method that fails, and says what is true."""

import warnings

import numpy as np
import pytest

import auxcal
from auxcal import (
    CALIBRATORS,
    NO_CLASS,
    Calibrator,
    InvalidInputError,
    Predictions,
    TemperatureScaling,
    compare,
    evaluate,
    evaluate_by,
)
from auxcal.comparison import Comparison, Entry
from auxcal.comparison._answer import answer

QUICK = ["temperature", "platt", "histogram"]


def drawn(sharpness, n=1200, seed=0):
    """Give logits whose softmax is right at a sharpness of 1, too sure above it."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, 3))
    return Predictions(sharpness * logits, (logits + rng.gumbel(size=logits.shape)).argmax(axis=1))


TOO_SURE = drawn(3)


class Broken(Calibrator):
    """Fails to fit."""

    abbreviation, reference = "broken", "nobody"

    def _fit(self, data):
        raise ZeroDivisionError("it can't <b>divide</b>")

    def _confidence(self, logits):
        raise NotImplementedError


class Stuck(Broken):
    """Fits, but says that it did not converge."""

    def _fit(self, data):
        return "it stopped early"

    def _confidence(self, logits):
        return np.full(len(logits), 0.5)


class TestParts:
    def test_the_test_part_is_a_stratified_share_and_its_rows_are_those_of_the_data(self):
        comparison = compare(TOO_SURE, methods=QUICK, bootstrap=0)
        assert (len(comparison.test), comparison.n_fit) == (300, 900)
        again = TOO_SURE.take(comparison.rows)
        np.testing.assert_array_equal(again.logits, comparison.test.logits)
        np.testing.assert_array_equal(again.y, comparison.test.y)
        assert comparison.test.correct.mean() == pytest.approx(TOO_SURE.correct.mean(), abs=1 / 300)

    def test_a_test_part_of_its_own_is_used_whole_and_the_data_are_all_fitted_on(self):
        test = drawn(3, n=50, seed=1)
        comparison = compare(TOO_SURE, test=test, methods=["temperature"], bootstrap=0)
        assert comparison.test is test
        assert comparison.n_fit == len(TOO_SURE)
        np.testing.assert_array_equal(comparison.rows, np.arange(50))
        expected = TemperatureScaling().fit(TOO_SURE.logits, TOO_SURE.y).predict_confidence(test.logits)
        np.testing.assert_array_equal(comparison.entries[1].confidence, expected)

    def test_the_same_random_state_gives_the_same_comparison(self):
        tables = [compare(TOO_SURE, methods=QUICK, bootstrap=5, random_state=state).table for state in (1, 1, 2)]
        for table in tables:
            for row in table:
                del row["fit_seconds"]
        assert tables[0] == tables[1] != tables[2]


class TestMethods:
    @pytest.mark.needs("torch")
    def test_every_calibrator_is_compared_in_the_order_of_the_list(self, quick_training):
        comparison = compare(drawn(3, n=400), bootstrap=0)
        assert [entry.method for entry in comparison.entries] == list(CALIBRATORS)
        assert not any(entry.failed for entry in comparison.entries)

    def test_the_classifier_itself_is_always_there_and_first(self):
        assert [entry.method for entry in compare(TOO_SURE, methods=["platt"], bootstrap=0).entries] == [
            "uncalibrated",
            "platt",
        ]

    def test_a_method_that_fails_has_a_row_that_says_why_and_the_others_go_on(self):
        mine = {"mine": Broken(), "sound": TemperatureScaling()}
        comparison = compare(TOO_SURE, methods=mine, bootstrap=0)
        failed = comparison.ranked[-1]
        assert (failed.label, failed.failed) == ("mine", True)
        assert failed.problem == "ZeroDivisionError: it can't <b>divide</b>"
        assert comparison.best.method == "sound"
        assert "! mine: ZeroDivisionError" in str(comparison)
        assert "<b>" not in comparison._repr_html_()
        with pytest.raises(LookupError, match="mine was not fitted"):
            failed.measured()
        assert not hasattr(mine["sound"], "temperature_")

    def test_a_fit_that_does_not_converge_is_measured_and_says_so(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            comparison = compare(TOO_SURE, methods={"stuck": Stuck()}, bootstrap=0)
        assert comparison.entries[1].problem == "Stuck: it stopped early"
        assert comparison.entries[1].scores["auroc"] == 0.5

    def test_progress_is_reported(self):
        seen = []
        compare(TOO_SURE, methods=QUICK, bootstrap=0, report=seen.append)
        assert seen == [0.25, 0.5, 0.75, 1]


class TestScores:
    def test_scores_are_those_of_evaluate_with_intervals_and_floor(self):
        comparison = compare(TOO_SURE, methods=["platt"], bootstrap=20)
        entry = comparison.entries[1]
        expected = evaluate(entry.confidence, comparison.test.correct, bootstrap=20)
        assert entry.scores == {name: expected[name] for name in entry.scores}
        assert {"auroc", "auroc_low", "aupr_high", "p90", "ece", "ece_floor_p95", "brier"} <= set(entry.scores)

    def test_the_best_has_the_least_brier_score(self):
        comparison = compare(TOO_SURE, methods=QUICK, bootstrap=0)
        scores = [entry.scores["brier"] for entry in comparison.ranked]
        assert scores == sorted(scores)
        assert comparison.best is comparison.ranked[0]
        assert [row["best"] for row in comparison.table] == [True, False, False, False]

    def test_a_test_part_without_a_wrong_row_has_dashes_and_no_warning(self):
        logits = np.eye(3).repeat(40, axis=0) * 5
        comparison = compare(Predictions(logits, np.arange(3).repeat(40)), methods=["platt"], bootstrap=3)
        assert np.isnan(comparison.before.scores["auroc"])
        assert "–" in str(comparison)


def entry(ece, floor=0.02, brier=0.2, method="uncalibrated", says=0.9):
    scores = {"ece": ece, "ece_floor_p95": floor, "brier": brier}
    return Entry(method, CALIBRATORS[method].abbreviation, 0.0, CALIBRATORS[method](), np.full(4, says), scores)


def rows_of_accuracy(accuracy):
    return Predictions([[1.0, 0.0]] * 10, (np.arange(10) >= round(10 * accuracy)).astype(int))


class TestAnswer:
    @pytest.mark.parametrize(
        ("before", "best", "verdict", "words"),
        [
            (entry(0.2), entry(0.01, brier=0.1, method="ccac"), "solved", "With CCAC the two agree within the noise."),
            (
                entry(0.2),
                entry(0.05, brier=0.1, method="ccac-s"),
                "better",
                "With CCAC-S the ECE falls from 20.0 % to 5.0 %, still more than the 2.0 % that is noise.",
            ),
            (
                entry(0.04),
                entry(0.05, brier=0.1, method="matrix"),
                "better",
                "With matrix scaling (MS) the Brier score falls from 0.200 to 0.100, but its ECE of 5.0 % is more than "
                "the 2.0 % of noise.",
            ),
            (
                entry(0.01),
                entry(0.01, brier=0.19, method="temperature"),
                "calibrated",
                "That is calibrated already, within the noise: nothing needs doing. Temperature scaling (TS) only "
                "lowers the Brier score, from 0.200 to 0.190.",
            ),
        ],
    )
    def test_the_words_are_true_of_the_numbers(self, before, best, verdict, words):
        given = answer(before, best, test=rows_of_accuracy(0.7), methods=13)
        assert given.found == "Your classifier says 90 % and is right 70 % of the time."
        assert (given.verdict, given.then) == (verdict, words)

    @pytest.mark.parametrize(
        ("ece", "methods", "verdict", "words"),
        [
            (0.01, 13, "calibrated", "nothing needs doing."),
            (0.2, 13, "unhelped", "None of the 12 methods lowers its Brier score on these data."),
            (0.2, 1, "unhelped", "No method was compared with it."),
        ],
    )
    def test_where_the_classifier_itself_is_best(self, ece, methods, verdict, words):
        before = entry(ece)
        given = answer(before, before, test=rows_of_accuracy(0.7), methods=methods)
        assert given.verdict == verdict
        assert given.then.endswith(words)

    def test_an_average_that_hides_the_gap_is_told(self):
        given = answer(entry(0.2), entry(0.01, method="ccac"), test=rows_of_accuracy(0.9), methods=2)
        assert given.found.endswith("on average, but sample by sample the two differ: its ECE is 20.0 %.")

    def test_on_real_comparisons(self):
        assert compare(TOO_SURE, methods=QUICK, bootstrap=0).answer.verdict == "solved"
        assert compare(drawn(1), methods=QUICK, bootstrap=0).answer.verdict == "calibrated"


class TestShown:
    def test_the_text_fits_into_80_columns_and_starts_with_the_answer(self):
        lines = str(compare(TOO_SURE, methods=QUICK, bootstrap=0, name="toy")).splitlines()
        assert lines[0] == "toy: 900 rows to fit, 300 to test"
        assert lines[1].startswith("Your classifier says 82 %")
        assert max(map(len, lines[2:])) <= 80
        assert lines[4].startswith("* ")

    def test_a_notebook_shows_a_table_with_everything_escaped(self):
        html = compare(TOO_SURE, methods=QUICK, bootstrap=0, name="<script>")._repr_html_()
        assert "&lt;script&gt;" in html
        assert "<script>" not in html
        assert html.count("<tr") == 5

    @pytest.mark.needs("report")
    def test_a_report_is_saved(self, tmp_path):
        comparison = compare(TOO_SURE, methods=["platt"], bootstrap=0)
        comparison.save_report(tmp_path / "page.html")
        assert comparison.answer.then in (tmp_path / "page.html").read_text()

    @pytest.mark.parametrize("name", CALIBRATORS)
    def test_every_calibrator_shows_itself(self, name, quick_training):
        unfitted = CALIBRATORS[name]()
        assert "Not fitted yet" in unfitted._repr_html_()
        fitted = unfitted.fit(TOO_SURE.logits, TOO_SURE.y)
        html = fitted._repr_html_()
        assert "K = 3 classes; converged" in html
        assert fitted.reference.replace("&", "&amp;") in html

    def test_a_calibrator_shows_what_it_learned(self):
        fitted = TemperatureScaling().fit(TOO_SURE.logits, TOO_SURE.y)
        assert f"{fitted.temperature_:.4g}" in fitted._repr_html_()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"data": [[1.0, 2.0]]}, "data must be auxcal.Predictions; got list"),
        ({"methods": ["magic"]}, "the method must be one of uncalibrated, .*; got 'magic'"),
        ({"test": 1.5}, "share must be a number in"),
        ({"test": Predictions([[1.0, 2.0]], [NO_CLASS])}, "the test part must have the 3 columns"),
        ({"class_names": ["a", "b"]}, "class_names must be 3 names"),
        ({"class_names": "abc"}, "class_names must be 3 names"),
        ({"bootstrap": -1}, "bootstrap must be"),
    ],
)
def test_what_can_not_be_used_is_refused(change, words):
    with pytest.raises(InvalidInputError, match=words):
        compare(**{"data": TOO_SURE, "methods": ["platt"], **change})


def test_the_public_names_are_those_of_the_package():
    assert auxcal.Comparison is Comparison


class TestFeatures:
    def test_they_go_to_those_that_use_them(self, featured, featured_platt):
        methods = {"featured": featured_platt(), "temperature": TemperatureScaling()}
        comparison = compare(featured, methods=methods, bootstrap=0)
        assert not any(entry.failed for entry in comparison.entries)
        assert {entry.method: entry.calibrator.n_further_features_ for entry in comparison.entries} == {
            "uncalibrated": 0,
            "featured": 2,
            "temperature": 0,
        }
        assert comparison.best.method == "featured"

    @pytest.mark.parametrize("columns", [None, slice(1)], ids=["none", "fewer"])
    def test_the_test_part_has_those_of_the_data(self, featured, columns):
        features = None if columns is None else featured.features[:, columns]
        test = Predictions(featured.logits, featured.y, features)
        with pytest.raises(InvalidInputError, match="the test part must have the 2 features of each sample"):
            compare(featured, test=test, methods=["temperature"], bootstrap=0)


def test_slices_are_those_of_the_test_part_with_the_best_confidence():
    data = drawn(3, n=800)
    where = np.where(np.arange(len(data)) % 20 == 0, "rare", "often")
    comparison = compare(data, methods=["platt"], bootstrap=20, by={"place": where})
    (found,) = comparison.slices
    expected = evaluate_by(
        comparison.best.confidence, comparison.test.correct, where[comparison.rows], bootstrap=20, random_state=0
    )
    assert found.by == "place"
    assert [each.as_dict() for each in found.after] == [each.as_dict() for each in expected]
    assert [each.is_noise for each in found.after if each.value == "rare"] == [True]
    assert [each.rows for each in found.before] == [each.rows for each in found.after]
    with pytest.raises(InvalidInputError, match="place must be one number, string or date for each of the 800 rows"):
        compare(data, methods=["platt"], bootstrap=0, by={"place": where[1:]})
