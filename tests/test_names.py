"""Names decide which column is which class; positions do only where nothing has a name, and never a mixture of both."""

import json

import numpy as np
import pytest

import auxcal
from auxcal import NO_CLASS, Dirichlet, InputWarning, InvalidInputError, Predictions, TemperatureScaling, VectorScaling

NAMES = ["cat", "dog", "bird"]
TURNED, ORDER = ["bird", "cat", "dog"], [2, 0, 1]
RNG = np.random.default_rng(0)
LOGITS = RNG.normal(size=(300, 3), scale=2)
Y = (LOGITS / 2 + RNG.gumbel(size=LOGITS.shape)).argmax(axis=1)
Y[::10] = NO_CLASS


class Frame:
    """The least that data frames have in common: named columns, chosen by a list of names."""

    def __init__(self, array, names):
        self.array, self.columns = np.asarray(array), list(names)

    def __array__(self, dtype=None, copy=None):
        return self.array if dtype is None else self.array.astype(dtype)

    def __getitem__(self, names):
        return Frame(self.array[:, [self.columns.index(name) for name in names]], names)


def of_pandas(array, names):
    return pytest.importorskip("pandas").DataFrame(array, columns=list(names))


def of_polars(array, names):
    return pytest.importorskip("polars").DataFrame(array, schema=list(names))


def arrow_table(array, names):
    return pytest.importorskip("pyarrow").table(list(array.T), names=list(names))


def record_batch(array, names):
    return pytest.importorskip("pyarrow").record_batch([np.ascontiguousarray(each) for each in array.T], list(names))


def of_decimals(array, names):
    pa, decimal = pytest.importorskip("pyarrow"), pytest.importorskip("decimal")
    exact = [[decimal.Decimal(f"{value:.17f}") for value in column] for column in array.T]
    return pa.table([pa.array(column, pa.decimal128(30, 17)) for column in exact], names=list(names))


TABLES = [Frame, of_pandas, of_polars, arrow_table, record_batch, of_decimals]


@pytest.fixture(scope="module")
def fitted():
    return VectorScaling().fit(Frame(LOGITS, NAMES), Y)


@pytest.mark.parametrize("table", TABLES)
class TestTables:
    def test_columns_in_another_order_give_the_same(self, fitted, table):
        found = fitted.predict_proba(table(LOGITS[:, ORDER], TURNED))
        assert np.allclose(found, fitted.predict_proba(LOGITS), atol=1e-6)

    def test_the_names_of_a_fit_are_remembered(self, table):
        assert VectorScaling().fit(table(LOGITS, NAMES), Y).inputs_.column_names == tuple(NAMES)

    def test_the_columns_name_the_classes_of_the_labels(self, table):
        labels = [(*NAMES, "-1")[k] for k in Y]
        assert Predictions(table(LOGITS[:, ORDER], TURNED), labels).accuracy == Predictions(LOGITS, Y).accuracy

    def test_a_column_that_is_missing_is_an_error(self, fitted, table):
        with pytest.raises(InvalidInputError, match="there is no 'cat'"):
            fitted.predict_confidence(table(LOGITS[:, ORDER], ["bird", "fish", "dog"]))


