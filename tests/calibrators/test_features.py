"""Features: given to those that use them, in the same chunks as the logits, and refused with a reason elsewhere."""

import numpy as np
import pytest
from scipy.special import softmax

import auxcal
from auxcal import (
    CALIBRATORS,
    CCACX,
    NO_CLASS,
    DistributionCalibrator,
    InvalidInputError,
    PlattScaling,
    TemperatureScaling,
)
from auxcal._core import chunks
from auxcal.calibrators.transferable import Transferable
from auxcal.metrics import brier


@pytest.fixture
def fitted(featured_platt, featured):
    return featured_platt().fit(featured.logits, featured.y, features=featured.features)


def test_features_bring_something(fitted, featured):
    with_them = fitted.predict_confidence(featured.logits, featured.features)
    without = PlattScaling().fit(featured.logits, featured.y).predict_confidence(featured.logits)
    assert brier(with_them, featured.correct) < 0.8 * brier(without, featured.correct)


def test_their_number_is_remembered_and_forgotten(fitted, featured):
    assert fitted.n_further_features_ == 2
    assert fitted.fit(featured.logits, featured.y).n_further_features_ == 0
    assert TemperatureScaling().fit(featured.logits, featured.y).n_further_features_ == 0


def test_without_features_one_that_could_use_them_reads_the_logits(featured_platt, featured):
    platt = PlattScaling().fit(featured.logits, featured.y)
    plain = featured_platt().fit(featured.logits, featured.y)
    np.testing.assert_allclose(
        plain.predict_confidence(featured.logits), platt.predict_confidence(featured.logits), atol=0.01
    )


@pytest.mark.parametrize("chunk_bytes", [1, 200, 7777])
def test_features_are_cut_into_the_chunks_of_the_logits(fitted, featured, chunk_bytes, monkeypatch):
    whole = fitted.predict_confidence(featured.logits, featured.features)
    monkeypatch.setattr(chunks, "CHUNK_BYTES", chunk_bytes)
    np.testing.assert_allclose(fitted.predict_confidence(featured.logits, featured.features), whole, rtol=1e-6)


def test_a_fit_part_that_is_split_keeps_its_features(featured_platt, featured):
    class Searching(featured_platt):
        def _searches(self, n_classes):
            return True

        def _search(self, data, select):
            self.seen_ = np.concatenate([data.features, select.features])
            return self._fit(data)

    fit, select = featured.split(400, 200, random_state=0)
    aside = Searching().fit(featured.logits, featured.y, features=featured.features).seen_
    given = Searching().fit(fit.logits, fit.y, (select.logits, select.y, select.features), fit.features).seen_
    assert sorted(map(tuple, aside)) == sorted(map(tuple, featured.features))
    assert np.array_equal(given, np.concatenate([fit.features, select.features]))


class FeaturedSoftmax(DistributionCalibrator, Transferable):
    """A distribution that features move, and that can be carried over: the least of both."""

    abbreviation = "FS"
    reference = "these tests"
    uses_features = True

    def _fit(self, data):
        self.shift_ = 0.0 if data.features is None else float(data.features.mean())

    def _transfer(self, source, data, select):
        self.shift_ = source.shift_ + 1
        self.rows_ = len(data)

    def _proba(self, logits, features=None):
        shift = self.shift_ if features is None else self.shift_ * features[:, :1]
        return softmax(logits * np.exp(shift), axis=1)


def test_the_confidence_of_a_distribution_reads_the_features_too(featured):
    fitted = FeaturedSoftmax().fit(featured.logits, featured.y, features=featured.features)
    proba = fitted.predict_proba(featured.logits, featured.features)
    confidence = fitted.predict_confidence(featured.logits, featured.features)
    assert np.array_equal(confidence, proba[np.arange(len(proba)), featured.prediction])
    assert not np.array_equal(confidence, fitted.predict_confidence(featured.logits, featured.features[::-1]))


def test_features_are_carried_over_and_checked(featured):
    z, y, x = featured.logits, featured.y, featured.features
    source = FeaturedSoftmax().fit(z, y, features=x)
    carried = source.transfer(z[:50], y[:50], features=x[:50])
    assert (carried.shift_, carried.rows_, carried.n_further_features_) == (source.shift_ + 1, 50, 2)
    assert not hasattr(source, "rows_")
    with pytest.raises(InvalidInputError, match="the 2 columns that the calibrator was fitted with; got none"):
        source.transfer(z, y)
    with pytest.raises(InvalidInputError, match="was fitted without features"):
        FeaturedSoftmax().fit(z, y).transfer(z, y, features=x)


def test_one_that_says_it_searches_must_be_able_to(featured_platt, featured):
    class Searching(featured_platt):
        def _searches(self, n_classes):
            return True

    with pytest.raises(NotImplementedError, match=r"Searching searches, but has no _search\(data, select"):
        Searching().fit(featured.logits, featured.y)


# Refusals -------------------------------------------------------------------------------------------------------------


