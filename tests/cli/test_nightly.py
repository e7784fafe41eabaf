"""auxcal monitor --state: a job that goes on where it stopped, whatever stops it, and never counts a row twice."""

import io
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pytest

import auxcal
from auxcal._core.files import locked
from auxcal.monitoring import Nightly
from auxcal.tables import FORMATS
from auxcal.tables.values import from_numpy

NIGHT = 300


def drawn(n, *, foreign=0.3, scale=1.0, random_state=0):
    rng = np.random.default_rng(random_state)
    y = np.where(rng.random(n) < foreign, -1, rng.integers(3, size=n))
    peak = 3 * np.vstack([np.eye(3), np.zeros((1, 3))])[y]
    return (scale * (peak + rng.normal(size=(n, 3)))).astype(np.float32).round(3), y


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    path = tmp_path_factory.mktemp("nightly") / "fitted.safetensors"
    auxcal.PlattScaling().fit(*drawn(1000, random_state=9)).save(path)
    return path


def csv(path, logits, y=None, night=None, start=0):
    """Write rows, with labels and a night where they are given; or append those from a start on."""
    columns = {f"logit_{k}": logits[:, k].tolist() for k in range(3)} | ({} if y is None else {"y": y})
    columns |= {} if night is None else {"night": [night] * len(logits)}
    lines = [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    with path.open("a" if start else "w") as file:
        file.write("\n".join([*([] if start else [",".join(columns)]), *lines[start:], ""]))
    return path


@pytest.fixture
def watch(call, capsys, fitted, tmp_path):
    """Run the job, and return its exit code and its JSON."""

    def run(*files, state="monitor.state", options=()):
        code = call("monitor", fitted, *files, "--state", tmp_path / state, "--json", *options)
        said = capsys.readouterr()
        return code, json.loads(said.out) if code != 2 else said.err

    return run


def test_only_files_that_were_not_seen_are_watched(watch, tmp_path):
    table = tmp_path / "table"
    table.mkdir()
    for night in range(3):
        csv(table / f"{night}.csv", drawn(NIGHT, random_state=night)[0])
        code, found = watch(table)
        assert (code, found["new_rows"], found["rows"]) == (0, NIGHT, (night + 1) * NIGHT)
        assert [chunk["rows"] for chunk in found["chunks"]] == [NIGHT]
    _, again = watch(table)
    assert (again["new_rows"], again["chunks"], again["evidence"]) == (0, [], found["evidence"])
    assert watch(table, state="other.state")[1]["rows"] == 3 * NIGHT


def test_runs_are_one_run_to_the_bit(watch, tmp_path):
    """However the rows are cut into runs, the evidence is that of all of them: nothing is forgotten or drawn anew."""
    nights = [csv(tmp_path / f"{night}.csv", *drawn(NIGHT, random_state=night), night) for night in range(3)]
    for path in nights:
        _, one_by_one = watch(path, options=["--by", "night"])
    _, together = watch(*nights, state="other.state", options=["--by", "night"])
    assert one_by_one["evidence"] == together["evidence"]
    assert one_by_one["labels"] == together["labels"] == 3 * NIGHT
    assert one_by_one["chunks"] == together["chunks"][-1:]


def test_the_terminal_says_what_is_new_and_what_was_seen(call, capsys, fitted, tmp_path):
    path, state = csv(tmp_path / "new.csv", drawn(NIGHT)[0]), tmp_path / "monitor.state"
    assert call("monitor", fitted, path, "--state", state) == 0
    assert capsys.readouterr().out.startswith(
        f"{NIGHT} new rows in 1 of 1 files; 0 rows were seen before.\nThe rows of "
    )
    assert call("monitor", fitted, path, "--state", state) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"No new rows: all {NIGHT} were seen before.")
    assert max(map(len, said.splitlines())) <= 80


def test_a_state_knows_its_calibrator(call, capsys, fitted, tmp_path):
    path, state = csv(tmp_path / "new.csv", drawn(NIGHT)[0]), tmp_path / "monitor.state"
    assert call("monitor", "--state", state, path) == 2  # nothing is known yet
    assert call("monitor", fitted, "--state", state) == 2
    assert "name a file with logits, after the calibrator" in capsys.readouterr().err
    assert call("monitor", fitted, path, "--state", state) == 0
    capsys.readouterr()
    more = csv(tmp_path / "more.csv", drawn(NIGHT, random_state=1)[0])
    assert call("monitor", "--state", state, more, "--json") == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 2 * NIGHT