class TestNumbersAsNames:
    @pytest.mark.parametrize("table", [Frame, of_pandas])
    @pytest.mark.parametrize("kind", [int, np.int64])
    def test_the_columns_of_a_frame_without_names_know_their_place(self, table, kind):
        fitted = VectorScaling().fit(LOGITS, Y)
        turned = table(LOGITS[:, ORDER], map(kind, ORDER))
        assert np.array_equal(fitted.predict_proba(turned), fitted.predict_proba(LOGITS))

    @pytest.mark.parametrize("table", [Frame, of_pandas])
    def test_a_fit_on_numbered_columns_in_another_order_takes_later_ones_by_their_numbers(self, table):
        fitted, plain = VectorScaling().fit(table(LOGITS[:, ORDER], ORDER), Y), VectorScaling().fit(LOGITS, Y)
        assert fitted.inputs_.column_names == ("2", "0", "1")
        rows = table(LOGITS, range(3))
        assert np.allclose(fitted.predict_proba(rows), plain.predict_proba(LOGITS)[:, ORDER], atol=1e-5)

    @pytest.mark.parametrize("table", TABLES)
    def test_numbered_columns_are_in_the_order_of_their_numbers(self, table):
        """As text is sorted, logit_10 comes before logit_2."""
        rng = np.random.default_rng(0)
        logits = rng.normal(size=(300, 11), scale=2)
        y = (logits / 2 + rng.gumbel(size=logits.shape)).argmax(axis=1)
        as_text = sorted(range(11), key=str)
        turned = table(logits[:, as_text], [f"logit_{place}" for place in as_text])
        for names in (None, [f"class {place}" for place in range(11)]):
            fitted = TemperatureScaling().fit(logits, y, class_names=names)
            assert np.allclose(fitted.predict_proba(turned), fitted.predict_proba(logits), atol=1e-6)
        with pytest.raises(InvalidInputError, match=r"in the order of their numbers.*; got logit_0, logit_1, logit_10"):
            Predictions(turned, y)
        named = [f"class {place}" for place in as_text]
        assert np.allclose(Predictions(turned, y, class_names=named).logits, logits[:, as_text])

    def test_several_levels_of_names_are_one_name(self):
        pd = pytest.importorskip("pandas")
        frame = pd.DataFrame(LOGITS, columns=pd.MultiIndex.from_product([["logit"], NAMES]))
        fitted = VectorScaling().fit(frame, Y)
        assert np.array_equal(fitted.predict_proba(frame.iloc[:, ORDER]), fitted.predict_proba(frame))

    def test_a_name_that_is_there_twice_is_refused(self, fitted):
        for use in (fitted.predict_confidence, lambda rows: VectorScaling().fit(rows, Y)):
            with pytest.raises(InvalidInputError, match=r"a name of its own.*got 'cat' more than once"):
                use(Frame(LOGITS, ["cat", "cat", "dog"]))

    def test_the_names_of_classes_order_the_columns_of_a_later_table(self):
        fitted = VectorScaling().fit(LOGITS, Y, class_names=NAMES)
        turned = Frame(LOGITS[:, ORDER], TURNED)
        assert np.array_equal(fitted.predict_proba(turned), fitted.predict_proba(LOGITS))

    def test_class_names_that_contradict_the_columns_are_refused(self):
        with pytest.raises(InvalidInputError, match="in the order of the columns, bird, cat, dog; got cat, dog, bird"):
            VectorScaling().fit(Frame(LOGITS[:, ORDER], TURNED), Y, class_names=NAMES)


