"""What a calibrator remembers of what it was fitted on, and how it takes what it is given later."""

import re
import warnings

import numpy as np
import pytest
from sklearn.base import clone

import auxcal
from auxcal import (
    CALIBRATORS,
    CCACX,
    NO_CLASS,
    AuxcalError,
    FittedOn,
    InputWarning,
    InvalidInputError,
    PlattScaling,
    Predictions,
    SimplifiedCCAC,
    TemperatureScaling,
    VectorScaling,
)
from auxcal.inputs import LogitInputs
from auxcal.metrics import brier

from .test_golden import GOLDEN

NAMES = ["cat", "dog", "bird"]
RNG = np.random.default_rng(0)
LOGITS = RNG.normal(size=(300, 3), scale=2)
Y = (LOGITS / 2 + RNG.gumbel(size=LOGITS.shape)).argmax(axis=1)
Y[::10] = NO_CLASS
PROBA = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
ONE_ROW = [[0.0, 1.0, 0.0]]


class Frame:
    """The least that pandas and polars have in common: named columns, chosen by a list of names."""

    def __init__(self, array, names):
        self.array, self.columns = np.asarray(array), list(names)

    def __array__(self, dtype=None, copy=None):
        return self.array if dtype is None else self.array.astype(dtype)

    def __getitem__(self, names):
        return Frame(self.array[:, [self.columns.index(name) for name in names]], names)


class TestNames:
    @pytest.fixture
    def fitted(self):
        return VectorScaling().fit(Frame(LOGITS, NAMES), Y)

    def test_further_columns_are_left_alone(self, fitted):
        wide = Frame(np.column_stack([np.full(300, 9.0), LOGITS]), ["size", *NAMES])
        assert np.array_equal(fitted.predict_confidence(wide), fitted.predict_confidence(LOGITS))

    def test_an_array_has_no_names_and_fits_any(self):
        fitted = VectorScaling().fit(LOGITS, Y)
        assert fitted.inputs_.column_names is None
        assert np.array_equal(
            fitted.predict_confidence(Frame(LOGITS, ["x", "y", "z"])), fitted.predict_confidence(LOGITS)
        )

    def test_features_and_the_select_part_are_taken_by_name(self, featured_platt):
        features = RNG.normal(size=(300, 2))
        fitted = featured_platt().fit(Frame(LOGITS, NAMES), Y, features=Frame(features, ["width", "height"]))
        assert fitted.inputs_.feature_names == ("width", "height")
        turned = Frame(features[:, ::-1], ["height", "width"])
        assert np.array_equal(fitted.predict_confidence(LOGITS, turned), fitted.predict_confidence(LOGITS, features))
        select = Frame(LOGITS[:, ::-1], NAMES[::-1]), Y, turned
        again = CCACX(random_state=0).fit(
            Frame(LOGITS, NAMES), Y, select, features=Frame(features, ["width", "height"])
        )
        plain = CCACX(random_state=0).fit(LOGITS, Y, (LOGITS, Y, features), features=features)
        assert np.array_equal(again.predict_confidence(LOGITS, features), plain.predict_confidence(LOGITS, features))

    def test_class_names_are_remembered(self):
        assert PlattScaling().fit(LOGITS, Y, class_names=NAMES).inputs_.class_names == tuple(NAMES)
        with pytest.raises(InvalidInputError, match="class_names must be 3 names"):
            PlattScaling().fit(LOGITS, Y, class_names=["cat"])


