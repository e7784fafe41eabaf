"""Numbers and names as people read them."""

import math
from pathlib import Path

import pytest

from auxcal._core import text
from auxcal._core.deferred_warnings import collect_warnings, warn
from auxcal._core.files import check_regular
from auxcal._core.labels import as_no_class, is_missing

METHODS = {"temperature": "TS"}


@pytest.mark.parametrize(
    ("function", "given", "written"),
    [
        (text.percent, (0.0169,), "1.7 %"),
        (text.percent, (0.5, 0), "50 %"),
        (text.whole_percent, (0.714,), "71 %"),
        (text.whole_percent, (0.9998,), "over 99 %"),
        (text.whole_percent, (0.0001,), "under 1 %"),
        (text.whole_percent, (1.0,), "100 %"),
        (text.write_score, ("ece", 0.0169), "1.7 %"),
        (text.write_score, ("auroc", 0.9476), "0.948"),
        (text.write_score, ("excess_aurc", -1e-9), "0.000"),
        (text.write_score, ("auroc", math.nan), "–"),
        (text.write_seconds, (0.004,), "0.0 s"),
        (text.write_seconds, (300,), "300 s"),
        (text.visible, ("\x1b[31mred\x1b[0m.csv",), "\\x1b[31mred\\x1b[0m.csv"),
        (text.first_line, (type("Undocumented", (dict,), {}), "UD"), "UD"),
        (text.did_you_mean, ("Lable", ["id", "label"]), " (did you mean 'label'?)"),
        (text.did_you_mean, ("x", ["id", "label"]), ""),
        (text.one_of, ("ts", METHODS, "the method"), "temperature"),
        (text.one_of, ("Temperature", METHODS, "the method"), "temperature"),
    ],
)
def test_what_is_written(function, given, written):
    assert function(*given) == written


def test_json_has_none_in_place_of_nan():
    assert text.without_nan({"ece": 0.1, "auroc": [math.nan, 1]}) == {"ece": 0.1, "auroc": [None, 1]}


def test_a_card_is_html():
    assert "a &lt; b" in text.card("a < b", "")


def test_labels_that_mean_none_and_labels_that_are_missing():
    assert (as_no_class("fox"), as_no_class(["fox", 99]), as_no_class(None)) == (("fox",), ("fox", "99"), ())
    assert (is_missing(None), is_missing(math.nan), is_missing("NA")) == (True, True, False)


def test_warnings_are_collected_and_not_given():
    with collect_warnings() as kept:
        warn("few rows", UserWarning)
    assert repr(kept) == "[UserWarning('few rows')]"


def test_a_file_that_is_not_there_is_one_sentence():
    with pytest.raises(FileNotFoundError, match=r"^nowhere.csv: there is no such file. Check the name"):
        check_regular(Path("nowhere.csv"))