def test_one_that_uses_none_names_those_that_do(featured, featured_platt, monkeypatch):
    monkeypatch.setitem(CALIBRATORS, "featured", featured_platt)
    temperature = TemperatureScaling()
    with pytest.raises(InvalidInputError, match=r"TemperatureScaling reads logits alone.*FeaturedPlatt \(featured\)"):
        temperature.fit(featured.logits, featured.y, features=featured.features)
    temperature.fit(featured.logits, featured.y)
    for score in (temperature.predict_confidence, temperature.predict_proba):
        with pytest.raises(InvalidInputError, match="Leave features out"):
            score(featured.logits, featured.features)


SCORED = {
    "none": (lambda x: None, "the 2 columns that the calibrator was fitted with; got none"),
    "other columns": (lambda x: x[:, :1], "the 2 columns that the calibrator was fitted with; got 1"),
    "fewer rows": (lambda x: x[1:], "one row for each of the 600 rows of logits; got 599"),
    "a vector": (lambda x: x[:, 0], r"shape \(n, d\).*got shape \(600,\)"),
    "three axes": (lambda x: x[:, None], r"got shape \(600, 1, 2\).*reshape"),
    "NaN": (lambda x: np.where(np.arange(600)[:, None] == 7, np.nan, x), r"finite; got nan.*\[7, 0\]"),
    "too large": (lambda x: 1e20 * x, "within ±1e"),
    "text": (lambda x: x.astype(str), "features must be numbers; got strings"),
}


@pytest.mark.parametrize(("changed", "message"), SCORED.values(), ids=SCORED)
def test_features_that_do_not_fit_are_refused(fitted, featured, changed, message):
    with pytest.raises(InvalidInputError, match=message):
        fitted.predict_confidence(featured.logits, changed(featured.features))


@pytest.mark.parametrize("columns", [None, slice(1)], ids=["none", "other columns"])
def test_a_select_part_has_the_features_of_the_fit_part(featured_platt, featured, columns):
    part = featured.logits, featured.y, None if columns is None else featured.features[:, columns]
    with pytest.raises(InvalidInputError, match=r"select: the select part must have 2 features.*got"):
        featured_platt().fit(featured.logits, featured.y, select=part, features=featured.features)


# Files ----------------------------------------------------------------------------------------------------------------


def test_a_saved_one_reads_features(fitted, featured, tmp_path):
    fitted.save(tmp_path / "featured.safetensors")
    loaded = auxcal.load(tmp_path / "featured.safetensors")
    inputs = featured.logits, featured.features
    assert loaded.n_further_features_ == 2
    assert np.array_equal(loaded.predict_confidence(*inputs), fitted.predict_confidence(*inputs))


def test_a_notebook_says_how_many(fitted):
    assert "logits of 3 classes and 2 features" in fitted._repr_html_()


class TestTables:
    """Features with categories and gaps."""

    @pytest.fixture
    def rows(self):
        rng = np.random.default_rng(0)
        topic, length = rng.integers(6, size=3000), rng.normal(size=3000)
        y = rng.integers(3, size=3000)
        logits = 2 * np.eye(3)[y] + rng.normal(size=(3000, 3))
        wrong = rng.random(3000) < np.array([0.6, 0.4, 0, 0, 0, 0])[topic] * (length > 0)
        y[wrong] = NO_CLASS
        length[rng.random(3000) < 0.2] = np.nan
        return logits, y, {"topic": np.array(list("abcdef"), dtype=object)[topic], "length": length}

    def test_they_are_better_than_none(self, rows):
        logits, y, table = rows
        fit, test = slice(0, 600), slice(600, None)
        part = {name: column[fit] for name, column in table.items()}
        rest = {name: column[test] for name, column in table.items()}
        bare = CCACX(random_state=0).fit(logits[fit], y[fit])
        full = CCACX(random_state=0).fit(logits[fit], y[fit], features=part)
        assert full.score(logits[test], y[test], rest) > bare.score(logits[test], y[test]) + 0.01

    def test_frames_and_mappings_are_the_same(self, rows, tmp_path):
        pd = pytest.importorskip("pandas")
        logits, y, table = (each[:400] if not isinstance(each, dict) else each for each in rows)
        table = {name: column[:400] for name, column in table.items()}
        fitted = CCACX(random_state=0).fit(logits, y, features=pd.DataFrame(table))
        again = CCACX(random_state=0).fit(logits, y, features=table)
        fitted.save(tmp_path / "x.safetensors")
        loaded = auxcal.load(tmp_path / "x.safetensors")
        turned = dict(reversed(table.items()))
        for calibrator in (again, loaded):
            np.testing.assert_array_equal(
                calibrator.predict_confidence(logits, turned), fitted.predict_confidence(logits, pd.DataFrame(table))
            )

    def test_new_levels_and_gaps_are_no_error(self, rows):
        logits, y, table = rows[0][:400], rows[1][:400], {name: column[:400] for name, column in rows[2].items()}
        fitted = CCACX(random_state=0).fit(logits, y, features=table)
        odd = {"topic": np.array(["z", None] * 200, dtype=object), "length": np.full(400, np.nan)}
        assert np.isfinite(fitted.predict_confidence(logits, odd)).all()
        with pytest.raises(InvalidInputError, match="there is no 'length'"):
            fitted.predict_confidence(logits, {"topic": odd["topic"]})