class TestNumbersAsLabels:
    """Where a class is called by a number, every number in `y` is a name, in Python as on the command line."""

    @pytest.mark.parametrize("kind", [np.int64, np.uint8, np.float64, str, object])
    def test_numbers_are_names_where_a_class_is_called_by_one(self, kind):
        part = Predictions(Frame(LOGITS[:4, ORDER], ["2", "0", "1"]), np.array([2, 0, 1, 1]).astype(kind))
        assert part.y.tolist() == [0, 1, 2, 2]

    def test_numbers_are_the_same_however_they_are_written(self):
        for names in ([1.0, 2.0, 3.0], ["1.0", "2.0", "3.0"], ["01", "02", "03"]):
            for y in ([1, 3, 2], [1.0, 3.0, 2.0]):
                assert Predictions(Frame(LOGITS[:3], names), y).y.tolist() == [0, 2, 1]
        assert Predictions(LOGITS[:3, :2], [1, 1, 1], class_names=["01", "1"]).y.tolist() == [1, 1, 1]

    @pytest.mark.parametrize("names", [["cat", "dog", "bird"], ["2", "0", "1"], ["-1", "0", "1"], ["1", "2", "3"]])
    @pytest.mark.parametrize("ending", ["csv", "parquet"])
    def test_predictions_are_called_as_the_labels_of_the_fit_are(self, names, ending, tmp_path):
        pq, fitted = pytest.importorskip("pyarrow.parquet"), VectorScaling()
        known = np.where(Y == NO_CLASS, 0, Y)
        labels = np.array([int(name) if names[0] != "cat" else name for name in names])[known]
        fitted.fit(Frame(LOGITS, names), labels)
        assert fitted.inputs_.class_names == tuple(names)
        pq.write_table(arrow_table(LOGITS, names).append_column("y", [labels]), tmp_path / "rows.parquet")
        auxcal.tables.score_table(fitted, tmp_path / "rows.parquet", out=tmp_path / f"scored.{ending}")
        with pytest.warns(InputWarning, match="were in the fit"):
            scored = auxcal.tables.read_scored(tmp_path / f"scored.{ending}")
        assert scored.correct.mean() == Predictions(LOGITS, known).accuracy

    @pytest.mark.parametrize("names", [["1", "2", "3"], ["-1", "0", "1"], ["01", "02", "03"]])
    def test_numbers_of_a_file_are_the_same_however_they_are_written(self, names, tmp_path, call, capsys):
        """Where labels are missing, pandas has floats, and writes 2 as 2.0."""
        known = np.where(Y == NO_CLASS, 0, Y)
        rows = [f"{a},{b},{c},{float(names[k])}" for (a, b, c), k in zip(LOGITS.tolist(), known, strict=True)]
        path, fitted, out = tmp_path / "rows.csv", tmp_path / "c.safetensors", tmp_path / "scored.csv"
        path.write_text("\n".join([f"{','.join(names)},y", *rows]))
        assert Predictions(Frame(LOGITS, names), [str(float(names[k])) for k in known]).y.tolist() == known.tolist()
        assert call("fit", path, f"--columns={','.join(names)}", "--method", "platt", "-o", fitted) == 0
        assert call("score", fitted, path, "-o", out) == 0
        for option in ([], ["--calibrator", fitted]):
            capsys.readouterr()
            assert call("evaluate", out, "--json", "--resamples", 0, *option) == 0
            assert json.loads(capsys.readouterr().out)["accuracy"] == Predictions(LOGITS, known).accuracy

    def test_columns_do_not_name_classes_that_labels_call_by_their_index(self):
        assert VectorScaling().fit(Frame(LOGITS, NAMES), Y).inputs_.class_names is None
        assert VectorScaling().fit(Frame(LOGITS, NAMES), Y.astype(str)).inputs_.class_names is None

    @pytest.mark.parametrize("kind", [int, str])
    def test_minus_one_can_be_a_class(self, kind):
        y = np.array([-1, 0, 1, -1]).astype(kind)
        assert Predictions(LOGITS[:4], y, class_names=["-1", "0", "1"]).y.tolist() == [0, 1, 2, 0]
        assert Predictions(LOGITS[:4], [-1, 0, 1, -1]).y.tolist() == [NO_CLASS, 0, 1, NO_CLASS]

    def test_stars_from_one_to_three(self):
        assert Predictions(LOGITS[:3], [1, 2, 3], class_names=["1", "2", "3"]).y.tolist() == [0, 1, 2]
        with pytest.raises(InvalidInputError, match="one of the classes 1, 2, 3; got '0' in row 0"):
            Predictions(LOGITS[:3], [0, 1, 2], class_names=["1", "2", "3"])

    def test_a_number_is_a_name_beside_words_too(self):
        assert Predictions(LOGITS[:3], [1, 2, -1], class_names=["1", "2", "other"]).y.tolist() == [0, 1, NO_CLASS]

    def test_elsewhere_a_number_is_an_index(self):
        assert Predictions(LOGITS[:3], [0, 2, -1], class_names=NAMES).y.tolist() == [0, 2, NO_CLASS]

    @pytest.mark.needs("tables")
    @pytest.mark.parametrize(
        ("columns", "labels"),
        [
            (["2", "0", "1"], [2, 0, 1, 1]),
            (["-1", "0", "1"], [-1, 0, 1, -1]),
            (["1", "-1", "other"], [1, -1, 1, -1]),
            (["cat", "dog", "bird"], [2, -1, 0, 1]),
        ],
    )
    def test_a_file_is_read_by_the_same_rule(self, columns, labels, tmp_path):
        path = tmp_path / "rows.csv"
        rows = [f"{a},{b},{c},{y}" for (a, b, c), y in zip(LOGITS.tolist(), labels, strict=False)]
        path.write_text("\n".join([f"{','.join(columns)},y", *rows]))
        read = auxcal.tables.read_predictions(path, columns=columns)
        assert read.y.tolist() == Predictions(Frame(LOGITS[:4], columns), labels).y.tolist()

    def test_later_labels_are_read_as_those_of_the_fit(self):
        fitted = VectorScaling().fit(Frame(LOGITS[:, ORDER], ["2", "0", "1"]), Y)
        plain = VectorScaling().fit(LOGITS, Y)
        assert fitted.score(LOGITS[:, ORDER], Y) == pytest.approx(plain.score(LOGITS, Y), abs=1e-6)

    def test_a_comparison_reads_labels_by_the_names_that_it_is_given(self):
        found = auxcal.compare(LOGITS, Y, class_names=["2", "0", "1"], methods=["platt"], bootstrap=0)
        assert found.test.accuracy < 0.5
        words = np.array([*NAMES, "-1"])[Y]
        found = auxcal.compare(LOGITS, words, class_names=NAMES, methods=["platt"], bootstrap=0)
        assert found.test.accuracy > 0.5


