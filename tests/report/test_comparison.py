"""A comparison splits, fits, measures, names the best, survives a method that fails, and says what is true."""

import warnings

import numpy as np
import pytest

import auxcal
from auxcal import (
    CALIBRATORS,
    NO_CLASS,
    Calibrator,
    InputWarning,
    InvalidInputError,
    Predictions,
    TemperatureScaling,
    compare,
    evaluate,
    evaluate_by,
)
from auxcal.report.comparison import Agreement, Comparison, Entry

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

    def test_rows_are_checked_once(self, monkeypatch):
        for module in ("auxcal.predictions", "auxcal.inputs.logit_inputs"):
            monkeypatch.setattr(f"{module}.as_logits", None)
        compare(TOO_SURE, methods=QUICK, bootstrap=5, by={"half": np.arange(1200) % 2})


class TestMethods:
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
        right = Predictions(np.eye(3).repeat(40, axis=0) * 5, np.arange(3).repeat(40))
        comparison = compare(TOO_SURE, test=right, methods=["platt"], bootstrap=3)
        assert np.isnan(comparison.before.scores["auroc"])
        assert "–" in str(comparison)


class TestQuestions:
    """What is probably a mistake gives a warning, and what is meant does not."""

    def test_labels_that_are_the_predictions(self):
        data = Predictions(TOO_SURE.logits, TOO_SURE.prediction)
        with pytest.warns(InputWarning, match=r"all 1,200 predictions are right.*Is y what the classifier predicts\?"):
            compare(data, methods=["platt"], bootstrap=0)

    @pytest.mark.parametrize("share", [0.5, 0.05])
    def test_rows_of_the_test_part_that_are_those_of_the_data(self, share):
        test = TOO_SURE.take(slice(50)).joined(drawn(3, seed=1).take(slice(round(50 / share) - 50)))
        with pytest.warns(InputWarning, match=rf"{100 * share:.1f} % of the rows of the test part are among those of"):
            compare(TOO_SURE, test=test, methods=["platt"], bootstrap=0)

    def test_rows_of_the_select_part_that_are_those_of_the_fit(self):
        method = auxcal.Dirichlet(off_diagonal=(0.1, 1.0), intercept=0.1, random_state=0)
        with pytest.warns(InputWarning, match="100.0 % of the rows of the select part are among those of the fit"):
            method.fit(TOO_SURE.logits, TOO_SURE.y, TOO_SURE)

    def test_parts_whose_rows_repeat_are_not_asked_about_unless_they_are_equal(self):
        few = np.random.default_rng(0).integers(3, size=(1200, 3)).astype(np.float32)
        data, test = Predictions(few[:800], TOO_SURE.y[:800]), Predictions(few[800:], TOO_SURE.y[800:])
        compare(data, test=test, methods=["platt"], bootstrap=0)
        with pytest.warns(InputWarning, match="100.0 % of the rows"):
            compare(data, test=data, methods=["platt"], bootstrap=0)

    def test_new_rows_and_an_accurate_classifier_are_fine(self):
        compare(TOO_SURE, test=drawn(3, seed=1), methods=["platt"], bootstrap=0)
        right = drawn(3, seed=2)
        compare(TOO_SURE, test=right.take(right.correct), methods=["platt"], bootstrap=0)


N_ROWS = 4000
RIGHT = np.arange(N_ROWS) % 10 < 7
HONEST, NEARLY, SURE = (np.full(N_ROWS, says) for says in (0.7, 0.74, 0.9))
KNOWING = np.where(RIGHT, 0.95, 0.05)  # tells right from wrong, but is not sure enough
BARELY = HONEST + 1e-3 * np.random.default_rng(0).normal(3 * RIGHT, 20)  # a little better by chance


def entry(method, confidence):
    scores = evaluate(confidence, RIGHT, metrics=["ece", "brier"])
    return Entry(method, CALIBRATORS[method].abbreviation, 0.0, CALIBRATORS[method](), confidence, scores)


