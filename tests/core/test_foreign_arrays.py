"""Decimals, pandas' NA, categoricals, Arrow tables: by name and with the right values, or an error that helps."""

from decimal import Decimal

import numpy as np
import pytest

import auxcal
from auxcal import InvalidInputError

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")

NAMES = ["cat", "dog", "fox"]
RNG = np.random.default_rng(0)
LOGITS = RNG.normal(size=(300, 3)) * 2
Y = (LOGITS / 2 + RNG.gumbel(size=LOGITS.shape)).argmax(axis=1)
NAMED = np.array(NAMES)[Y]
GROUPS = np.arange(300) // 3
FRAME = pd.DataFrame(LOGITS, columns=NAMES)
FEATURES = pd.DataFrame(RNG.normal(size=(300, 2)), columns=["width", "height"])
TABLE, FEATURE_TABLE = pa.Table.from_pandas(FRAME), pa.Table.from_pandas(FEATURES)
INTEGERS = [int(value) for value in Y]


def decimals(values):
    return np.vectorize(lambda value: Decimal(float(value)), otypes=[object])(values)


def fit(logits=FRAME, y=NAMED, **options):
    return auxcal.CCACX(random_state=0).fit(logits, y, **options)


@pytest.fixture(scope="module")
def fitted():
    return fit()


TABLES = {
    "decimals": pd.DataFrame(decimals(LOGITS), columns=NAMES),
    "nullable": FRAME.convert_dtypes(),
    "backed by Arrow": FRAME.convert_dtypes(dtype_backend="pyarrow"),
    "categories": FRAME.astype("category"),
    "Arrow table": TABLE,
    "Arrow batch": TABLE.to_batches()[0],
}


@pytest.mark.parametrize("given", TABLES.values(), ids=TABLES)
def test_tables_of_logits_go_by_name(fitted, given):
    expected = fitted.predict_confidence(FRAME)
    order = ["fox", "cat", "dog"]
    permuted = given.select(order) if hasattr(given, "select") else given[order]
    np.testing.assert_allclose(fit(given).predict_confidence(FRAME), expected, atol=1e-6)
    np.testing.assert_allclose(fitted.predict_confidence(permuted), expected, atol=1e-6)
    assert auxcal.check(fitted, permuted).verdict == auxcal.check(fitted, FRAME).verdict


@pytest.mark.parametrize(
    "given", [pd.Series(LOGITS.tolist()), pa.array(LOGITS.tolist()), pa.chunked_array([pa.array(LOGITS.tolist())])]
)
def test_a_column_of_lists_is_a_matrix(fitted, given):
    np.testing.assert_allclose(fitted.predict_confidence(given), fitted.predict_confidence(LOGITS), atol=1e-6)


LABELS = {
    "categorical": pd.Categorical(NAMED),
    "ordered": pd.Series(pd.Categorical(NAMED, categories=NAMES[::-1], ordered=True)),
    "Arrow": pa.array(NAMED),
    "chunks": pa.chunked_array([NAMED[:100], NAMED[100:]]),
    "dictionary": pa.array(NAMED).dictionary_encode(),
    "text of pandas": pd.Series(NAMED, dtype="string"),
    "integers of pandas": pd.Series(Y, dtype="Int64"),
    "integers of Arrow": pa.array(Y),
}


@pytest.mark.parametrize("given", LABELS.values(), ids=LABELS)
def test_labels_of_any_kind(fitted, given):
    np.testing.assert_allclose(fit(y=given).predict_confidence(FRAME), fitted.predict_confidence(FRAME), atol=1e-6)
    compared = [auxcal.compare(TABLE, y, methods=["platt"], random_state=0) for y in (given, NAMED)]
    assert compared[0].best.scores == compared[1].best.scores


@pytest.mark.parametrize(
    "given",
    [pd.Categorical(GROUPS), pa.array(GROUPS), pa.array(GROUPS.astype(str)).dictionary_encode(), decimals(GROUPS)],
)
def test_groups_of_any_kind(given):
    expected = fit(groups=GROUPS).predict_confidence(FRAME)
    np.testing.assert_allclose(fit(groups=given).predict_confidence(FRAME), expected, atol=1e-6)


SIDES = {
    "decimals": pd.DataFrame(decimals(FEATURES), columns=FEATURES.columns),
    "nullable": FEATURES.convert_dtypes(),
    "Arrow table": FEATURE_TABLE.select(["height", "width"]),
    "Arrow batch": FEATURE_TABLE.to_batches()[0],
    "mapping": {"height": pa.array(FEATURES.height), "width": decimals(FEATURES.width).tolist()},
}


@pytest.mark.parametrize("given", SIDES.values(), ids=SIDES)
def test_features_go_by_name(given):
    fitted = fit(features=FEATURES)
    expected = fitted.predict_confidence(FRAME, FEATURES)
    np.testing.assert_allclose(fitted.predict_confidence(FRAME, given), expected, atol=1e-6)
    again = fit(features=given)
    order = list(again.inputs_.feature_names or again.inputs_.feature_table.names)
    expected = fit(features=FEATURES[order]).predict_confidence(FRAME, FEATURES)
    np.testing.assert_allclose(again.predict_confidence(FRAME, FEATURES), expected, atol=1e-6)


def test_a_gap_of_pandas_is_a_gap():
    gaps, na = FEATURES.copy(), FEATURES.convert_dtypes()
    gaps.iloc[3, 0], na.iloc[3, 0] = np.nan, pd.NA
    expected = fit(features=gaps).predict_confidence(FRAME, gaps)
    np.testing.assert_allclose(fit(features=na).predict_confidence(FRAME, na), expected, atol=1e-6)


def with_gap(values):
    return pd.Series([pd.NA, *values[1:].tolist()], dtype="string" if values.dtype.kind == "U" else "Int64")


NA_LOGITS = FRAME.convert_dtypes()
NA_LOGITS.iloc[5, 1] = pd.NA


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"logits": NA_LOGITS}, r"logits must be finite; got nan \(NaN or inf\) at \[5, 1\]"),
        ({"logits": pa.table({"logits": LOGITS.tolist()})}, "Give its column of lists alone"),
        ({"logits": dict(FRAME)}, "logits must be an array or a table; got dict. Make a table of it first"),
        ({"y": with_gap(NAMED)}, "y must have a class in every row; got nothing in row 0"),
        ({"y": with_gap(Y)}, r"known = np.isfinite\(np.asarray\(y, float\)\)"),
        ({"y": decimals(Y)}, r"give np.asarray\(y\).astype\(int\)"),
        ({"y": decimals(Y / 2)}, "is no index"),
        ({"y": pa.table({"y": NAMED})}, r"Use np.ravel\(y\) on a column"),
        ({"groups": with_gap(GROUPS)}, "groups must be known for every row; got nan in row 0"),
    ],
)
def test_errors_say_what_to_do(arguments, words):
    with pytest.raises(InvalidInputError, match=words):
        fit(**arguments)


@pytest.mark.parametrize("y", [pd.Series([pd.NA, *INTEGERS[1:]], dtype="Int64"), pa.array([None, *INTEGERS[1:]])])
def test_the_advice_on_missing_labels_works(fitted, y):
    known = np.isfinite(np.asarray(y, float))
    assert fit(FRAME[known], np.asarray(y)[known].astype(int)).fitted_on_.n_rows == 299


def test_weights_of_decimals_count():
    expected = fit(sample_weight=np.ones(300)).predict_confidence(FRAME)
    found = fit(sample_weight=[Decimal(1)] * 300).predict_confidence(FRAME)
    np.testing.assert_allclose(found, expected, atol=1e-6)
