"""auxcal.check: same, mix or new, at the level asked, with the accuracy and the shares of the new rows."""

import json
from dataclasses import replace

import numpy as np
import pytest

import auxcal
from auxcal import InvalidInputError, PlattScaling
from auxcal.monitoring import _mix

MIXES = {"none": {"foreign": 0.0}, "many": {"foreign": 0.7}, "a class tenfold": {"weights": (10, 1, 1)}}


def right(logits, y):
    return float(np.mean(logits.argmax(axis=1) == y))


def test_where_nothing_changed_the_verdict_is_same(draw, calibrator):
    verdicts = [auxcal.check(calibrator, draw(500, random_state=i)[0]).verdict for i in range(40)]
    assert verdicts.count("same") >= 34  # 38 are expected, and fewer than 34 in one of 100 such tests


@pytest.mark.parametrize("mix", MIXES.values(), ids=MIXES)
def test_another_mix_is_recognised_and_measured(draw, calibrator, mix):
    logits, y = draw(4000, random_state=1, **mix)
    found = auxcal.check(calibrator, logits)
    assert found.verdict == "mix"
    assert abs(found.accuracy.value - right(logits, y)) < 0.02
    assert found.accuracy.low <= right(logits, y) <= found.accuracy.high
    assert abs(found.no_class.value - np.mean(y == -1)) < 0.03
    assert abs(found.no_class_before - 0.3) < 0.03
    assert found.differences[0].what.startswith("share of")


def test_something_new_is_recognised_and_each_reading_of_it_gives_an_accuracy(draw, calibrator):
    logits, y = draw(1000, scale=1.3, random_state=1)
    found = auxcal.check(calibrator, logits)
    assert found.verdict == "new"
    assert found.no_class is None
    assert found.accuracy.low <= right(logits, y) <= found.accuracy.high
    ends = sorted(each.value for each in (found.if_shares_moved, found.if_inputs_moved))
    assert found.accuracy.low < ends[0] <= found.accuracy.value <= ends[1] < found.accuracy.high
    assert 0 < found.effective_rows < found.n_reference
    assert "nine of ten made shifts" in found.assumption
    assert str(found).startswith(f"Expect {100 * found.accuracy.value:.1f} % (")
    assert {each.what for each in found.differences} & {"spread", "margin", "energy", "log-odds"}


def test_where_nothing_changed_all_readings_agree_and_every_row_has_a_counterpart(draw, calibrator):
    found = auxcal.check(calibrator, draw(2000, random_state=1)[0])
    assert found.if_inputs_moved.value == pytest.approx(found.if_shares_moved.value, abs=0.03)
    assert found.effective_rows > 0.9 * found.n_reference_counted
    assert found.unseen < 0.02


def test_weights_on_the_fit_give_the_accuracy_of_rows_that_were_chosen_by_their_confidence(draw, platt):
    logits, y = draw(4000, random_state=1)
    unsure = np.argsort(platt.predict_confidence(logits))[:1000]
    found = auxcal.check(platt, logits[unsure])
    assert found.if_inputs_moved.value == pytest.approx(right(logits[unsure], y[unsure]), abs=0.06)
    assert found.effective_rows < 0.6 * found.n_reference


def test_of_rows_that_the_fit_has_none_like_nothing_can_be_told(draw, calibrator):
    logits, _ = draw(1000, random_state=1)
    mixed, strange = logits.copy(), logits + 100
    mixed[:100] += 100
    some, all_of_them = auxcal.check(calibrator, mixed), auxcal.check(calibrator, strange)
    assert some.unseen == pytest.approx(0.1, abs=0.02)
    assert "% of the rows is unknown: the fit has none like them" in str(some)
    assert all_of_them.accuracy is None
    assert all_of_them.unseen == pytest.approx(1)
    assert "100.0 % of the rows have no counterpart" in all_of_them.assumption