def outcome(before, limit, p_value, **methods):
    """Give the answer for confidences of the classifier and of methods, and the agreement on all rows."""
    test = Predictions([[1.0, 0.0]] * N_ROWS, (~RIGHT).astype(int))
    entries = [entry("uncalibrated", before), *(entry(name, each) for name, each in methods.items())]
    agreement = Agreement(before.mean(), RIGHT.mean(), 500, limit, p_value)
    return Comparison("x", tuple(entries), test, np.arange(N_ROWS), 9, agreement).answer


class TestAnswer:
    @pytest.mark.parametrize(
        ("given", "verdict", "words"),
        [
            (outcome(SURE, 0.21, 0, ccac=HONEST), "solved", "With CCAC the two agree to within 2 points."),
            (
                outcome(SURE, 0.21, 0, ccac=NEARLY),
                "better",
                "With CCAC the ECE falls from 20.0 % to 4.0 %, still more than the 1.4 % that is noise.",
            ),
            (
                outcome(NEARLY, 0.06, 0, matrix=KNOWING),
                "better",
                "With matrix scaling (MS) the Brier score falls from 0.212 to 0.003, but its ECE of 5.0 % is more than "
                "the 0.8 % of noise.",
            ),
            (outcome(HONEST, 0.02, 0.5), "calibrated", "The two agree to within 2 points: nothing needs doing."),
            (
                outcome(HONEST, 0.02, 0.5, temperature=BARELY),
                "calibrated",
                "The two agree to within 2 points. Temperature scaling (TS) lowers the Brier score from 0.210 to "
                "0.210, which may be chance.",
            ),
            (
                outcome(HONEST, 0.08, 0.5, temperature=BARELY),
                "unclear",
                "These 500 rows are too few to tell whether that is calibrated: the two may differ by up to 8 points. "
                "Label more rows. On the 4,000 test rows, temperature scaling (TS) lowers the Brier score from 0.210 "
                "to 0.210, which may be chance.",
            ),
            (
                outcome(HONEST, 0.08, 0.001, temperature=SURE, platt=SURE),
                "unhelped",
                "None of the 2 methods lowers its Brier score on the 4,000 test rows.",
            ),
            (
                outcome(HONEST, 0.08, 0.001, platt=SURE),
                "unhelped",
                "Platt scaling does not lower its Brier score on the 4,000 test rows.",
            ),
            (outcome(HONEST, 0.08, 0.001), "unhelped", "No method was compared with it."),
        ],
    )
    def test_the_words_are_true_of_the_numbers(self, given, verdict, words):
        assert (given.verdict, given.then) == (verdict, words)

    def test_a_gain_beyond_chance_counts_even_where_the_classifier_is_calibrated(self):
        assert outcome(HONEST, 0.02, 0.5, ccac=KNOWING).verdict == "better"

    def test_an_average_that_hides_the_gap_is_named(self):
        given = outcome(np.where(RIGHT, 0.6, 0.93), 0.2, 0, ccac=HONEST)
        assert given.found.endswith("on average, but sample by sample the two differ: its ECE is 55.9 %.")

    def test_on_real_comparisons(self):
        assert compare(drawn(3, n=8000, seed=1), methods=QUICK, bootstrap=0).answer.verdict == "solved"
        assert compare(drawn(1, n=8000), methods=QUICK, bootstrap=0).answer.verdict == "calibrated"

    def test_few_rows_of_an_overconfident_classifier_never_need_nothing(self):
        for seed in range(6):
            given = compare(drawn(1.3, n=200, seed=seed), methods=["temperature", "isotonic"], bootstrap=0).answer
            assert given.verdict != "calibrated", given
            assert "nothing needs doing" not in given.then

    def test_few_test_rows_limit_the_claim_about_the_best_method(self):
        given = compare(drawn(3, n=900), methods=["temperature"], bootstrap=0).answer
        assert given.verdict == "better"
        assert "The 225 test rows tell only to within" in given.then


