"""auxcal reproduce says what is there, runs the suites, and says in one sentence what is wrong."""

from dataclasses import replace

import pytest

from auxcal.experiments import runner, suites


@pytest.fixture
def toys(toy_suite, monkeypatch):
    monkeypatch.setattr(suites, "SUITES", (toy_suite,))
    return toy_suite


def test_list_says_what_is_there(call, capsys, tmp_path):
    assert call("reproduce", "--list", "--data", tmp_path, "--cache", tmp_path) == 0
    text = capsys.readouterr().out
    for entry in suites.SUITES:
        assert entry.name in text
    assert "D1, OOD: packaged" in text
    assert "missing, needs tiny-imagenet, efficientnet-lite0" in text
    assert "http://cs231n.stanford.edu/tiny-imagenet-200.zip" in text


def test_list_knows_the_cache_and_the_data(toys, call, capsys, tmp_path):
    call("reproduce", "--list", "--cache", tmp_path)
    assert "D1, OOD: to be built from the data" in capsys.readouterr().out
    runner.run([toys], methods=["platt"], random_states=[0], cache_dir=tmp_path, jobs=1)
    call("reproduce", "--list", "--cache", tmp_path)
    assert "D1, OOD: cached" in capsys.readouterr().out


def test_a_run_prints_the_tables_and_writes_the_pages(toys, call, capsys, tmp_path):
    arguments = ["reproduce", "toy-net", "--methods", "uncalibrated,temperature", "--methods", "platt"]
    arguments += ["--random-states", 2, "--cache", tmp_path / "cache", "--out", tmp_path / "out", "--jobs", 1]
    assert call(*arguments) == 0
    text = capsys.readouterr().out
    assert "toy-net D1, the paper's numbers below ours" in text
    assert "0.885" in text
    assert "Platt" in text
    assert "\x1b" not in text
    assert "fitting" not in text  # no progress where nobody looks
    assert max(map(len, text.split("Written")[0].splitlines())) <= 120
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"toy-net.md", "toy-net.csv", "index.md", "figures"}
    assert len(list((tmp_path / "out" / "figures").iterdir())) == 4


def test_all_runs_every_suite_whose_data_are_there_and_names_the_others(toys, call, monkeypatch, capsys, tmp_path):
    absent = replace(toys, name="far-net", needs=("cifar10",))
    monkeypatch.setattr(suites, "SUITES", (toys, absent))
    arguments = ["reproduce", "--all", "--methods", "platt", "--cache", tmp_path, "--out", tmp_path, "--no-figures"]
    assert call(*arguments, "--data", tmp_path) == 0
    assert (tmp_path / "toy-net.md").is_file()
    assert not (tmp_path / "far-net.md").exists()
    assert capsys.readouterr().err.startswith("Left out, for want of their data: far-net; auxcal reproduce --list")


def test_all_of_nothing_is_one_sentence(toys, call, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(suites, "SUITES", (replace(toys, needs=("cifar10",)),))
    assert call("reproduce", "--all", "--data", tmp_path, "--cache", tmp_path) == 2
    assert "the data of no suite are in" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["reproduce", "cifar11"], "name must be a suite, one of cifar10-resnet20"),
        (["reproduce", "r8-dan", "--methods", "magic"], "methods must be among uncalibrated"),
        (["reproduce"], "name the suites to run, or give --all"),
        (["reproduce", "r8-dan", "--random-states", "0"], "--random-states"),
        (["reproduce", "r8-dan", "--speed"], "No such option: --speed"),
        (["calibrate-everything"], "No such command"),
        (["reproduce", "imagenet-efficientnet", "--data", "nowhere"], "expected wnids.txt"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(arguments, sentence, call, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert call(*arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("auxcal: ")
    assert sentence in captured.err
    assert len(captured.err.strip().splitlines()) == 1


def test_an_interrupted_run_says_how_to_go_on(toys, call, monkeypatch, capsys, tmp_path):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "run", interrupted)
    assert call("reproduce", "toy-net", "--cache", tmp_path, "--out", tmp_path) == 130
    assert "run the same command again to resume" in capsys.readouterr().err