def test_a_calibrator_without_a_share_for_none_has_strata_right_and_wrong(draw, platt):
    found = auxcal.check(platt, draw(4000, foreign=0.7, random_state=1)[0])
    assert found.verdict != "same"
    assert found.no_class is None
    same = auxcal.check(platt, draw(1000, random_state=4)[0])
    assert same.verdict == "same"
    assert same.assumption.startswith("right and wrong")


def test_where_logits_hardly_tell_the_mix_the_estimate_stays_near_that_of_the_fit():
    def rows(n, random_state):
        rng = np.random.default_rng(random_state)
        y, foreign = rng.integers(2, size=n), rng.random(n) < 0.3
        logits = 2 * np.eye(2)[y] + rng.normal(size=(n, 2)) * np.where(foreign, 1.6, 1)[:, None]
        return logits, np.where(foreign, auxcal.NO_CLASS, y)

    fitted = auxcal.CCACX(random_state=0).fit(*rows(300, 0))
    for random_state in range(1, 9):
        logits, y = rows(500, random_state)
        found = auxcal.check(fitted, logits, level=1e-9)
        assert found.accuracy.low <= found.accuracy.value <= found.accuracy.high
        assert abs(found.accuracy.value - right(logits, y)) < 0.15  # it was off by 0.34 on average
        adapted = fitted.adapt(logits, if_new="warn", level=1e-9).predict_confidence(logits)
        assert abs(adapted.mean() - right(logits, y)) < 0.15


def test_a_confidence_that_is_always_the_same_tells_no_shares(draw):
    fitted = auxcal.HistogramBinning(n_bins=1).fit(*draw(500))
    new = draw(300, random_state=1)[0]
    found = auxcal.check(fitted, new)
    assert found.verdict == "same"
    assert found.accuracy.value == pytest.approx(fitted.reference_.correct.mean())
    assert (found.accuracy.low, found.accuracy.high) == (0, 1)
    assert "no change of the accuracy would show" in str(found)
    labels = fitted.adapt(new, labelled=draw(2000, foreign=0.8, random_state=2))
    assert labels.predict_confidence(new).mean() == pytest.approx(
        right(*draw(2000, foreign=0.8, random_state=3)), abs=0.05
    )
    adapted = fitted.adapt(new)
    assert np.allclose(adapted.predict_confidence(new), fitted.predict_confidence(new))


@pytest.mark.filterwarnings("ignore::auxcal.ConvergenceWarning")
def test_a_fit_without_a_mistake_does_not_promise_that_there_is_none(draw):
    logits, _ = draw(500)
    found = auxcal.check(PlattScaling().fit(logits, logits.argmax(axis=1)), draw(300, random_state=1)[0])
    assert found.accuracy.low == pytest.approx(1 - 3 / 500, abs=1e-3)


def test_no_share_is_below_nothing(draw):
    logits, y = draw(500)
    assert "-0.0 %" not in str(auxcal.check(PlattScaling().fit(logits, np.full_like(y, auxcal.NO_CLASS)), logits))


@pytest.mark.parametrize("method", [auxcal.CCACX, auxcal.PlattScaling])
def test_a_few_heavy_rows_of_the_fit_are_no_reason_for_an_alarm(method, draw):
    verdicts = []
    for random_state in range(10):
        weight = np.where(np.arange(500) % 10, 1.0, 10.0)
        fitted = method().fit(*draw(500, random_state=random_state), sample_weight=weight)
        verdicts.append(auxcal.check(fitted, draw(2000, random_state=50 + random_state)[0]).verdict)
    assert verdicts.count("same") >= 8


def test_a_stricter_level_asks_for_more(draw, calibrator):
    logits, _ = draw(300, foreign=0.37, random_state=3)
    found = [auxcal.check(calibrator, logits, level=level) for level in (0.5, 1e-9)]
    assert [each.verdict == "same" for each in found] == [False, True]
    assert found[0].p_mix == found[1].p_mix
    assert found[0].smallest_change < found[1].smallest_change


