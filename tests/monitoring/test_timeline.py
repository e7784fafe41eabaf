"""Timelines: chunks in order, what each of them says, and the command and the page that show them."""

import json
import re

import numpy as np
import pytest

import auxcal
from auxcal import NO_CLASS, InvalidInputError, cli
from auxcal.cli.monitor import _exit_code
from auxcal.monitoring import Alarm, Timeline, timeline
from auxcal.report.terminal import then


def draw(n, rng, foreign=0.1):
    y = rng.integers(4, size=n)
    logits = rng.normal(size=(n, 4)) + 2.5 * np.eye(4)[y]
    none = rng.random(n) < foreign
    return np.where(none[:, None], rng.normal(size=(n, 4)), logits), np.where(none, NO_CLASS, y)


@pytest.fixture(scope="module")
def calibrator():
    return auxcal.CCACX().fit(*draw(800, np.random.default_rng(0)))


@pytest.fixture(scope="module")
def changed(calibrator):
    """Four quiet days, then four with many foreign samples; some rows of each day have labels."""
    rng = np.random.default_rng(1)
    days = [draw(300, rng, foreign=0.1 if day < 4 else 0.6) for day in range(8)]
    by = np.repeat([f"2026-11-{day + 1:02d}" for day in range(8)], 300)
    logits, y = (np.concatenate(each) for each in zip(*days, strict=True))
    order = rng.permutation(len(y))
    return logits[order], by[order], y[order], rng.random(len(y)) < 0.5


@pytest.fixture(scope="module")
def found(calibrator, changed):
    logits, by, y, labelled = changed
    return timeline(calibrator, logits, by, y, labelled=labelled)


def test_chunks_come_in_order_with_what_each_says(found, changed):
    assert [chunk.name for chunk in found.chunks] == sorted(set(changed[1]))
    assert [chunk.verdict for chunk in found.chunks[4:]] == ["mix"] * 4
    assert all(chunk.n_rows == 300 for chunk in found.chunks)
    for chunk in found.chunks:
        assert chunk.measured.low < chunk.measured.value < chunk.measured.high
        assert abs(chunk.check.accuracy.value - chunk.measured.value) < 0.15
    assert found.chunks[-1].check.no_class.value == pytest.approx(0.6, abs=0.1)
    assert found.accuracy_before > 0.7
    assert {name for name, alarm in found.alarms if alarm.kind == "data"} == {"2026-11-05"}