class TestKind:
    def test_probabilities_are_their_logarithms(self):
        fitted = CCACX(random_state=0).fit(PROBA, Y, probabilities=True)
        plain = CCACX(random_state=0).fit(np.log(PROBA), Y)
        assert fitted.inputs_.kind == "probabilities"
        assert np.array_equal(fitted.predict_confidence(PROBA), plain.predict_confidence(np.log(PROBA)))
        assert np.array_equal(fitted.predict_proba(PROBA), plain.predict_proba(np.log(PROBA)))

    def test_a_probability_of_zero_is_fine(self):
        fitted = TemperatureScaling().fit(PROBA, Y, probabilities=True)
        assert np.isfinite(fitted.predict_confidence(ONE_ROW)).all()

    def test_logits_are_refused_where_probabilities_were_fitted(self, tmp_path):
        fitted = TemperatureScaling().fit(PROBA, Y, probabilities=True)
        fitted.save(tmp_path / "fitted")
        for calibrator in (fitted, auxcal.load(tmp_path / "fitted")):
            with pytest.raises(InvalidInputError, match=r"fitted on probabilities needs them again"):
                calibrator.predict_confidence(LOGITS)

    def test_probabilities_are_warned_about_where_logits_were_fitted(self):
        fitted = TemperatureScaling().fit(LOGITS, Y)
        for rows in (PROBA, PROBA[:1], PROBA.astype(np.float32)):
            with pytest.warns(
                InputWarning, match="fitted on logits, and every row given looks like probabilities"
            ) as got:
                fitted.predict_confidence(rows)
            assert got[0].filename == __file__

    def test_the_warning_is_given_once_for_each_line(self):
        fitted = TemperatureScaling().fit(LOGITS, Y)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            for _ in range(3):
                fitted.predict_confidence(PROBA)
        assert len(caught) == 1

    def test_one_row_that_is_no_distribution_is_enough_for_logits(self):
        TemperatureScaling().fit(LOGITS, Y).predict_confidence(np.concatenate([PROBA, LOGITS[:1]]))

    def test_a_fit_on_what_looks_like_probabilities_warns(self):
        with pytest.warns(
            InputWarning, match=r"look like probabilities.*probabilities=True \(--probabilities\)"
        ) as got:
            TemperatureScaling().fit(PROBA, Y)
        assert got[0].filename == __file__
        with pytest.warns(InputWarning, match="look like probabilities"):
            auxcal.compare(Predictions(PROBA, Y), methods=["platt"], bootstrap=0)

    def test_the_select_part_is_of_the_same_kind(self):
        with pytest.raises(InvalidInputError, match="select: probabilities must be from 0 to 1"):
            CCACX().fit(PROBA, Y, (LOGITS, Y), probabilities=True)

    @pytest.mark.parametrize(("rows", "match"), [(PROBA, "look.* like probabilities"), (100 * PROBA, "adds up to 100")])
    def test_every_part_is_asked_about(self, rows, match):
        part, fitted = Predictions(rows, Y), TemperatureScaling().fit(LOGITS, Y)
        uses = {
            "fit": lambda: TemperatureScaling().fit(rows, Y),
            "select": lambda: auxcal.Dirichlet(off_diagonal=(0.1, 1.0), intercept=0.1).fit(LOGITS, Y, (rows, Y)),
            "select part": lambda: auxcal.Dirichlet(off_diagonal=(0.1, 1.0), intercept=0.1).fit(LOGITS, Y, part),
            "scored": lambda: fitted.predict_confidence(rows),
            "checked": lambda: auxcal.check(fitted, rows),
            "labelled": lambda: fitted.adapt(LOGITS, labelled=(rows, Y)),
            "labelled part": lambda: fitted.adapt(LOGITS, labelled=part),
            "compared": lambda: auxcal.compare(part, methods=["platt"], bootstrap=0),
            "test part": lambda: auxcal.compare(Predictions(LOGITS, Y), test=part, methods=["platt"], bootstrap=0),
        }
        for name, use in uses.items():
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                use()
            assert any(re.search(match, str(each.message)) for each in caught), name
        with pytest.raises(InvalidInputError, match=r"these rows add up to 100\. Divide percentages"):
            TemperatureScaling().fit(100 * PROBA, Y, probabilities=True)

    def test_a_comparison_of_probabilities_fits_and_scores_them_as_such(self):
        found = auxcal.compare(
            Predictions(PROBA, Y, probabilities=True, class_names=NAMES), methods=["TS"], bootstrap=0
        )
        plain = auxcal.compare(Predictions(np.log(PROBA), Y), methods=["ts"], bootstrap=0)
        assert found.class_names == tuple(NAMES)
        for ours, theirs in zip(found.entries, plain.entries, strict=True):
            assert np.array_equal(ours.confidence, theirs.confidence)
            assert ours.calibrator.inputs_ == LogitInputs("probabilities", tuple(NAMES))


