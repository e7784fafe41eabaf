"""Every command refuses rows that are not what the calibrator takes, and asks about rows that it has seen."""

import numpy as np
import pytest

K = 3


def logits_and_labels(random_state, n=300):
    rng = np.random.default_rng(random_state)
    logits = rng.normal(size=(n, K), scale=2).astype(np.float32)
    return logits, (logits / 2 + rng.gumbel(size=logits.shape)).argmax(axis=1)


def probabilities(logits):
    return np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Give rows to fit on, new ones, the same as probabilities and percentages, and two calibrators."""
    from auxcal import PlattScaling, SimplifiedCCAC

    folder = tmp_path_factory.mktemp("kinds")
    (logits, y), (new, new_y) = logits_and_labels(0), logits_and_labels(1)
    day = np.repeat(["monday", "tuesday"], len(new) // 2)
    np.savez(folder / "fit.npz", logits=logits, y=y)
    np.savez(folder / "new.npz", logits=new, y=new_y, day=day)
    np.savez(folder / "probabilities.npz", logits=probabilities(new), y=new_y, day=day)
    np.savez(folder / "percentages.npz", logits=100 * probabilities(new), y=new_y, day=day)
    PlattScaling().fit(logits, y).save(folder / "platt.safetensors")
    small = SimplifiedCCAC(hidden_sizes=(4,), lambda1=0, lambda2=1, random_state=0)
    small.fit(logits, y).save(folder / "ccac-s.safetensors")
    return folder


OUT = "-o", "{tmp}/out.safetensors"
COMMANDS = {
    "fit": ("fit", "{rows}", "--method", "platt", *OUT),
    "fit --select": ("fit", "fit.npz", "--select", "{rows}", "--method", "dirichlet", *OUT),
    "compare": ("compare", "{rows}", "--methods", "platt", "--out", "{tmp}/report"),
    "compare --test": ("compare", "fit.npz", "--test", "{rows}", "--methods", "platt", "--out", "{tmp}/report"),
    "score": ("score", "platt.safetensors", "{rows}", "-o", "{tmp}/out.csv"),
    "check": ("check", "platt.safetensors", "{rows}"),
    "monitor": ("monitor", "platt.safetensors", "{rows}", "--by", "day"),
    "pick": ("pick", "platt.safetensors", "{rows}", "--n", 20, "-o", "{tmp}/out.csv"),
    "adapt": ("adapt", "platt.safetensors", "{rows}", *OUT),
    "adapt --labelled": ("adapt", "platt.safetensors", "new.npz", "--labelled", "{rows}", *OUT),
    "transfer": ("transfer", "ccac-s.safetensors", "{rows}", *OUT),
    "transfer --select": ("transfer", "ccac-s.safetensors", "new.npz", "--select", "{rows}", *OUT),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("rows", "reason"), [("probabilities.npz", "all numbers are from 0 to 1"), ("percentages.npz", "adds up to 100")]
)
def test_every_command_refuses_them_in_place_of_logits(
    command, rows, reason, folder, call, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(folder)
    assert call(*(str(part).format(rows=rows, tmp=tmp_path) for part in COMMANDS[command])) == 2
    error = " ".join(capsys.readouterr().err.split())
    assert rows in error
    assert reason in error
    assert not any(tmp_path.rglob("out*"))


def test_rows_of_the_fit_in_another_part_are_asked_about(folder, call, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(folder)
    assert call("compare", "fit.npz", "--test", "fit.npz", "--methods", "platt", "--out", tmp_path / "report") == 0
    assert "100.0 % of the rows of the test part" in " ".join(capsys.readouterr().err.split())
    out = tmp_path / "out.safetensors"
    assert call("fit", "fit.npz", "--select", "fit.npz", "--method", "dirichlet", "-o", out) == 0
    assert "100.0 % of the rows of the select part" in " ".join(capsys.readouterr().err.split())


def test_labels_that_are_the_predictions_are_asked_about(folder, call, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    new, _ = logits_and_labels(1)
    np.savez("equal.npz", logits=new, y=new.argmax(axis=1))
    assert call("score", folder / "platt.safetensors", "equal.npz", "-o", "scored.csv") == 0
    for command in (
        ("fit", "equal.npz", "--method", "platt", "-o", "out.safetensors"),
        ("compare", "equal.npz", "--methods", "platt", "--out", "report"),
        ("threshold", "scored.csv", "--risk", 0.1),
    ):
        capsys.readouterr()
        assert call(*command) == 0
        words = " ".join(capsys.readouterr().err.split())
        assert "all 300 predictions are right" in words or "has 100.0 % of them right" in words