class TestAgreement:
    def test_the_test_errs_at_its_level_and_the_limit_holds(self):
        rng, found = np.random.default_rng(0), []
        for concentration in (20, 1, 0.05):  # the last: nearly always close to 0 or 1
            for _ in range(300):
                truth = rng.beta(0.8 * concentration, 0.2 * concentration, size=300)
                found.append(Agreement.of(truth, rng.random(300) < truth))
        assert np.mean([each.disproved for each in found]) < 0.03
        for gap in (0.05, -0.05):
            limits = [Agreement.of(np.full(300, 0.8 + gap), rng.random(300) < 0.8).limit for _ in range(300)]
            assert np.mean(np.array(limits) >= 0.05) > 0.95

    def test_a_mean_that_agrees_can_hide_a_slope(self):
        rng = np.random.default_rng(0)
        confidence = rng.uniform(0.5, 1, size=1000)
        found = Agreement.of(confidence, rng.random(1000) < 0.75)
        assert found.confidence == pytest.approx(found.right, abs=0.03)
        assert found.disproved

    def test_copies_in_one_group_tell_no_more_than_one_row(self):
        once = np.random.default_rng(0).random(100) < 0.8
        alone = Agreement.of(np.full(100, 0.9), once)
        copied = Agreement.of(np.full(1000, 0.9), once.repeat(10), groups=np.arange(100).repeat(10))
        assert copied.limit == pytest.approx(alone.limit)
        assert copied.p_value == pytest.approx(alone.p_value)

    def test_weights_count_as_repetition_does_in_the_means(self):
        confidence, correct = np.array([0.5, 0.9, 0.8]), np.array([True, False, True])
        weighted = Agreement.of(confidence, correct, np.array([1.0, 2.0, 1.0]))
        repeated = Agreement.of(confidence.repeat([1, 2, 1]), correct.repeat([1, 2, 1]))
        assert (weighted.confidence, weighted.right) == pytest.approx((repeated.confidence, repeated.right))


class TestShown:
    def test_the_text_fits_into_80_columns_and_starts_with_the_answer(self):
        lines = str(compare(TOO_SURE, methods=QUICK, bootstrap=0, name="toy")).splitlines()
        assert lines[0] == "toy: 900 rows to fit, 300 to test"
        assert lines[1].startswith("Your classifier says 83 %")
        assert max(map(len, lines[2:])) <= 80
        assert lines[4].startswith("* ")

    def test_a_notebook_shows_a_table_with_everything_escaped(self):
        html = compare(TOO_SURE, methods=QUICK, bootstrap=0, name="<script>")._repr_html_()
        assert "&lt;script&gt;" in html
        assert "<script>" not in html
        assert html.count("<tr") == 5

    def test_every_calibrator_is_compared_in_the_order_of_the_list_and_shows_itself(self, quick_training):
        comparison = compare(drawn(3, n=400), bootstrap=0)
        assert [entry.method for entry in comparison.entries] == list(CALIBRATORS)
        for entry in comparison.entries:
            calibrator, _ = entry.measured()
            html = calibrator._repr_html_()
            assert "logits of 3 classes" in html
            assert calibrator.reference.replace("&", "&amp;") in html
            assert "Not fitted yet" in CALIBRATORS[entry.method]()._repr_html_()
        temperature = next(entry.calibrator for entry in comparison.entries if entry.method == "temperature")
        assert f"{temperature.temperature_:.4g}" in temperature._repr_html_()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"data": [[1.0, 2.0]]}, "data must be auxcal.Predictions, or logits with their y; got list"),
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


def test_compare_takes_logits_and_labels():
    logits, y = np.random.default_rng(0).normal(size=(200, 3)), np.arange(200) % 3
    both = [compare(*given, methods=["platt"], bootstrap=0) for given in ((logits, y), (Predictions(logits, y),))]
    assert both[0].answer == both[1].answer
    with pytest.raises(InvalidInputError, match=r"auxcal\.compare\(logits, y\)"):
        compare(logits)
    with pytest.raises(InvalidInputError, match="Leave y out"):
        compare(Predictions(logits, y), y)


def test_copies_of_a_row_are_on_one_side_of_the_split():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(60, 3))
    y = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    rows = rng.permutation(np.arange(60).repeat(4))
    found = compare(Predictions(logits[rows], y[rows]), methods=["platt"], bootstrap=0)
    tested = rows[found.rows]
    assert len(tested) == 4 * len(np.unique(tested))
