"""The paper's numbers are those of its tables, without the misprint."""

from auxcal_paper.methods import METHODS
from auxcal_paper.paper import PAPER_ACCURACIES, PAPER_METRICS, paper_rows, paper_table, paper_tables
from auxcal_paper.suites import SUITES
from auxcal_paper.suites._suite import NOT_IN_PAPER


def test_every_row_has_the_five_metrics_but_the_misprint():
    assert len(paper_rows()) == 146
    for row in paper_rows():
        assert set(row.scores) == set(PAPER_METRICS) - {row.misprint}
        assert all(0 < score < 1 for score in row.scores.values())


def test_ece_is_a_share():
    assert paper_table("VGG16", "CIFAR-10", "OOD")["CCAC"] == {
        "auroc": 0.940,
        "aupr": 0.870,
        "p90": 0.674,
        "ece": 0.020,
        "brier": 0.087,
    }


def test_the_misprint_is_no_number():
    assert "brier" not in paper_table("ResNet-50", "CIFAR-10", "D2")["CCAC"]


def test_every_shift_of_every_suite_but_d0_has_a_table_in_the_paper():
    for suite in SUITES:
        assert suite.shifts[0] == "D0"
        assert (NOT_IN_PAPER in suite.differences["D0"]) == bool(suite.stands_for)
        for experiment in suite.stands_for:
            for shift in suite.shifts:
                assert ("CCAC-S" in paper_table(*experiment, shift)) == (shift != "D0")


def test_every_method_of_the_paper_is_ours():
    assert {row.method for row in paper_rows()} <= {method.label for method in METHODS.values()}


def test_every_table_has_an_accuracy():
    assert {experiment: tuple(found) for experiment, found in PAPER_ACCURACIES.items()} == paper_tables()