class TestFittedOn:
    def test_the_rows_and_those_of_no_class_are_counted_with_the_select_part(self):
        fitted = CCACX(random_state=0).fit(LOGITS[:200], Y[:200], (LOGITS[200:], Y[200:]))
        assert fitted.fitted_on_ == FittedOn(300, 30)

    def test_all_rows_count_also_where_some_are_set_aside(self):
        fitted = auxcal.Dirichlet(off_diagonal=(0.1, 1.0), intercept=0.1, random_state=0).fit(LOGITS, Y)
        assert fitted.fitted_on_ == FittedOn(300, 30)

    def test_the_date_is_that_of_the_fit_and_can_be_fixed(self, monkeypatch, tmp_path):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
        for name in ("one", "other"):
            PlattScaling().fit(LOGITS, Y).save(tmp_path / name)
        assert auxcal.load(tmp_path / "one").fitted_on_.date == "1970-01-01T00:00:00Z"
        assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()

    @pytest.mark.parametrize("value", ["abc", "1.5", "2026-11-17", "9" * 30])
    def test_a_date_that_is_none_is_one_sentence(self, value, monkeypatch):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", value)
        with pytest.raises(InvalidInputError, match=f"SOURCE_DATE_EPOCH must be .* seconds since 1970; got '{value}'"):
            PlattScaling().fit(LOGITS, Y)

    def test_the_same_rows_at_another_time_are_the_same(self):
        assert FittedOn(3, 1, "1970-01-01T00:00:00Z") == FittedOn(3, 1, "2026-01-01T00:00:00Z")

    def test_a_failed_fit_forgets(self):
        fitted = PlattScaling().fit(LOGITS, Y, class_names=NAMES)
        with pytest.raises(InvalidInputError):
            fitted.fit(LOGITS, Y[:3])
        assert fitted.inputs_ == LogitInputs()
        assert fitted.fitted_on_ == FittedOn()


def test_a_file_keeps_all_of_it(tmp_path):
    fitted = PlattScaling().fit(Frame(PROBA, NAMES), Y, probabilities=True, class_names=["a", "b", "ü"])
    fitted.save(tmp_path / "fitted")
    loaded = auxcal.load(tmp_path / "fitted")
    assert loaded.inputs_ == fitted.inputs_ == LogitInputs("probabilities", ("a", "b", "ü"), tuple(NAMES))
    assert loaded.fitted_on_ == fitted.fitted_on_
    assert loaded.fitted_on_.date == fitted.fitted_on_.date


def test_a_notebook_shows_what_is_known():
    known = PlattScaling().fit(PROBA, Y, probabilities=True, class_names=NAMES)._repr_html_()
    assert "probabilities of 3 classes" in known
    assert "cat, dog, bird" in known
    assert "300 rows, 10.0 % of them of no class" in known


@pytest.mark.parametrize("name", CALIBRATORS)
def test_every_method_takes_columns_by_name_and_the_kind_that_it_was_fitted_on(name):
    calibrator = auxcal.load(GOLDEN / f"{name}.safetensors")
    expected = calibrator.predict_confidence(np.log(PROBA))
    calibrator.inputs_ = LogitInputs("probabilities", column_names=tuple(NAMES))
    assert np.array_equal(calibrator.predict_confidence(Frame(PROBA[:, ::-1], NAMES[::-1])), expected)


# Names as labels ------------------------------------------------------------------------------------------------------

ANIMALS = ("cat", "dog")


@pytest.mark.parametrize("kind", [list, np.array, lambda names: np.array(names, dtype=object)])
def test_names_of_classes_are_labels(kind):
    part = Predictions([[2, 1], [1, 2], [3, 0]], kind(["dog", "cat", "-1"]), class_names=ANIMALS)
    assert part.y.tolist() == [1, 0, NO_CLASS]


@pytest.mark.parametrize("no_class", ["bus", ["car", "bus"]])
def test_names_of_no_class(no_class):
    part = Predictions([[2, 1], [1, 2]], ["bus", "dog"], class_names=ANIMALS, no_class=no_class)
    assert part.y.tolist() == [NO_CLASS, 1]


@pytest.mark.parametrize(
    ("y", "names", "expected"),
    [
        (["dog", "bus"], ANIMALS, "one of the classes cat, dog; got 'bus' in row 1"),
        (["dog", "cat"], None, "Name the classes in order with class_names"),
        ([True, False], None, "not whether the prediction is right"),
        ([1.0, 0.0], None, r"give np.asarray\(y\).astype"),
        (["dog", None], ANIMALS, "a class in every row; got nothing in row 1"),
        (["dog"], ANIMALS, "one label for each of the 2 rows"),
    ],
)
def test_labels_that_are_no_names_are_one_clear_sentence(y, names, expected):
    with pytest.raises(InvalidInputError, match=expected):
        Predictions([[2, 1], [1, 2]], y, class_names=names)