class TestParts:
    """Parts that are given as `Predictions` are taken by name too."""

    def parts(self):
        plain, turned = Predictions(LOGITS, Y, class_names=NAMES), np.where(Y == NO_CLASS, Y, np.argsort(ORDER)[Y])
        yield plain, Predictions(LOGITS[:, ORDER], turned, class_names=TURNED)
        yield Predictions(Frame(LOGITS, NAMES), Y), Predictions(Frame(LOGITS[:, ORDER], TURNED), turned)
        yield Predictions(Frame(LOGITS, NAMES), Y), Predictions(LOGITS[:, ORDER], turned, class_names=TURNED)

    def test_a_part_in_another_order_becomes_the_same(self):
        for fit, part in self.parts():
            found = part.in_order_of(fit.inputs, "a part")
            assert np.array_equal(found.logits, LOGITS)
            assert np.array_equal(found.y, Y)
            assert found.inputs.names == tuple(NAMES)
            assert np.array_equal(fit.joined(part).correct, np.tile(fit.correct, 2))

    def test_a_select_part(self):
        for _, part in self.parts():
            method = Dirichlet(off_diagonal=(0.1, 1.0), intercept=0.1, random_state=0)
            first, last = slice(200), np.arange(200, 300)
            found = method.fit(LOGITS[first], Y[first], part.take(last), class_names=NAMES).predict_confidence(LOGITS)
            plain = method.fit(LOGITS[first], Y[first], (LOGITS[last], Y[last]))
            assert np.array_equal(found, plain.predict_confidence(LOGITS))

    def test_labelled_rows_of_a_new_mix(self):
        kept = np.flatnonzero((Y != 0) | (RNG.random(300) < 0.3))
        for fit, part in self.parts():
            method = VectorScaling().fit(LOGITS, Y, class_names=NAMES)
            new = LOGITS[kept]
            found, wanted = (method.adapt(new, labelled=each.take(kept)) for each in (part, fit))
            assert np.array_equal(found.predict_confidence(LOGITS), wanted.predict_confidence(LOGITS))

    def test_the_test_part_of_a_comparison(self):
        first, last = np.arange(200), np.arange(200, 300)
        for fit, part in self.parts():
            found, wanted = (
                auxcal.compare(fit.take(first), test=each.take(last), methods=["vector"], bootstrap=0)
                for each in (part, fit)
            )
            assert found.best.scores == wanted.best.scores

    def test_other_names_are_refused(self):
        fit = Predictions(Frame(LOGITS, NAMES), Y)
        with pytest.raises(InvalidInputError, match=r"the test part must have the columns .*; there is no 'bird'"):
            auxcal.compare(fit, test=Predictions(Frame(LOGITS, ["cat", "dog", "fish"]), Y), methods=["platt"])

    def test_names_that_contradict_each_other_are_refused(self):
        fit = Predictions(Frame(LOGITS, "abc"), Y, class_names=NAMES)
        part = Predictions(Frame(LOGITS, "abc"), Y, class_names=TURNED)
        with pytest.raises(InvalidInputError, match="the columns and the classes must be in one order"):
            TemperatureScaling().fit(Frame(LOGITS, "abc"), Y, class_names=NAMES).adapt(LOGITS, labelled=part)
        with pytest.raises(InvalidInputError, match="in one order"):
            auxcal.compare(fit, test=part, methods=["platt"])

    def test_features_are_taken_by_name(self):
        x = RNG.normal(size=(300, 2))
        fit = Predictions(LOGITS, Y, Frame(x, ["width", "height"]))
        part = Predictions(LOGITS, Y, Frame(x[:, ::-1], ["height", "width"]))
        assert np.array_equal(part.in_order_of(fit.inputs, "a part").features, x)

    def test_signals_are_taken_by_name(self):
        table = {"verbal": RNG.random(300), "topic": RNG.choice(["law", "art"], 300)}
        fit = Predictions.from_signals(table, Y == 0)
        part = Predictions.from_signals({"topic": table["topic"], "verbal": table["verbal"]}, Y == 0)
        assert np.array_equal(part.recoded(fit).features, fit.features)


class TestPandasOwnTypes:
    """Categories and missing values of pandas."""

    def test_categories_are_names(self):
        pd = pytest.importorskip("pandas")
        labels = pd.Categorical([NAMES[max(k, 0)] for k in Y])
        frame = pd.DataFrame(LOGITS, columns=pd.CategoricalIndex(NAMES))
        assert Predictions(frame, labels).y.tolist() == np.maximum(Y, 0).tolist()
        assert Predictions(frame, pd.Series(labels)).y.tolist() == np.maximum(Y, 0).tolist()

    def test_a_missing_number_is_one_clear_sentence(self, fitted):
        pd = pytest.importorskip("pandas")
        frame = pd.DataFrame(LOGITS, columns=NAMES).astype("Float64")
        assert np.allclose(fitted.predict_proba(frame[TURNED]), fitted.predict_proba(LOGITS), atol=1e-6)
        frame.loc[3, "dog"] = pd.NA
        with pytest.raises(InvalidInputError, match=r"logits must be (numbers|finite)"):
            fitted.predict_proba(frame)

    def test_a_missing_label_is_one_clear_sentence(self):
        pd = pytest.importorskip("pandas")
        with pytest.raises(InvalidInputError, match="y must have a class in every row; got nothing in row 1"):
            Predictions(LOGITS[:3], pd.array(["cat", pd.NA, "dog"], dtype="string"), class_names=NAMES)
        with pytest.raises(InvalidInputError, match="Leave out the rows without a label"):
            Predictions(LOGITS[:3], pd.array([0, pd.NA, 1], dtype="Int64"))
