"""The numbers in the documents are those of the results that the repository makes."""

from pathlib import Path

import pytest

from auxcal.experiments import METHODS, Results

ROOT = Path(__file__).parent.parent


def readme_rows():
    lines = (ROOT / "README.md").read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if "OOD: AUROC" in line) + 2
    for line in lines[start:]:
        if not line.startswith("|"):
            return
        name, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        yield pytest.param(name.split(" (")[0], cells, id=name)


@pytest.mark.parametrize(("label", "cells"), list(readme_rows()))
def test_the_table_of_the_readme_is_that_of_the_results(label, cells):
    results = Results.read(ROOT / "docs/results/cifar10-resnet20.csv")
    (name,) = (name for name, method in METHODS.items() if method.label == label)
    expected = []
    for shift in ("OOD", "D1"):
        here = results.where(shift=shift, method=name)
        auroc, ece, brier = (here.spread(metric).mean for metric in ("auroc", "ece", "brier"))
        expected += [f"{auroc:.3f}", f"{ece:.1%}".replace("%", " %"), f"{brier:.3f}"]
    assert cells == expected