def test_a_fit_takes_names_in_both_parts():
    logits, names = np.random.default_rng(0).normal(size=(60, 2)), ["cat", "dog", "dog"] * 20
    y = [ANIMALS.index(name) for name in names]
    of_names = PlattScaling().fit(logits, names, select=(logits, names), class_names=ANIMALS)
    of_indices = PlattScaling().fit(logits, y, select=(logits, y))
    assert np.array_equal(of_names.predict_confidence(logits), of_indices.predict_confidence(logits))
    assert of_names.score(logits, names) == of_indices.score(logits, y)


@pytest.mark.usefixtures("quick_training")
@pytest.mark.parametrize("no_class", ["fox", ["fox", "bus"]])
def test_a_fit_knows_which_labels_mean_none_of_the_classes(no_class, tmp_path):
    logits, names = np.random.default_rng(0).normal(size=(120, 2)), ["cat", "dog", "fox"] * 40
    y = [{"cat": 0, "dog": 1, "fox": NO_CLASS}[name] for name in names]
    method = SimplifiedCCAC(hidden_sizes=(4,), lambda1=0, lambda2=1, random_state=0)
    first, last = slice(80), slice(80, 120)
    known = {"class_names": ANIMALS, "no_class": no_class}
    of_names = clone(method).fit(logits[first], names[first], select=(logits[last], names[last]), **known)
    of_indices = clone(method).fit(logits[first], y[first], select=(logits[last], y[last]))
    assert of_names.inputs_.no_class == tuple(np.atleast_1d(no_class))
    assert np.array_equal(of_names.predict_confidence(logits), of_indices.predict_confidence(logits))
    of_names.save(tmp_path / "fitted")
    loaded = auxcal.load(tmp_path / "fitted")
    assert loaded.score(logits, names) == of_indices.score(logits, y)
    transferred = [each.transfer(logits, truth) for each, truth in ((loaded, names), (of_indices, y))]
    assert np.array_equal(*(each.predict_confidence(logits) for each in transferred))


def test_numbers_can_mean_none_of_the_classes():
    assert Predictions([[2, 1], [1, 2]], [1, 99], no_class=99).y.tolist() == [1, NO_CLASS]
    with pytest.raises(InvalidInputError, match="no_class must be the label, or the labels"):
        Predictions([[2, 1], [1, 2]], [1, 99], no_class=[0.5])


def test_what_means_none_of_the_classes_must_be_said():
    with pytest.raises(InvalidInputError, match=r"say so with no_class=\['fox'\] \(--no-class fox\)\.$"):
        PlattScaling().fit([[2, 1], [1, 2]], ["cat", "fox"], class_names=ANIMALS)


# The DataFrames that people use ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("of_text", ["object", "category"])
def test_a_table_of_text_labels_and_probabilities(library, of_text):
    frames = pytest.importorskip(library)
    truth = np.array([*NAMES, "fox"], dtype=object)[Y]  # NO_CLASS = -1 is the last
    table = frames.DataFrame({name: PROBA[:, k] for k, name in enumerate(NAMES)} | {"truth": truth.tolist()})
    labels = table["truth"]
    if of_text == "category":
        labels = labels.astype("category") if library == "pandas" else labels.cast(frames.Categorical)
    fitted = CCACX(random_state=0).fit(table[NAMES], labels, probabilities=True, no_class="fox")
    plain = CCACX(random_state=0).fit(PROBA, Y, probabilities=True)
    assert fitted.inputs_ == LogitInputs("probabilities", tuple(NAMES), tuple(NAMES), no_class=("fox",))
    expected = plain.predict_confidence(PROBA)
    assert np.array_equal(fitted.predict_confidence(table), expected)  # columns by name, the others left alone
    assert np.array_equal(fitted.predict_confidence(table[["truth", *NAMES[::-1]]]), expected)
    assert fitted.score(table, labels) == plain.score(PROBA, Y)


