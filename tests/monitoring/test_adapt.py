"""calibrator.adapt: for another mix, without labels; a calibrator like any other."""

import numpy as np
import pytest

import auxcal
from auxcal import InputWarning, InvalidInputError
from auxcal.calibrators.description import as_json, facts
from auxcal.metrics import brier, ece
from auxcal.monitoring import timeline
from auxcal.report.terminal import found


@pytest.fixture(scope="module")
def adapted(calibrator, draw):
    return calibrator.adapt(draw(4000, foreign=0.7, random_state=1)[0])


@pytest.mark.filterwarnings("ignore:these rows contain something")
@pytest.mark.parametrize("name", ["calibrator", "platt"])
@pytest.mark.parametrize("foreign", [0.05, 0.7])
def test_it_is_calibrated_for_the_other_mix(name, foreign, draw, request):
    fitted = request.getfixturevalue(name)
    new = fitted.adapt(draw(4000, foreign=foreign, random_state=1)[0], if_new="warn")
    logits, y = draw(20_000, foreign=foreign, random_state=2)
    before, after, correct = *(each.predict_confidence(logits) for each in (fitted, new)), logits.argmax(axis=1) == y
    assert brier(after, correct) < brier(before, correct)
    assert ece(after, correct) < 0.03 < ece(before, correct)


def test_where_nothing_changed_next_to_nothing_changes(calibrator, draw):
    logits, y = draw(20_000, random_state=2)
    correct = logits.argmax(axis=1) == y
    costs = []
    for i in range(10):
        new = calibrator.adapt(draw(300, random_state=10 + i)[0], if_new="warn", level=1e-6)
        costs.append(brier(new.predict_confidence(logits), correct))
    assert np.mean(costs) - brier(calibrator.predict_confidence(logits), correct) < 0.001


def test_the_one_that_is_adapted_stays_as_it_is(calibrator, adapted, draw):
    assert calibrator.adaptation_ is None
    assert adapted.adaptation_.n_rows == 4000
    assert adapted.reference_ is calibrator.reference_
    logits, _ = draw(1000, foreign=0.7, random_state=5)
    assert [auxcal.check(each, logits).verdict for each in (calibrator, adapted)] == ["mix", "same"]


def test_its_distribution_adds_up_and_agrees_with_its_confidence(adapted, draw):
    logits, _ = draw(500)
    proba = adapted.predict_proba(logits)
    np.testing.assert_allclose(proba.sum(axis=1), 1, atol=1e-5)
    at_prediction = proba[np.arange(500), logits.argmax(axis=1)]
    np.testing.assert_allclose(at_prediction, adapted.predict_confidence(logits), atol=1e-6)


@pytest.mark.filterwarnings("ignore:these rows contain something")
@pytest.mark.parametrize("method", ["temperature", "platt", "isotonic"])
def test_right_and_wrong_are_weighed_in_every_other_method(method, draw):
    fitted = auxcal.CALIBRATORS[method]().fit(*draw(1000))
    new = fitted.adapt(draw(1000, foreign=0.8, random_state=3)[0], if_new="warn")
    logits, _ = draw(200)
    odds = [c / (1 - c) for c in (each.predict_confidence(logits).clip(1e-4, 1 - 1e-4) for each in (fitted, new))]
    inside = (odds[0] > 0.01) & (odds[0] < 100)
    right, wrong = new.adaptation_.ratio
    np.testing.assert_allclose(odds[1][inside], odds[0][inside] * right / wrong, rtol=1e-2)
    if hasattr(new, "predict_proba"):
        np.testing.assert_allclose(new.predict_proba(logits).sum(axis=1), 1, atol=1e-5)


def test_with_very_many_classes_right_wrong_and_none_are_weighed():
    rng = np.random.default_rng(0)

    def rows(n, foreign):
        y = np.where(rng.random(n) < foreign, -1, rng.integers(150, size=n))
        return (6 * np.vstack([np.eye(150), np.zeros((1, 150))])[y] + rng.normal(size=(n, 150))).astype(np.float32), y

    fitted = auxcal.CCACX(random_state=0).fit(*rows(1000, 0.2))
    new = fitted.adapt(rows(1000, 0.6)[0])
    assert abs(new.adaptation_.shares[2] - 0.6) < 0.06
    logits, _ = rows(50, 0.5)
    np.testing.assert_allclose(new.predict_proba(logits).sum(axis=1), 1, atol=1e-5)


def test_labels_say_more_than_rows_without(calibrator, draw):
    few = draw(60, foreign=0.7, random_state=1)[0]
    alone = calibrator.adapt(few).adaptation_
    both = calibrator.adapt(few, labelled=draw(2000, foreign=0.5, random_state=3)).adaptation_
    assert both.n_labelled == 2000
    assert abs(both.shares[3] - 0.5) < 0.04 < abs(alone.shares[3] - 0.5)


