"""The page holds the data whole, runs nothing that was not put there, and stays small."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest

from auxcal import CALIBRATORS, InvalidInputError, Predictions, Uncalibrated, compare
from auxcal.metrics import evaluate
from auxcal.report.comparison import Agreement, Comparison, Entry
from auxcal.report.html import _page, save_report
from auxcal.report.html._payload import LEVELS, packed, quantise, rounded

MEGABYTE = 1e6


@pytest.fixture(scope="module")
def page(comparisons, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    save_report(comparisons, path, saved=["spring.safetensors", "autumn.safetensors"], about=["", "In <autumn>."])
    return path.read_text()


def data_of(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page).group(1))


def unpack(array):
    return np.frombuffer(base64.b64decode(array["data"]), dtype=np.dtype(array["type"]).newbyteorder("<"))


class TestData:
    def test_the_rows_predictions_and_labels_are_those_of_the_comparison(self, page, comparisons):
        for comparison, found in zip(comparisons, data_of(page)["sets"], strict=True):
            np.testing.assert_array_equal(unpack(found["rows"]), comparison.rows)
            np.testing.assert_array_equal(unpack(found["y"]), comparison.test.y)
            np.testing.assert_array_equal(unpack(found["prediction"]), comparison.test.prediction)
            assert (found["best"], found["before"]) == (comparison.best.method, "uncalibrated")

    def test_a_packed_confidence_is_accepted_by_the_same_thresholds(self, page, comparisons):
        comparison, found = comparisons[0], data_of(page)["sets"][0]
        for entry in comparison.entries:
            steps = unpack(found["methods"][entry.method]["confidence"])
            for threshold in range(0, 1001, 7):
                accepted = entry.confidence >= threshold / 1000
                np.testing.assert_array_equal(steps >= threshold * LEVELS // 1000, accepted)

    def test_the_charts_are_those_of_the_metrics(self, page, comparisons):
        for entry in comparisons[0].entries:
            found = data_of(page)["sets"][0]["methods"][entry.method]
            assert sum(found["histogram"]["wrong"]) == (~comparisons[0].test.correct).sum()
            assert found["curve"]["risk"][-1] == pytest.approx(1 - comparisons[0].test.correct.mean(), abs=1e-4)

    def test_rows_that_the_comparison_has_checked_are_not_checked_again(self, comparisons, tmp_path, monkeypatch):
        monkeypatch.setattr("auxcal.predictions.as_logits", None)
        comparisons[0].save_report(tmp_path / "page.html")


class TestSafety:
    def test_what_users_name_is_escaped(self, page):
        assert "</script><b>cat" not in page
        assert "spring &lt;1&gt;" in page
        assert "In &lt;autumn&gt;." in page
        assert data_of(page)["sets"][0]["classes"][0] == "</script><b>cat"

    def test_nothing_is_loaded_and_only_the_scripts_of_the_page_may_run(self, page):
        assert not re.search(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=", page)
        policy = re.search(r'Content-Security-Policy"\s+content="([^"]*)"', page).group(1)
        assert policy.startswith("default-src 'none';")
        assert "base-uri 'none'; form-action 'none'" in policy
        scripts = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
        hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
        assert re.findall(r"'sha256-([^']+)'", policy.replace("&#39;", "'")) == hashes
        assert len(scripts) == len(_page.VENDOR) + 1

    def test_the_chart_library_is_the_one_that_was_noted(self):
        folder = files("auxcal.report.html") / "vendor"
        noted = dict(line.split()[::-1] for line in (folder / "SHA256SUMS").read_text().splitlines())
        assert set(noted) == set(_page.VENDOR)
        for name, digest in noted.items():
            assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
            version = re.search(r"v(\d+\.\d+\.\d+)", (folder / name).read_text()).group(1)
            assert f"| {version} |" in (folder / "README.md").read_text()


class TestWords:
    def test_the_answer_the_threshold_and_what_to_do_next_come_first(self, page, comparisons):
        plain = re.sub(r"<[^>]+>", "", page).replace("&nbsp;", " ")
        heads = ("How far to trust it", "What to do next", "All methods", "Where it is confidently wrong")
        places = [plain.index(each) for each in (comparisons[0].answer.found, *heads)]
        assert places == sorted(places)
        assert comparisons[0].answer.found in plain
        assert plain.index(comparisons[0].answer.then) < plain.index("All methods")
        assert 'auxcal.load("spring.safetensors")' in plain.replace("&#34;", '"')
        assert "auxcal score autumn.safetensors new.npz" in plain

    def test_every_method_has_a_row_and_one_is_marked_best(self, page, comparisons):
        table = re.search(r'<table class="methods">.*?</table>', page, flags=re.S)[0]
        assert re.findall(r'data-method="([^"]+)"', table) == [entry.method for entry in comparisons[0].ranked]
        assert table.count('class="badge"') == 1

    def test_every_metric_says_what_is_better(self, page):
        start = page.index('<table class="methods">')
        heads = page[start : page.index("</thead>", start)]
        better = re.findall(r'data-key="(\w+)" data-first="(\w+)".*?<small>(\w+) is better', heads, flags=re.S)
        assert {name: way for name, _, way in better} == {
            "auroc": "higher", "aupr": "higher", "p90": "higher", "ece": "lower", "brier": "lower"
        }  # fmt: skip
        assert "↑" not in page[: page.index("<script")]

    def test_the_noise_floor_beside_a_chart_is_the_tables(self, tmp_path):
        rng = np.random.default_rng(0)
        data = Predictions(rng.normal(size=(300, 3)), rng.integers(3, size=300))
        comparison = compare(data, methods=["platt"], bootstrap=0, random_state=3)
        comparison.save_report(tmp_path / "page.html")
        drawn = data_of((tmp_path / "page.html").read_text())["sets"][0]["methods"]
        for entry in comparison.entries:
            assert drawn[entry.method]["reliability"]["floor"] == entry.scores["ece_floor_p95"]
            assert drawn[entry.method]["reliability"]["ece"] == entry.scores["ece"]

    def test_a_method_that_failed_says_why(self, comparisons, tmp_path):
        whole = comparisons[1]
        failed = Entry("ccac", "CCAC", 0.1, problem="ValueError: <no>")
        save_report([replace(whole, name="x", entries=(*whole.entries, failed))], tmp_path / "page.html")
        page = (tmp_path / "page.html").read_text()
        assert "ValueError: &lt;no&gt;" in page
        assert "ccac" not in data_of(page)["sets"][0]["methods"]

    @pytest.mark.parametrize(("correct_share", "words"), [(0.8, "Look again when the data"), (0.3, "Label more rows")])
    def test_where_there_is_nothing_to_do_the_page_says_so(self, correct_share, words, tmp_path):
        made = of_size(4000, 3, ["uncalibrated"], correct_share=correct_share)
        save_report([made], tmp_path / "page.html")
        assert words in (tmp_path / "page.html").read_text()


def of_size(n, k, methods, correct_share=0.5):
    """Make up a comparison: logits with a maximum probability of 0.8, and any confidence for the other methods."""
    rng = np.random.default_rng(0)
    prediction = rng.integers(k, size=n)
    logits = np.eye(k, dtype=np.float32)[prediction] * np.float32(np.log(4 * (k - 1)))
    y = np.where(rng.uniform(size=n) < correct_share, prediction, (prediction + 1) % k)
    test = Predictions(logits, y)
    fitted = Uncalibrated().fit(logits, y)
    entries = []
    for method in methods:
        own = method == "uncalibrated"
        confidence = fitted.predict_confidence(logits) if own else rng.uniform(size=n).astype(np.float32)
        scores = evaluate(confidence, test.correct)
        entries.append(Entry(method, CALIBRATORS[method].abbreviation, 0.0, fitted, confidence, scores))
    agreement = Agreement.of(entries[0].confidence, test.correct)
    return Comparison("large", tuple(entries), test, np.arange(n) + 10**6, n, agreement)


def test_a_page_of_40000_samples_and_all_methods_is_under_5_megabytes(tmp_path):
    save_report([of_size(40_000, 100, CALIBRATORS)], tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size < 5 * MEGABYTE


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_threshold_on_a_step_is_exact(kind):
    steps = np.arange(1001) / 1000
    values = np.concatenate([steps, np.nextafter(steps, 0, dtype=kind), np.nextafter(steps, 1, dtype=kind)])
    confidence = np.clip(values, 0, 1).astype(kind)
    for i, threshold in enumerate(steps):
        np.testing.assert_array_equal(quantise(confidence) >= i * LEVELS // 1000, confidence >= kind(threshold))


WHOLE = [([], "uint8"), ([255], "uint8"), ([256], "uint16"), ([-1, 127], "int8"), ([-1, 128], "int16")]


@pytest.mark.parametrize(("values", "kind"), [*WHOLE, ([70000], "uint32")])
def test_whole_numbers_take_the_narrowest_type(values, kind):
    assert packed(values)["type"] == kind
    np.testing.assert_array_equal(unpack(packed(values)), values)
    assert rounded([0.123456, np.nan]) == [0.1235, None]  # JSON has no NaN


def test_a_page_of_nothing_is_refused_and_an_old_page_stays(tmp_path):
    with pytest.raises(InvalidInputError, match="at least one comparison"):
        save_report([], tmp_path / "page.html")
    with pytest.raises(InvalidInputError, match="is a folder"):
        save_report([of_size(50, 2, ["uncalibrated"])], tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_slices_are_in_the_page_with_intervals_and_small_ones_are_marked(tmp_path):
    rng = np.random.default_rng(0)
    y, easy = rng.integers(3, size=2000), np.arange(2000) >= 1000
    logits = rng.normal(size=(2000, 3)) + np.where(easy, 20, 0)[:, None] * np.eye(3)[y]
    where = np.where(rng.random(2000) < 0.02, "<rare>", np.where(easy, "easy", "hard"))
    comparison = compare(Predictions(logits, y), methods=["platt"], bootstrap=20, by={"pl<ace": where})
    comparison.save_report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    section = re.search(r'<section class="slices">.*?</section>', page, re.DOTALL).group()
    assert "Slices by pl&lt;ace" in section
    assert re.search(r'&lt;rare&gt; <span class="badge">noise', section)
    (sliced,) = comparison.slices
    for part in sliced.after:
        assert f"{part.scores['brier_low']:.3f}–{part.scores['brier_high']:.3f}" in section
    assert any(np.isnan(part.scores["auroc_low"]) for part in sliced.after)
    assert "<small>–" not in page  # an undefined metric has no interval


@pytest.mark.parametrize("weighted", [False, True])
def test_weighted_rows_promise_nothing(tmp_path, weighted):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=2000)
    data = Predictions(
        4 * np.eye(3)[y] + rng.normal(size=(2000, 3)), y, sample_weight=1 + np.arange(2000) % 2 if weighted else None
    )
    compare(data, methods=["platt"], bootstrap=2).save_report(tmp_path / "report.html")
    promised = data_of((tmp_path / "report.html").read_text())["sets"][0]["methods"]["platt"]["promised"]
    assert (promised["0.1"] is None) == weighted