@pytest.mark.parametrize("how", ["longer", "shorter", "labels"])
def test_a_file_that_changed_is_an_error_that_says_what_to_do(how, watch, tmp_path):
    logits, _ = drawn(2 * NIGHT)
    watch(csv(tmp_path / "new.csv", logits[:NIGHT], None if how != "labels" else [""] * NIGHT))
    rows = {"longer": logits, "shorter": logits[6 : NIGHT - 10], "labels": logits[:NIGHT]}[how]
    csv(tmp_path / "new.csv", rows, None if how != "labels" else drawn(NIGHT)[1])
    before = (tmp_path / "monitor.state").read_bytes()
    code, said = watch(tmp_path / "new.csv")
    assert code == 2
    assert f"new.csv: {NIGHT} rows of this file were seen before, and it has changed since. Give new" in said
    assert (tmp_path / "monitor.state").read_bytes() == before
    n_rows = len(rows)
    _, found = watch(tmp_path / "new.csv", options=["--replaced"])
    assert (found["new_rows"], found["rows"]) == (n_rows, NIGHT + n_rows)
    assert watch(tmp_path / "new.csv", options=["--replaced"])[1]["new_rows"] == 0


def test_a_file_that_was_written_again_with_the_same_rows_was_seen(watch, tmp_path):
    path = csv(tmp_path / "new.csv", drawn(NIGHT)[0])
    watch(path)
    os.utime(path, ns=(1, 1))
    assert watch(path)[1]["new_rows"] == 0


def test_a_file_of_the_size_of_one_that_is_gone_is_new_unless_its_rows_are_the_same(watch, tmp_path):
    logits = drawn(NIGHT)[0]
    watch(csv(tmp_path / "old.csv", logits))
    (tmp_path / "old.csv").unlink()
    other = csv(tmp_path / "new.csv", logits[::-1])
    assert watch(other)[1]["new_rows"] == NIGHT


def test_a_folder_has_new_files_old_ones_renamed_ones_and_empty_ones(watch, tmp_path):
    folder = tmp_path / "table"
    folder.mkdir()
    csv(folder / "a.csv", drawn(NIGHT)[0])
    watch(folder)
    csv(folder / "b.csv", drawn(NIGHT, random_state=1)[0])
    (folder / "a.csv").rename(folder / "c.csv")
    (folder / "d.csv").write_text("logit_0,logit_1,logit_2\n")
    (folder / "e.csv").write_text("")
    _, found = watch(folder)
    assert [tuple(file.values())[1:] for file in found["files"]] == [(0, NIGHT), (NIGHT, 0), (0, 0)]
    (folder / "c.csv").unlink()
    assert watch(folder)[1]["new_rows"] == 0


@pytest.mark.parametrize(
    "ending",
    [each if each != ".parquet" else pytest.param(each, marks=pytest.mark.needs("tables")) for each in FORMATS],
)
def test_files_of_every_format_are_new_once(ending, watch, tmp_path, monkeypatch):
    if ending in (".pt", ".pth"):
        torch = pytest.importorskip("torch")
    logits, y = drawn(NIGHT)
    n = NIGHT
    for new in (NIGHT, NIGHT if ending == "-" else 0):
        paths = [tmp_path / f"new{ending}"]
        if ending == ".npy":
            paths = [tmp_path / "logits.npy", tmp_path / "y.npy"]
            np.save(paths[0], logits[:n])
            np.save(paths[1], y[:n])
        elif ending in (".pt", ".pth"):
            torch.save({"logits": torch.tensor(logits[:n]), "y": torch.tensor(y[:n])}, paths[0])
        elif ending == "-":
            paths = ["-"]
            piped = csv(tmp_path / "piped.csv", logits[:n], y[:n]).read_bytes()
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(piped)))
        elif ending in (".csv", ".tsv"):
            csv(paths[0], logits[:n], y[:n])
        else:
            columns = {"logits": logits[:n], "y": y[:n]}
            if ending in (".parquet", ".jsonl"):
                columns = {f"logit_{k}": logits[:n, k] for k in range(3)} | {"y": y[:n]}
            rows = pa.record_batch({name: from_numpy(each) for name, each in columns.items()})
            FORMATS[ending].write(paths[0], iter([rows]))
        code, found = watch(*paths)
        assert (code, found["new_rows"]) == (0, new)
    assert found["labels"] == found["rows"]