def test_labelled_rows_may_be_predictions(calibrator, draw):
    new, labelled = draw(1000, foreign=0.8)[0], draw(100, foreign=0.8, random_state=1)
    pair, predictions = (calibrator.adapt(new, labelled=some) for some in (labelled, auxcal.Predictions(*labelled)))
    assert np.array_equal(pair.adaptation_.shares, predictions.adaptation_.shares)
    twice = auxcal.Predictions(*labelled, sample_weight=np.full(100, 2))
    both = calibrator.adapt(new, labelled=tuple(np.concatenate([each, each]) for each in labelled))
    assert np.allclose(calibrator.adapt(new, labelled=twice).adaptation_.shares, both.adaptation_.shares)


@pytest.mark.filterwarnings("ignore::auxcal.ConvergenceWarning")
def test_labels_after_a_fit_without_a_mistake_leave_a_confidence(draw):
    logits, y = draw(300, foreign=0)
    fitted = auxcal.PlattScaling().fit(logits, logits.argmax(axis=1))
    new = fitted.adapt(logits, labelled=(logits, y))
    assert np.allclose(new.predict_confidence(logits), fitted.predict_confidence(logits))


def test_something_new_is_refused_or_warned_of(calibrator, draw):
    logits, _ = draw(1000, scale=1.5)
    with pytest.raises(InvalidInputError, match="Label some of them and fit again"):
        calibrator.adapt(logits)
    with pytest.warns(InputWarning, match="no mix explains"):
        calibrator.adapt(logits, if_new="warn")


def test_it_is_saved_and_loaded_and_refitting_forgets_it(adapted, draw, tmp_path):
    adapted.save(tmp_path / "file.safetensors")
    loaded = auxcal.load(tmp_path / "file.safetensors")
    logits, y = draw(300)
    assert np.array_equal(loaded.predict_confidence(logits), adapted.predict_confidence(logits))
    assert loaded.fit(logits, y).adaptation_ is None


def test_a_check_speaks_of_the_mix_that_it_was_adapted_to(calibrator, adapted, draw):
    answers = [str(auxcal.check(each, draw(500, foreign=0.7, random_state=9)[0])) for each in (calibrator, adapted)]
    assert answers[0].startswith(
        "The rows look like another mix of the data of the fit (chance alone does this in less than one"
    )
    assert answers[1].startswith("No difference from the rows that the calibrator was adapted to shows.")
    back = auxcal.check(adapted, draw(500, random_state=9)[0])
    assert str(back).startswith("The rows look like another mix than the one")
    assert back.differences[0].what == "share of no class"
    assert back.differences[0].expected == pytest.approx(adapted.adaptation_.shares[3], abs=0.01)
    assert back.differences[0].found == pytest.approx(0.3, abs=0.1)


@pytest.mark.parametrize(
    ("foreign", "words"),
    [
        (0.7, "The rows of monday show no difference from those that the calibrator was adapted to."),
        (0.3, "In the rows of monday, class proportions have changed since the calibrator was adapted."),
    ],
)
def test_a_timeline_speaks_of_the_mix_that_it_was_adapted_to(adapted, draw, foreign, words):
    chunks = timeline(adapted, draw(500, foreign=foreign, random_state=9)[0], ["monday"] * 500)
    assert found(chunks) == words


def test_it_knows_what_it_was_adapted_to(calibrator, adapted):
    assert facts(calibrator)["adapted to"] == "nothing"
    assert facts(adapted)["adapted to"].startswith("4,000 rows without labels")
    assert "no class 2" in facts(adapted)["adapted to"]
    assert as_json(adapted)["adapted_to"]["n_rows"] == 4000
    assert as_json(calibrator)["adapted_to"] is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"if_new": "go"}, "if_new must be"),
        ({"level": 2}, "level must be"),
        ({"labelled": 3}, "labelled must be a pair"),
        ({"labelled": ([[1.0, 2.0, 3.0]], [7])}, "y must be a class index"),
    ],
)
def test_bad_input_is_one_sentence(calibrator, draw, change, message):
    with pytest.raises(InvalidInputError, match=message):
        calibrator.adapt(draw(100)[0], **change)


@pytest.mark.needs("torch")
@pytest.mark.filterwarnings("ignore:these rows contain something")
def test_as_a_module_it_gives_the_same_or_says_why_not(platt, adapted, draw):
    import torch

    from auxcal.torch import as_module

    logits, _ = draw(200, foreign=0.7)
    new = platt.adapt(logits, if_new="warn", level=1e-6)
    confidence = as_module(new)(torch.from_numpy(logits))
    np.testing.assert_allclose(confidence.numpy(), new.predict_confidence(logits), atol=1e-5)
    with pytest.raises(InvalidInputError, match="can't become a torch module"):
        as_module(adapted)