@pytest.mark.parametrize("dtype", ["pandas", "pandas string", "pandas category", "polars"])
def test_a_missing_label_of_a_table_is_one_clear_sentence(dtype):
    library, *kind = dtype.split()
    frames = pytest.importorskip(library)
    table = frames.DataFrame({"cat": [2.0, 1.0], "dog": [1.0, 2.0], "truth": ["cat", None]})
    if kind:
        table["truth"] = table["truth"].astype(kind[0])
    with pytest.raises(InvalidInputError, match=r"nothing in row 1 \(1 such rows\)\. Label those rows, or leave them"):
        PlattScaling().fit(table[["cat", "dog"]], table["truth"])


# Bundles --------------------------------------------------------------------------------------------------------------


def test_a_bundle_keeps_the_kind_and_the_names(tmp_path):
    proba = Frame([[0.9, 0.1], [0.25, 0.75]], ["p_cat", "p_dog"])
    whole = Predictions(proba, [0, 1], Frame([[1.0], [2.0]], ["age"]), probabilities=True, class_names=ANIMALS)
    whole.save(tmp_path / "bundle.npz")
    read = Predictions.load(tmp_path / "bundle.npz")
    assert read.inputs == whole.inputs
    assert np.array_equal(read.logits, whole.logits)


def test_a_bundle_keeps_a_table_of_features(tmp_path):
    whole = Predictions([[2.0, 1.0], [1.0, 3.0]], [0, 1]).with_raw_table({"age": [3.0, 4.0], "breed": ["pug", "manx"]})
    whole.save(tmp_path / "bundle.npz")
    assert Predictions.load(tmp_path / "bundle.npz").inputs == whole.inputs


def test_a_bundle_of_logits_without_names_is_as_before(tmp_path):
    Predictions([[2.0, 1.0]], [0]).save(tmp_path / "bundle.npz")
    with np.load(tmp_path / "bundle.npz") as arrays:
        assert set(arrays) == {"logits", "y"}
    assert Predictions.load(tmp_path / "bundle.npz").inputs == LogitInputs("logits")


@pytest.mark.parametrize("text", ["{", "3", '{"kind": "guesses"}', '{"class_names": ["cat"]}', '{"shoe": 1}'])
def test_names_that_do_not_fit_a_bundle_are_refused(text, tmp_path):
    np.savez(tmp_path / "bundle.npz", logits=[[2.0, 1.0]], y=[0], inputs=text)
    with pytest.raises(AuxcalError, match=r"bundle\.npz"):
        Predictions.load(tmp_path / "bundle.npz")


def test_the_hint_for_probabilities_of_zero_gives_a_better_fit():
    """Classes that were not returned count as 1e-12, and the temperature is chosen for them."""
    rng = np.random.default_rng(0)
    y = rng.integers(20, size=2000)
    logits = rng.normal(size=(2000, 20))
    logits[np.arange(2000), y] += 2
    proba = np.exp(2 * logits)
    proba[proba < np.sort(proba, axis=1)[:, [-3]]] = 0
    proba /= proba.sum(axis=1, keepdims=True)
    with pytest.warns(
        InputWarning, match=r"85\.0 % of the probabilities are 0.*floor_logits\(proba, probabilities=True\)"
    ):
        clipped = TemperatureScaling().fit(proba[:500], y[:500], probabilities=True)
    floored_logits = auxcal.floor_logits(proba, probabilities=True)
    floored = TemperatureScaling().fit(floored_logits[:500], y[:500])
    correct = (proba.argmax(axis=1) == y)[500:]
    before, after = clipped.predict_confidence(proba[500:]), floored.predict_confidence(floored_logits[500:])
    assert brier(after, correct) < brier(before, correct) - 0.05


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_of_data_frames_are_logits_labels_weights_and_groups(library):
    frames = pytest.importorskip(library)
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(400, 3))
    y = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    table = frames.DataFrame({"ant": logits[:, 0], "bee": logits[:, 1], "cat": logits[:, 2]})
    names = frames.Series(np.array(["ant", "bee", "cat"])[y])
    options = {"sample_weight": frames.Series(np.ones(400)), "groups": frames.Series(np.arange(400) // 20)}
    fitted = auxcal.PlattScaling().fit(table, names, **options)
    expected = auxcal.PlattScaling().fit(logits, y).predict_confidence(logits)
    np.testing.assert_allclose(fitted.predict_confidence(table), expected, atol=1e-6)
    np.testing.assert_allclose(fitted.predict_confidence(table[["cat", "ant", "bee"]]), expected, atol=1e-6)