def test_a_change_raises_an_alarm_that_stands(watch, tmp_path):
    assert watch(csv(tmp_path / "0.csv", drawn(1000)[0]))[0] == 0
    code, found = watch(csv(tmp_path / "1.csv", drawn(1000, foreign=0.9, random_state=1)[0]))
    assert code == 3
    assert [alarm["kind"] for alarm in found["alarms"]] == ["data"]
    code, found = watch(csv(tmp_path / "2.csv", drawn(1000, random_state=2)[0]))
    assert (code, found["verdict"]) == (3, "same")  # the alarm stands
    assert watch(tmp_path / "2.csv")[0] == 3  # also if there is nothing new


def test_the_level_of_all_verdicts_together_is_spent_and_never_exceeded(fitted, watch, tmp_path):
    for night in range(3):
        watch(csv(tmp_path / f"{night}.csv", drawn(50, random_state=night)[0]))
    watch(csv(tmp_path / "few.csv", drawn(5)[0]))
    nightly = Nightly.load(tmp_path / "monitor.state", auxcal.load(fitted))
    levels = [chunk.check.level for chunk in nightly.chunks if chunk.check]
    assert levels == pytest.approx([0.05 / 2, 0.05 / 6, 0.05 / 12])
    assert (nightly.n_chunks, nightly.n_checked) == (4, 3)


def test_check_and_monitor_agree_about_the_same_rows_or_say_why_not(call, capsys, fitted, watch, tmp_path):
    """Over nights of which some look changed by chance and some are changed."""
    why, differ = "auxcal check of {} alone says", 0
    for night in range(12):
        path = csv(tmp_path / f"{night}.csv", drawn(400, foreign=0.3 + 0.04 * (night % 4), random_state=night)[0])
        alone = call("check", fitted, path, "--json")
        checked = json.loads(capsys.readouterr().out)
        assert alone == {"same": 0, "mix": 3, "new": 4}[checked["verdict"]]
        _, found = watch(path)
        chunk = Nightly.load(tmp_path / "monitor.state", auxcal.load(fitted)).chunks[-1]
        assert (chunk.check.p_mix, chunk.check.p_new) == (checked["p_mix"], checked["p_new"])  # the rows are the same
        assert chunk.check.verdict_at(0.05) == checked["verdict"]
        said = " ".join(found.get("unlike_check", []))
        assert (why.format(chunk.name) in said) == (checked["verdict"] != found["verdict"])
        if checked["verdict"] == "same" and found["alarms"] and not found["chunks"][0]["alarms"]:
            assert "The alarm is about all rows so far" in said
        differ += checked["verdict"] != found["verdict"]
    assert differ >= 1  # or this has shown nothing


def test_what_does_not_fit_the_state_is_refused(call, capsys, fitted, watch, tmp_path):
    path = csv(tmp_path / "new.csv", drawn(NIGHT)[0])
    watch(path, options=["--level", "0.01"])
    code, said = watch(path, options=["--level", "0.02"])
    assert code == 2
    assert "this state was begun with --level 0.01, which holds for all its runs; got 0.02. Leave it out" in said
    assert watch(path)[1]["level"] == 0.01
    auxcal.PlattScaling().fit(*drawn(500, random_state=3)).save(tmp_path / "other.safetensors")
    assert call("monitor", tmp_path / "other.safetensors", path, "--state", tmp_path / "monitor.state") == 2
    assert "the state of another calibrator. Go on with that one, or begin a new state" in capsys.readouterr().err
    (tmp_path / "monitor.state").write_bytes(b"damaged")
    assert watch(path)[0] == 2
    assert call("monitor", fitted, path) == 2
    assert "--by, or a --state" in capsys.readouterr().err
    assert watch(csv(tmp_path / "none.csv", drawn(NIGHT)[0][:0]), state="fresh.state")[0] == 2
    assert not (tmp_path / "fresh.state").exists()