def test_more_rows_notice_smaller_changes(draw, calibrator):
    few, many = (auxcal.check(calibrator, draw(n, random_state=7)[0]) for n in (100, 3000))
    assert many.smallest_change < few.smallest_change


def test_of_very_many_rows_it_looks_at_some(draw, calibrator, monkeypatch):
    monkeypatch.setattr(_mix, "MOST_ROWS", 600)
    logits, _ = draw(5000, foreign=0.7)
    assert auxcal.check(calibrator, logits).n_rows == 600
    assert auxcal.check(calibrator, logits) == auxcal.check(calibrator, logits)


def test_it_is_the_same_after_saving_and_loading(draw, calibrator, tmp_path):
    calibrator.save(tmp_path / "file.safetensors")
    logits, _ = draw(500)
    assert auxcal.check(auxcal.load(tmp_path / "file.safetensors"), logits) == auxcal.check(calibrator, logits)


def test_the_answer_is_plain_json(draw, calibrator):
    for logits in (draw(500)[0], draw(500, foreign=0)[0], draw(500, scale=2)[0]):
        found = auxcal.check(calibrator, logits, level=np.float32(0.05))
        assert json.loads(json.dumps(found.as_json()))["verdict"] == found.verdict


def test_tiny_and_degenerate_references_give_an_answer(draw):
    logits, y = draw(40)
    for labels in (y, np.full_like(y, -1), logits.argmax(axis=1)):
        fitted = PlattScaling()
        fitted.fit(logits, labels)
        assert auxcal.check(fitted, logits).verdict in ("same", "mix", "new")
    constant = PlattScaling().fit(np.ones((50, 3)), np.zeros(50, dtype=int))
    assert auxcal.check(constant, np.ones((50, 3))).verdict == "same"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"level": 0}, "level must be a number between 0 and 1"),
        ({"level": "often"}, "level must be a number between 0 and 1"),
        ({"logits": np.zeros((5, 3))}, "at least 20 rows"),
        ({"logits": np.zeros((50, 4))}, "3 columns"),
        ({"calibrator": "ccac-x"}, "must be a fitted auxcal.Calibrator"),
    ],
)
def test_bad_input_is_one_sentence(draw, calibrator, change, message):
    with pytest.raises(InvalidInputError, match=message):
        auxcal.check(**{"calibrator": calibrator, "logits": draw(50)[0]} | change)


def test_a_calibrator_without_rows_of_its_fit_says_what_to_do(draw):
    old = PlattScaling().fit(*draw(100))
    old.reference_ = None
    with pytest.raises(InvalidInputError, match=r"it keeps no rows of its fit\. Fit it again"):
        auxcal.check(old, draw(50)[0])


def test_an_answer_says_what_it_rests_on_and_what_does_not_show(draw, calibrator):
    same = str(auxcal.check(calibrator, draw(500, random_state=4)[0]))
    assert same.startswith("No difference from the rows of the fit shows. If there is none, about ")
    assert same.endswith(
        "labels that mean something else now, or a few rows of something else, would not. Only labels tell."
    )
    mix = str(auxcal.check(calibrator, draw(4000, foreign=0.7, random_state=1)[0]))
    assert "(chance alone does this in less than one of a million checks). If they are, about " in mix
    new = str(auxcal.check(calibrator, draw(1000, scale=1.3, random_state=1)[0]))
    assert "and 20 points on either side for what neither explains" in new
    assert ". The rows differ from those of the fit in a way that no other mix explains (" in new


def test_an_alarm_says_how_often_chance_alone_raises_it(draw, calibrator):
    found = replace(auxcal.check(calibrator, draw(500, random_state=4)[0]), verdict="mix", p_mix=0.02532)
    assert "(chance alone does this once in 20 checks; for a check each night use auxcal monitor" in str(found)
    rare = str(replace(found, p_mix=1e-4))
    assert "(chance alone does this once in 5,000 checks)." in rare
