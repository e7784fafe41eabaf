"""Results are a table that survives a file, and that can be filtered and averaged."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from auxcal._core.errors import FileFormatError
from auxcal.metrics import METRICS
from auxcal_paper.results import SCORES, Results, Row, spread

DOCS = Path(__file__).parents[2] / "docs"
ROW = Row(
    "r8-dan", "D1", "ccac", 0, 3000, 500, 1500, 0.9, 1 / 3, True, dict.fromkeys(SCORES, 0.1) | {"auroc": math.pi / 4}
)


def test_a_row_has_every_metric():
    assert set(METRICS) < set(SCORES)
    assert set(ROW.flat()) >= {*METRICS, "ece_floor", "ece_floor_p95", "suite", "fit_seconds", "n_test"}


def test_a_file_gives_the_same_bits_back(tmp_path):
    results = Results((ROW, replace(ROW, random_state=1, converged=False)))
    results.write(tmp_path / "results.csv")
    assert Results.read(tmp_path / "results.csv") == results


def test_a_metric_without_a_value_survives_a_file(tmp_path):
    Results((replace(ROW, scores=dict(ROW.scores) | {"auroc": math.nan}),)).write(tmp_path / "results.csv")
    (row,) = Results.read(tmp_path / "results.csv")
    assert math.isnan(row.scores["auroc"])


def test_a_file_from_before_a_metric_is_read_and_the_metric_has_no_value(tmp_path, monkeypatch):
    Results((ROW,)).write(tmp_path / "results.csv")
    monkeypatch.setitem(METRICS, "new", METRICS["ece"])
    old = Results.read(tmp_path / "results.csv")
    assert old == Results((ROW,))
    assert math.isnan(old.spread("new").mean)
    assert old.spread("auroc").mean == math.pi / 4


def test_rows_from_before_a_metric_can_stand_beside_rows_from_after_it(tmp_path):
    both = Results((ROW, replace(ROW, random_state=1, scores=dict(ROW.scores) | {"new": 0.5})))
    both.write(tmp_path / "results.csv")
    assert Results.read(tmp_path / "results.csv") == both


def test_every_committed_file_is_read_whatever_metrics_there_are_today(monkeypatch):
    monkeypatch.setitem(METRICS, "new", METRICS["ece"])
    committed = [*DOCS.glob("results/*.csv"), *(DOCS / "figures" / f"{name}.csv" for name in ("labels", "unseen"))]
    assert len(committed) > 6
    assert all(len(Results.read(path)) for path in committed)


@pytest.mark.parametrize("text", ["", "suite,shift\nr8-dan,D1\n", "\x00\x01"])
def test_a_foreign_file_is_refused(tmp_path, text):
    path = tmp_path / "results.csv"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=r"results\.csv: expected"):
        Results.read(path)


def test_a_damaged_number_is_refused(tmp_path):
    Results((ROW,)).write(tmp_path / "results.csv")
    text = (tmp_path / "results.csv").read_text()
    (tmp_path / "results.csv").write_text(text.replace(",3000,", ",three,"))
    with pytest.raises(FileFormatError, match="three"):
        Results.read(tmp_path / "results.csv")


def test_filter_and_spread():
    rows = [
        replace(ROW, random_state=i, scores=dict(ROW.scores) | {"ece": ece}) for i, ece in enumerate([0.1, 0.2, 0.3])
    ]
    results = Results((*rows, replace(ROW, method="platt")))
    assert results.distinct("method") == ("ccac", "platt")
    assert results.where(method="ccac").scores("ece") == {0: 0.1, 1: 0.2, 2: 0.3}
    assert results.where(method="ccac", random_state=5).rows == ()
    mean, deviation = results.where(method="ccac").spread("ece")
    assert mean == pytest.approx(0.2)
    assert deviation == pytest.approx(0.1)


def test_one_value_has_no_deviation_and_none_no_mean():
    assert spread([0.5]) == (0.5, 0.0)
    assert math.isnan(spread([]).mean)
