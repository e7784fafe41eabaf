"""Common mistakes are named as such."""

import numpy as np
import pytest

import auxcal
from auxcal import InputWarning, InvalidInputError, Predictions, TemperatureScaling, compare

N = 200


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(N, 2)).astype(np.float32)
    y = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    names = [("cat", "dog", "fox")[2 if row % 9 == 0 else each] for row, each in enumerate(y)]
    lines = [
        f"{a},{b},{name},t{row},{'cat' if a > b else 'dog'}"
        for row, ((a, b), name) in enumerate(zip(logits, names, strict=True))
    ]
    (tmp_path / "data.csv").write_text("\n".join(["cat,dog,truth,ticket,predicted", *lines]))
    return tmp_path


FIT = ["fit", "data.csv", "--columns", "cat,dog", "--method", "platt", "-o", "c.safetensors"]


def test_a_column_that_holds_no_class_is_refused(folder, call, capsys):
    assert call(*FIT, "--label", "ticket", "--unknown-is-no-class") == 2
    assert "0 of 200 labels are among them" in capsys.readouterr().err
    assert not (folder / "c.safetensors").exists()
    assert call(*FIT, "--label", "truth", "--unknown-is-no-class") == 0


def test_rows_that_are_all_right_are_asked_about(folder, call, capsys):
    assert call(*FIT, "--label", "predicted") == 0
    assert "are these rows that the classifier was trained on?" in capsys.readouterr().err
    logits = np.random.default_rng(0).normal(size=(200, 3))
    with pytest.warns(auxcal.ConvergenceWarning, match="TemperatureScaling: are these rows that"):
        TemperatureScaling().fit(logits, logits.argmax(axis=1))


@pytest.mark.parametrize("command", ["score", "check", "adapt", "monitor"])
def test_swapped_arguments_are_named(command, folder, call, capsys):
    assert call(*FIT, "--label", "truth", "--no-class", "fox") == 0
    more = {"adapt": ["-o", "new.safetensors"], "monitor": ["--by", "ticket"]}.get(command, [])
    assert call(command, "data.csv", "c.safetensors", *more) == 2
    assert "the calibrator comes first, then the data: c.safetensors data.csv." in capsys.readouterr().err


def test_evaluate_and_threshold_know_what_the_calibrator_knows(folder, call, capsys):
    assert call(*FIT, "--label", "truth", "--no-class", "fox") == 0
    assert call("score", "c.safetensors", "data.csv", "-o", "scored.csv") == 0
    assert call("evaluate", "scored.csv") == 2
    capsys.readouterr()
    said = []
    for how in (["--calibrator", "c.safetensors"], ["--label", "truth", "--no-class", "fox"]):
        assert call("evaluate", "scored.csv", "--resamples", "0", *how) == 0
        assert call("threshold", "scored.csv", "--risk", "0.3", "--empirical", *how) == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]


def test_compare_takes_logits_and_labels():
    logits, y = np.random.default_rng(0).normal(size=(200, 3)), np.arange(200) % 3
    both = [compare(*given, methods=["platt"], bootstrap=0) for given in ((logits, y), (Predictions(logits, y),))]
    assert both[0].answer == both[1].answer
    with pytest.raises(InvalidInputError, match=r"auxcal\.compare\(logits, y\)"):
        compare(logits)
    with pytest.raises(InvalidInputError, match="Leave y out"):
        compare(Predictions(logits, y), y)


def test_a_no_class_that_y_does_not_have_is_named():
    from sklearn.linear_model import LogisticRegression

    x = np.random.default_rng(0).normal(size=(150, 2))
    y = np.array(["cat", "dog", "other"] * 50)
    classifier = auxcal.CalibratedClassifier(LogisticRegression(), TemperatureScaling(), no_class="Other")
    with pytest.warns(InputWarning, match=r"no_class='Other' \(did you mean 'other'\?\)"):
        classifier.fit(x, y)