def test_the_level_is_for_all_verdicts_of_a_table_together(calibrator):
    logits, _ = draw(12_000, np.random.default_rng(5))
    quiet = timeline(calibrator, logits, np.arange(12_000) // 200)
    assert [chunk.verdict for chunk in quiet.chunks] == ["same"] * 60
    assert {chunk.check.level for chunk in quiet.chunks} == {0.05 / 60}


def test_a_table_that_is_sorted_within_its_days_raises_no_alarm(calibrator):
    logits, y = draw(1200, np.random.default_rng(3))
    days = np.arange(1200) // 300
    order = np.lexsort((y, days))
    assert not timeline(calibrator, logits[order], days[order]).alarms


def test_numbers_are_ordered_by_size_and_chunks_may_be_small(calibrator):
    logits, _ = draw(120, np.random.default_rng(2))
    shown = timeline(calibrator, logits, ["10"] * 55 + ["9"] * 55 + ["100"] * 10)
    assert [(chunk.name, chunk.verdict) for chunk in shown.chunks[1:]] == [("10", "same"), ("100", "few")]
    assert shown.chunks[0].name == "9"
    assert shown.chunks[0].measured is None
    with pytest.raises(InvalidInputError, match="row 0 has nothing there"):
        timeline(calibrator, logits, [None] * 120)
    with pytest.raises(InvalidInputError, match="one value for each of the 120 rows; got 3"):
        timeline(calibrator, logits, ["a"] * 3)


@pytest.mark.parametrize(
    ("verdict", "kinds", "code"),
    [("same", [], 0), ("mix", [], 3), ("new", [], 4), ("same", ["data"], 3), ("same", ["labels"], 4), ("few", [], 0)],
)
def test_the_exit_code_is_that_of_the_worst(verdict, kinds, code):
    class Last:
        def __init__(self):
            self.name, self.verdict = "today", verdict
            self.alarms = tuple(Alarm(kind, 9, "it is off") for kind in kinds)

    shown = Timeline((Last(),), 0.05, 0.9, 0.0)
    assert _exit_code(shown) == code
    assert ("Fit again" in then(shown)) == ("labels" in kinds)


@pytest.fixture
def files(calibrator, changed, tmp_path):
    logits, by, y, labelled = changed
    calibrator.save(tmp_path / "c.safetensors")
    head = ",".join(["day", *(f"logit_{i}" for i in range(4)), "y"])
    rows = [
        ",".join([day, *map(str, row), str(label) if has else ""])
        for day, row, label, has in zip(by, logits, y, labelled, strict=True)
    ]
    (tmp_path / "rows.csv").write_text("\n".join([head, *rows]))
    return tmp_path


def test_the_command_shows_what_the_library_found(monkeypatch, capsys, files, found):
    arguments = ["auxcal", "monitor", files / "c.safetensors", files / "rows.csv", "--by", "day"]
    for further in ([], ["--json"]):
        capsys.readouterr()
        monkeypatch.setattr("sys.argv", [str(each) for each in (*arguments, *further)])
        with pytest.raises(SystemExit) as exit_:
            cli.main()
        assert exit_.value.code == _exit_code(found)
    shown = json.loads(capsys.readouterr().out)
    assert [chunk["verdict"] for chunk in shown["chunks"]] == [chunk.verdict for chunk in found.chunks]
    assert shown["alarms"][0]["chunk"] == "2026-11-05"


@pytest.mark.needs("report")
def test_the_page_holds_all_of_it_and_runs_nothing_else(found, tmp_path):
    from auxcal.report import save_timeline

    save_timeline(found, tmp_path / "monitor.html", name="<b>rows</b>")
    shown = (tmp_path / "monitor.html").read_text()
    assert shown.index("<dt>right, estimated") < shown.index('<p class="lead')  # what a phone shows first
    page = (tmp_path / "monitor.html").read_text(encoding="utf-8")
    assert "In the rows of 2026-11-08, class proportions have changed since the fit." in re.sub(
        r"</?span[^>]*>", "", page
    )
    assert "&lt;b&gt;rows" in page
    assert "default-src 'none'" in page
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])
    assert [chunk["name"] for chunk in data["chunks"]] == [chunk.name for chunk in found.chunks]
    assert "http://" not in re.sub(r"http://www\.w3\.org\S*", "", page.split('id="data"')[0])


@pytest.mark.needs("report")
def test_the_page_explains_only_what_it_shows(calibrator, found, tmp_path):
    from auxcal.report import save_timeline

    logits, _ = draw(60, np.random.default_rng(4))
    quiet = timeline(calibrator, logits, ["monday"] * 60)
    pages = []
    for each in (found, quiet):
        save_timeline(each, tmp_path / "monitor.html")
        pages.append((tmp_path / "monitor.html").read_text(encoding="utf-8"))
    for key in ('<span class="key dotted wrong">alarm</span>', '<span class="key dot">measured</span>'):
        assert [key in page for page in pages] == [True, False]


@pytest.mark.needs("report")
def test_the_page_is_an_html_file(monkeypatch, capsys, files):
    arguments = ["auxcal", "monitor", files / "c.safetensors", files / "rows.csv", "--by", "day", "-o", files / "m.txt"]
    monkeypatch.setattr("sys.argv", list(map(str, arguments)))
    with pytest.raises(SystemExit) as exit_:
        cli.main()
    assert exit_.value.code == 2
    assert "an .html file" in capsys.readouterr().err
    assert not (files / "m.txt").exists()
