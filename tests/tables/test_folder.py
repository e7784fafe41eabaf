"""A folder is scored part by part: each part appears whole, and a run that was stopped goes on where it was."""

import csv
import json
import os
import subprocess
import sys

import numpy as np
import pytest

try:
    import fcntl
except ImportError:
    fcntl = None

from auxcal import Certificate, InputWarning, InvalidInputError, TemperatureScaling
from auxcal.tables import read_scored, score_table
from auxcal.tables.parts import LocalFile

from .conftest import pa, pq

K = 3
RNG = np.random.default_rng(0)
LOGITS = RNG.normal(size=(300, K), scale=2).astype(np.float32)
Y = (LOGITS + RNG.gumbel(size=LOGITS.shape)).argmax(axis=1)
CALIBRATOR = TemperatureScaling().fit(LOGITS + 1, Y)  # other rows: its own would be marked
CONFIDENCE = CALIBRATOR.predict_confidence(LOGITS)
NO_ROWS = slice(0, 0)


def write_part(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    logits, y, ids = LOGITS[rows], Y[rows], np.arange(300)[rows]
    if path.suffix == ".parquet":
        lists = pa.array(logits.tolist(), pa.list_(pa.float32()))
        pq.write_table(pa.table({"id": ids, "logits": lists, "y": y}), path)
    else:
        lines = [f"{i},{a!r},{b!r},{c!r},{label}" for i, (a, b, c), label in zip(ids, logits.tolist(), y, strict=True)]
        path.write_text("\n".join(["id,logit_0,logit_1,logit_2,y", *lines]) + "\n")


@pytest.fixture(params=[".csv", pytest.param(".parquet", marks=pytest.mark.needs("tables"))])
def table(request, tmp_path):
    """Give a folder with partitions, one part of which has no rows."""
    folder = tmp_path / "logits"
    for place, name in enumerate(("day=1/part-0", "day=1/part-1", "day=2/part-0")):
        write_part(folder / f"{name}{request.param}", slice(100 * place, 100 * place + 100))
    write_part(folder / f"day=2/part-1{request.param}", NO_ROWS)
    (folder / "_SUCCESS").touch()
    return folder


def names_in(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def ending_of(folder):
    return next(path.suffix for path in folder.rglob("part-*"))


def made(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("part-*")}


def test_a_part_for_each_part(table, tmp_path):
    written = score_table(CALIBRATOR, table, out=tmp_path / "scored")
    assert (written.rows, written.bad.total, written.parts, written.resumed) == (300, 0, 4, 0)
    assert names_in(tmp_path / "scored") == sorted(["_auxcal.json", *names_in(table)])
    scored = read_scored(tmp_path / "scored")
    np.testing.assert_allclose(scored.confidence, CONFIDENCE, atol=1e-6)
    assert np.array_equal(scored.prediction, LOGITS.argmax(axis=1))
    assert np.array_equal(scored.y, Y)
    assert (
        read_scored(tmp_path / "scored", label="day", class_names=["0", "1", "2"]).y.tolist() == [1] * 200 + [2] * 100
    )


def test_progress_is_reported(table, tmp_path):
    shares = []
    score_table(CALIBRATOR, table, out=tmp_path / "scored", report=lambda done, rows: shares.append((done, rows)))
    assert shares == sorted(shares)
    assert shares[-1] == (pytest.approx(1), 300)


@pytest.mark.needs("tables")
def test_parts_have_one_schema(tmp_path):
    named = TemperatureScaling().fit(LOGITS + 1, Y, class_names=["ant", "bee", "cow"])
    for place, rows in enumerate((slice(0, 100), NO_ROWS)):
        pq.write_table(
            pa.table({"logits": pa.array(LOGITS[rows].tolist(), pa.list_(pa.float32()))}), tmp_path / f"{place}.parquet"
        )
    score_table(named, tmp_path / "*.parquet", out=tmp_path / "scored")
    first, second = (pq.read_schema(tmp_path / "scored" / f"{place}.parquet") for place in range(2))
    assert first.equals(second)
    assert first.field("prediction").type == pa.string()


def test_one_file_of_all_parts_keeps_the_keys(table, tmp_path):
    score_table(CALIBRATOR, table, out=tmp_path / "scored.csv")
    lines = (tmp_path / "scored.csv").read_text().splitlines()
    assert lines[0] == "id,y,day,prediction,confidence,in_fit"
    assert [line.split(",")[0].strip('"') for line in lines[1:]] == [str(i) for i in range(300)]
    assert lines[250].split(",")[2] == '"2"'


def test_what_is_there_is_not_made_again(table, tmp_path):
    out = tmp_path / "scored"
    score_table(CALIBRATOR, table, out=out)
    before = made(out)
    again = score_table(CALIBRATOR, table, out=out)
    assert (again.rows, again.parts, again.resumed) == (300, 4, 4)
    assert made(out) == before
    first, second, *_ = sorted(before)
    first.unlink()  # one is lost,
    part = table / second.relative_to(out)
    write_part(part, slice(200, 300))  # one is another now,
    os.utime(part, ns=(0, 0))
    write_part(table / f"day=3/part-0{part.suffix}", slice(0, 50))  # and one is new
    again = score_table(CALIBRATOR, table, out=out)
    assert (again.rows, again.parts, again.resumed) == (350, 5, 2)
    expected = np.concatenate(
        [CONFIDENCE[rows] for rows in (slice(0, 100), slice(200, 300), slice(200, 300), slice(50))]
    )
    np.testing.assert_allclose(read_scored(out).confidence, expected, atol=1e-6)


def test_scores_of_another_calibrator_are_not_mixed(table, tmp_path):
    out, other = tmp_path / "scored", TemperatureScaling().fit(LOGITS * 3, Y)
    score_table(CALIBRATOR, table, out=out)
    with pytest.raises(
        InvalidInputError, match=r"scored: holds scores that were made with another calibrator.*--overw"
    ):
        score_table(other, table, out=out)
    with pytest.raises(InvalidInputError, match="made with another on_bad_rows"):
        score_table(CALIBRATOR, table, out=out, on_bad_rows="skip")
    assert score_table(other, table, out=out, overwrite=True).resumed == 0
    np.testing.assert_allclose(read_scored(out).confidence, other.predict_confidence(LOGITS), atol=1e-6)
    next(table.rglob("part-0*")).unlink()
    with pytest.raises(InvalidInputError, match=r"scored: holds day=1/part-0\.\w+, which is no part now"):
        score_table(other, table, out=out)
    assert score_table(other, table, out=out, overwrite=True).rows == 200
    assert len(read_scored(out).y) == 200


def test_folders_that_are_not_written_to(table, tmp_path):
    with pytest.raises(InvalidInputError, match="is read, or in a folder that is read"):
        score_table(CALIBRATOR, table, out=table)
    with pytest.raises(InvalidInputError, match="is read, or in a folder that is read"):
        score_table(CALIBRATOR, table, out=table / "scored")
    with pytest.raises(InvalidInputError, match=r"the folder '.*no' does not exist"):
        score_table(CALIBRATOR, table, out=tmp_path / "no" / "scored")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.doc").touch()
    for overwrite in (False, True):
        with pytest.raises(InvalidInputError, match=r"mine: .* auxcal score did not write, such as thesis\.doc"):
            score_table(CALIBRATOR, table, out=tmp_path / "mine", overwrite=overwrite)
    (tmp_path / "link").symlink_to(table)
    with pytest.raises(InvalidInputError, match="is read, or in a folder that is read"):
        score_table(CALIBRATOR, table, out=tmp_path / "link")


def test_what_somebody_put_into_a_scored_folder_stays(tmp_path):
    write_part(tmp_path / "logits" / "a.csv", slice(0, 10))
    score_table(CALIBRATOR, tmp_path / "logits", out=tmp_path / "scored")
    (tmp_path / "scored" / "mine").mkdir()
    (tmp_path / "scored" / "mine" / "notes.csv").write_text("all I know\n")
    with pytest.raises(InvalidInputError, match=r"did not write, such as mine/notes\.csv"):
        score_table(CALIBRATOR, tmp_path / "logits", out=tmp_path / "scored", overwrite=True)
    assert (tmp_path / "scored" / "mine" / "notes.csv").exists()


def test_a_part_that_fails_leaves_the_others(table, tmp_path):
    last = sorted(table.rglob("part-*"))[2]
    good = last.read_bytes()
    last.write_bytes(good[: len(good) // 2] if last.suffix == ".parquet" else good.replace(b"\n", b",9\n"))
    with pytest.raises(ValueError, match=rf"^{last}: expected"):
        score_table(CALIBRATOR, table, out=tmp_path / "scored")
    with pytest.raises(InvalidInputError, match="has not finished with this folder"):
        read_scored(tmp_path / "scored")
    last.write_bytes(good)
    assert score_table(CALIBRATOR, table, out=tmp_path / "scored").resumed == 2
    assert len(read_scored(tmp_path / "scored").y) == 300


def test_only_temporary_files_of_ours_are_cleared_away(table, tmp_path):
    out = tmp_path / "scored"
    out.mkdir()
    (out / ".download.part").write_text("mine")
    (out / ".a.csv.auxcal-0a1b2c3d.part").write_text("half")
    score_table(CALIBRATOR, table, out=out)
    assert (out / ".download.part").read_text() == "mine"
    assert not (out / ".a.csv.auxcal-0a1b2c3d.part").exists()


def test_a_part_that_was_changed_is_not_trusted(table, tmp_path):
    out = tmp_path / "scored"
    score_table(CALIBRATOR, table, out=out)
    part = out / f"day=1/part-0{ending_of(table)}"
    good = part.read_bytes()
    os.utime(part, ns=(1, 1))  # as a copy has another time
    assert score_table(CALIBRATOR, table, out=out).resumed == 4
    part.write_bytes(good[:-1] + b"?")  # of the same size
    with pytest.raises(InvalidInputError, match=r"part-0\.\w+: this is not what auxcal score wrote.* Move it away"):
        score_table(CALIBRATOR, table, out=out)
    assert part.read_bytes() == good[:-1] + b"?"
    part.unlink()
    assert score_table(CALIBRATOR, table, out=out).resumed == 3
    assert part.read_bytes() == good


def test_a_record_that_can_not_be_written_does_not_lock_the_folder(table, tmp_path, monkeypatch):
    def full(self):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("auxcal.tables.scored_folder.Manifest.add", lambda self, name, done: full(self))
        with pytest.raises(OSError, match="No space"):
            score_table(CALIBRATOR, table, out=tmp_path / "scored")
    assert score_table(CALIBRATOR, table, out=tmp_path / "scored").rows == 300


# Bad rows -------------------------------------------------------------------------------------------------------------

BAD = {3: None, 5: [1.0, 2.0], 6: [1.0, 2.0, 3.0, 4.0], 8: [], 10: [1.0, float("nan"), 2.0], 12: [1.0, None, 2.0]}


@pytest.fixture
def bad_table(tmp_path):
    """Write parts with bad rows in each, and a last one that has nothing else."""
    lists = LOGITS.tolist()
    for start in (0, 100, 200):
        for row, value in BAD.items():
            lists[start + row] = value
    for place in range(3):
        rows = slice(100 * place, 100 * place + 100)
        column = pa.array(lists[rows], pa.list_(pa.float32()))
        pq.write_table(
            pa.table({"id": np.arange(300)[rows], "logits": column, "y": Y[rows]}), tmp_path / f"{place}.parquet"
        )
    nulls = pa.array([None] * 5, pa.list_(pa.float32()))
    pq.write_table(pa.table({"id": np.arange(5), "logits": nulls, "y": Y[:5]}), tmp_path / "3.parquet")
    return tmp_path / "*.parquet"


@pytest.fixture
def promising():
    """Give a calibrator with a promise to accept from 0.5 up."""
    fitted = TemperatureScaling().fit(LOGITS + 1, Y)
    fitted.certificate_ = Certificate(0.5, 0.3, 0.95, n_rows=300, coverage=0.8)
    return fitted


def accepted_of(file):
    if file.suffix == ".parquet":
        return pq.read_table(file)["accepted"].to_pylist()
    with file.open(newline="") as lines:
        return [row["accepted"] == "true" for row in csv.DictReader(lines)]


def test_nothing_is_accepted_where_the_promise_does_not_hold(promising, table, tmp_path):
    kept = score_table(promising, table, out=tmp_path / f"kept{ending_of(table)}", holds=lambda: True)
    assert not kept.withdrawn
    assert any(accepted_of(tmp_path / f"kept{ending_of(table)}"))
    void = score_table(promising, table, out=tmp_path / f"void{ending_of(table)}", holds=lambda: False)
    assert void.withdrawn
    assert accepted_of(tmp_path / f"void{ending_of(table)}") == [False] * 300
    scores = [read_scored(tmp_path / f"{name}{ending_of(table)}") for name in ("kept", "void")]
    np.testing.assert_array_equal(scores[0].confidence, scores[1].confidence)
    np.testing.assert_array_equal(scores[0].prediction, scores[1].prediction)


def test_only_new_parts_lose_what_is_accepted(promising, table, tmp_path):
    out, ending = tmp_path / "scored", ending_of(table)
    late = table / f"day=2/part-0{ending}"
    late.rename(tmp_path / "late")
    assert not score_table(promising, table, out=out, holds=lambda: True).withdrawn
    (tmp_path / "late").rename(late)
    again = score_table(promising, table, out=out, holds=lambda: False)
    assert (again.withdrawn, again.resumed) == (True, 3)
    assert any(accepted_of(out / f"day=1/part-0{ending}"))
    assert not any(accepted_of(out / f"day=2/part-0{ending}"))
    assert score_table(promising, table, out=out, holds=lambda: False).resumed == 4  # nothing is left to ask


def test_a_run_that_was_stopped_before_it_could_ask_asks_when_it_goes_on(promising, table, tmp_path):
    def stopped():
        raise KeyboardInterrupt

    out, ending = tmp_path / "scored", ending_of(table)
    with pytest.raises(KeyboardInterrupt):
        score_table(promising, table, out=out, holds=stopped)
    assert not (out / "_SUCCESS").exists()
    assert score_table(promising, table, out=out, holds=lambda: False).withdrawn
    assert not any(accepted_of(out / f"day=1/part-0{ending}"))


@pytest.mark.needs("tables")
def test_bad_rows_have_no_score_and_are_counted(bad_table, tmp_path):
    with pytest.warns(
        InputWarning, match=r"of 305 rows, 23 bad rows \(11 null, 9 of another width, 3 NaN\) have no score"
    ):
        written = score_table(CALIBRATOR, bad_table, out=tmp_path / "scored")
    bad = written.bad
    assert (written.rows, bad.null, bad.width, bad.nan) == (305, 11, 9, 3)
    found = pq.read_table(tmp_path / "scored")
    assert found["id"].to_pylist() == [*range(300), *range(5)]
    missing = [row for row, value in enumerate(found["confidence"].to_pylist()) if value is None]
    assert missing == [start + row for start in (0, 100, 200) for row in BAD] + list(range(300, 305))
    assert [row for row, value in enumerate(found["prediction"].to_pylist()) if value is None] == missing
    good = [row for row in range(300) if row not in missing]
    np.testing.assert_allclose(found["confidence"].to_numpy()[good], CONFIDENCE[good], atol=1e-6)
    with pytest.warns(InputWarning, match="23 of 305 rows have no score and are left out"):
        assert len(read_scored(tmp_path / "scored").y) == 282


@pytest.mark.needs("tables")
def test_bad_rows_are_skipped_or_an_error(bad_table, tmp_path):
    with pytest.warns(InputWarning, match="23 bad rows .* are left out"):
        score_table(CALIBRATOR, bad_table, out=tmp_path / "scored", on_bad_rows="skip")
    assert len(read_scored(tmp_path / "scored").y) == 282
    with pytest.raises(InvalidInputError, match=r"0\.parquet: .* row 3 has null; in the first 100 rows: 6 bad rows"):
        score_table(CALIBRATOR, bad_table, out=tmp_path / "failed", on_bad_rows="fail")
    with pytest.raises(InvalidInputError, match="on_bad_rows must be one of null, skip, fail"):
        score_table(CALIBRATOR, bad_table, out=tmp_path / "other", on_bad_rows="drop")


def test_a_table_that_is_all_bad_is_an_error(tmp_path):
    (tmp_path / "new.csv").write_text("logit_0,logit_1,logit_2\n1,,3\n")
    for out in ("scored.csv", "scored"):
        with pytest.raises(InvalidInputError, match=r"new\.csv: logits must be finite"):
            score_table(CALIBRATOR, tmp_path / "new.csv", out=tmp_path / out)


@pytest.mark.parametrize("ending", [".csv", ".npz"])
def test_bad_rows_of_other_formats(ending, tmp_path):
    (tmp_path / "new.csv").write_text("logit_0,logit_1,logit_2,y\n1,2,3,1\n1,,3,2\n")
    with pytest.warns(InputWarning, match=r"of 2 rows, 1 bad row"):
        score_table(CALIBRATOR, tmp_path / "new.csv", out=tmp_path / f"scored{ending}")
    with pytest.warns(InputWarning, match="1 of 2 rows have no score"):
        assert read_scored(tmp_path / f"scored{ending}").y.tolist() == [1]


# Killed ---------------------------------------------------------------------------------------------------------------


# Runs the command, but at the fourth part it waits until the file "go" is there.
GATED = """
import time
from pathlib import Path
from auxcal.cli import main
from auxcal.tables import scored_folder as folder

here, open_part = Path(__file__).parent, folder.open_part

def gated(kind, part):
    while part.relative >= "part-03" and not (here / "go").exists():
        time.sleep(0.005)
    return open_part(kind, part)

folder.open_part = gated
main()
"""


def start(table, out):
    script = table.parent / "gated.py"
    script.write_text(GATED)
    arguments = ["score", str(table.parent / "ts.safetensors"), str(table), "-o", str(out)]
    return subprocess.Popen([sys.executable, str(script), *arguments], stderr=subprocess.PIPE, text=True)


def test_a_folder_is_not_whole_before_a_part_of_it_is_removed(table, tmp_path, monkeypatch):
    score_table(CALIBRATOR, table, out=tmp_path / "scored")
    last = next(table.glob("day=2/part-0*"))
    last.unlink()

    def fails(file):
        if file.name == last.name:
            assert not (tmp_path / "scored" / "_SUCCESS").exists()
            raise OSError(5, "Input/output error")

    remove = LocalFile.remove
    monkeypatch.setattr(LocalFile, "remove", lambda file: fails(file) or remove(file))
    with pytest.raises(OSError, match="Input/output error"):
        score_table(CALIBRATOR, table, out=tmp_path / "scored", overwrite=True)
    with pytest.raises(InvalidInputError, match="has not finished with this folder"):
        read_scored(tmp_path / "scored")


@pytest.mark.skipif(fcntl is None, reason="other systems have no locks on folders")
def test_two_runs_into_one_folder_at_once(table, tmp_path):
    refused = []

    def begin_another(*_):
        with pytest.raises(InvalidInputError, match=r"scored: another run is writing into this folder\. Wait"):
            score_table(CALIBRATOR, table, out=tmp_path / "scored", overwrite=True)
        refused.append(True)

    assert score_table(CALIBRATOR, table, out=tmp_path / "scored", report=begin_another).rows == 300
    assert refused
    assert score_table(CALIBRATOR, table, out=tmp_path / "scored").resumed == 4


def test_killed_and_started_again(tmp_path, wait_until):
    table, out, n, parts = tmp_path / "logits", tmp_path / "scored", 2000, 12
    table.mkdir()
    rows = "\n".join(f"{i},{i % 7},{i % 5},{i % 3},{i % 3}" for i in range(n))
    for place in range(parts):
        (table / f"part-{place:02}.csv").write_text(f"id,logit_0,logit_1,logit_2,y\n{rows}\n")
    CALIBRATOR.save(tmp_path / "ts.safetensors")

    def check_visible_parts():
        for path in out.glob("part-*"):
            assert path.read_text().count("\n") == n + 1, path

    killed = start(table, out)
    wait_until(lambda: len(list(out.glob("part-*"))) == 3)
    killed.kill()
    killed.communicate()
    check_visible_parts()
    assert not (out / "_SUCCESS").exists()

    (tmp_path / "go").touch()
    last = start(table, out)
    last.communicate()
    assert last.returncode == 0
    check_visible_parts()
    assert names_in(out) == ["_SUCCESS", "_auxcal.json", *(f"part-{place:02}.csv" for place in range(parts))]
    assert sum(done["rows"] for done in json.loads((out / "_auxcal.json").read_text())["parts"].values()) == n * parts