def test_the_page_shows_all_nights(watch, tmp_path):
    pytest.importorskip("jinja2")
    for night in range(3):
        options = ["--out", tmp_path / "monitor.html"]
        watch(csv(tmp_path / f"{night}.csv", drawn(50, random_state=night)[0]), options=options)
    assert "3 chunks" in (tmp_path / "monitor.html").read_text()


def command(fitted, folder, state):
    arguments = ["monitor", fitted, folder, "--state", state, "--json"]
    return [sys.executable, "-m", "auxcal", *map(str, arguments)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no such locks")
def test_a_second_run_waits_for_the_first_and_no_row_counts_twice(fitted, tmp_path, patience):
    path, state = csv(tmp_path / "new.csv", drawn(NIGHT)[0]), tmp_path / "monitor.state"
    with locked(state, pytest.fail):
        runs = [
            subprocess.Popen(command(fitted, path, state), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for _ in range(2)
        ]
        for run in runs:
            assert "another run has this state; waiting for its end." in run.stderr.readline()
    found = [json.loads(run.communicate(timeout=patience)[0]) for run in runs]
    assert sorted(each["new_rows"] for each in found) == [0, NIGHT]
    assert [each["rows"] for each in found] == [NIGHT, NIGHT]


def test_without_locks_the_second_run_replaces_nothing(fitted, tmp_path):
    calibrator = auxcal.load(fitted)
    first, second = Nightly(calibrator), Nightly(calibrator)
    first.save(tmp_path / "monitor.state")
    with pytest.raises(auxcal.InvalidInputError, match="another run has written this state meanwhile"):
        second.save(tmp_path / "monitor.state")
    first.save(tmp_path / "monitor.state")


MOMENTS = {
    "at its start": lambda folder, state: (folder / ".monitor.state.lock").exists(),
    "while it writes": lambda folder, state: any(folder.glob(".monitor.state.auxcal-*")),
    "when it has written": lambda folder, state: (folder / "monitor.state").exists() and moved(folder, state),
}


def moved(folder, state):
    return (folder / "monitor.state").stat().st_mtime_ns != state


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows ends processes in other ways")
def test_a_run_that_is_killed_at_any_moment_loses_nothing_and_counts_nothing_twice(fitted, tmp_path, patience):
    table, state, calm = tmp_path / "table", tmp_path / "monitor.state", tmp_path / "calm.state"
    table.mkdir()
    for night in range(2):
        csv(table / f"{night}.csv", drawn(2000, random_state=night)[0])
        for reached in MOMENTS.values():
            before = state.stat().st_mtime_ns if state.exists() else None
            run = subprocess.Popen(command(fitted, table, state), stdout=subprocess.DEVNULL)
            while run.poll() is None and not reached(tmp_path, before):
                time.sleep(0.0005)
            run.kill()
            run.wait(timeout=patience)
        for path in (state, calm):
            subprocess.run(command(fitted, table, path), check=True, timeout=patience, capture_output=True)
    calibrator = auxcal.load(fitted)
    found, expected = (Nightly.load(path, calibrator) for path in (state, calm))
    assert found.monitor.evidence == expected.monitor.evidence
    assert found.monitor.evidence.n_rows == 4000
    assert [chunk.check for chunk in found.chunks] == [chunk.check for chunk in expected.chunks]


def test_a_page_that_can_not_be_written_leaves_the_rows_new(watch, tmp_path, monkeypatch):
    assert watch(csv(tmp_path / "0.csv", drawn(300)[0]))[0] == 0
    night = csv(tmp_path / "1.csv", drawn(300, random_state=1)[0])
    with monkeypatch.context() as patched:
        full = OSError(28, "No space left on device")
        patched.setattr("auxcal.report.html.save_timeline", lambda *_, **__: (_ for _ in ()).throw(full))
        assert watch(night, options=("-o", tmp_path / "page.html"))[0] == 2
    assert watch(night)[1]["new_rows"] == 300
