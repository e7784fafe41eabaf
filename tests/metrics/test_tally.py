"""Tallies add up to the whole: the same metrics as of the rows, exact or within the stated bound."""

import pickle
import warnings

import numpy as np
import pytest

import auxcal
from auxcal import METRICS, FileFormatError, InvalidInputError
from auxcal.metrics import Tally, _cells

EXACT = "ece", "mce", "brier", "nll"
FLOOR = "ece_floor", "ece_floor_p95"
BOUNDED = "auroc", "aupr", "p90", "fpr95", "aurc", "excess_aurc", "ece_mass"  # of others nothing is known in cells


def rows(n, random_state=0, dtype=np.float32):
    """Give confidences that crowd near 1, some of them on the edges of bins."""
    rng = np.random.default_rng(random_state)
    confidence = 1 / (1 + np.exp(-rng.normal(2.5, 2.5, size=n)))
    confidence[::97] = rng.integers(21, size=len(confidence[::97])) / 20
    return confidence.astype(dtype), rng.random(n) < confidence**1.3


def check(tally, confidence, correct, sample_weight=None):
    found, expected = tally.evaluate(), auxcal.evaluate(confidence, correct, sample_weight=sample_weight)
    for name in EXACT:
        assert found[name] == pytest.approx(expected[name], abs=1e-12), name
    for name in FLOOR:  # where weights add up in another order, a draw can differ
        assert found[name] == pytest.approx(expected[name], abs=1e-12 if sample_weight is None else 1e-4), name
    exact = tally.cells.exact
    for name in METRICS.keys() - set(EXACT) if exact else BOUNDED:
        assert abs(found[name] - expected[name]) <= (0 if exact else found[f"{name}_error"]) + 1e-12, name
    return found


@pytest.fixture
def few_exact(monkeypatch):
    """Keep so few confidences apart that rows are counted in cells."""
    monkeypatch.setattr(_cells, "MOST_EXACT", 100)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_few_confidences_give_every_metric_of_the_rows(dtype):
    confidence, correct = rows(3000, dtype=dtype)
    parts = [Tally.of(confidence[k::7], correct[k::7]) for k in range(7)]
    whole = sum(parts)
    assert whole.n_rows == 3000
    assert check(whole, confidence, correct).keys() == auxcal.evaluate(confidence, correct).keys()


@pytest.mark.usefixtures("few_exact")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("random_state", range(5))
def test_cells_give_every_metric_within_its_bound(dtype, random_state):
    confidence, correct = rows(4000, random_state, dtype)
    parts = [Tally.of(confidence[k::3], correct[k::3]) for k in range(3)]
    found = check(parts[0] + parts[1] + parts[2], confidence, correct)
    errors = {name: found[f"{name}_error"] for name in METRICS if f"{name}_error" in found}
    assert errors.keys() == METRICS.keys() - set(EXACT)
    assert {name for name, error in errors.items() if np.isnan(error)} == METRICS.keys() - {*EXACT, *BOUNDED}
    assert 0 < errors["auroc"] < 1e-4
    assert max(errors[name] for name in BOUNDED) < 0.02


def test_many_confidences_in_batches():
    confidence, correct = rows(400_000)
    tally = sum(Tally.of(confidence[k : k + 150_000], correct[k : k + 150_000]) for k in range(0, 400_000, 150_000))
    found = check(tally, confidence, correct)
    assert found["auroc_error"] < 2e-5
    assert len(pickle.dumps(tally)) < 3e6


@pytest.mark.usefixtures("few_exact")
def test_the_order_of_the_parts_does_not_matter():
    confidence, correct = rows(1000)
    parts = [Tally.of(confidence[k::10], correct[k::10]) for k in range(10)]
    one, other = sum(parts), sum(parts[::-1])
    assert np.array_equal(one.cells.confidence, other.cells.confidence)
    assert np.array_equal(one.cells.right, other.cells.right)
    assert one.evaluate()["auroc"] == other.evaluate()["auroc"]


@pytest.mark.parametrize("limit", [100, 2**16])
def test_weights_and_groups(limit, monkeypatch):
    monkeypatch.setattr(_cells, "MOST_EXACT", limit)
    confidence, correct = rows(2000)
    rng = np.random.default_rng(3)
    weight, groups = rng.integers(3, size=2000) + rng.random(2000).round(1), rng.choice(["day", "night"], 2000)
    tallies = Tally.by_group(confidence, correct, groups, sample_weight=weight)
    assert list(tallies) == ["day", "night"]
    for group, tally in tallies.items():
        here = groups == group
        check(tally, confidence[here], correct[here], weight[here])
    check(sum(tallies.values()), confidence, correct, weight)


@pytest.mark.parametrize("limit", [100, 2**16])
def test_saved_loaded_and_pickled(limit, monkeypatch, tmp_path):
    monkeypatch.setattr(_cells, "MOST_EXACT", limit)
    tally = Tally.of(*rows(1000))
    tally.save(tmp_path / "tally.safetensors")
    copies = (
        Tally.load(tmp_path / "tally.safetensors"),
        Tally.from_bytes(tally.to_bytes()),
        pickle.loads(pickle.dumps(tally)),
    )
    for copy in copies:
        assert copy.evaluate() == pytest.approx(tally.evaluate(), rel=0, abs=0, nan_ok=True)
        assert (copy + tally).n_rows == 2000
    with pytest.raises(FileFormatError, match="expected a tally"):
        Tally.from_bytes(b"nothing")
    changed = bytearray(tally.to_bytes())
    changed[-3] ^= 1
    with pytest.raises(FileFormatError, match="digest"):
        Tally.from_bytes(bytes(changed))


def test_a_tally_of_few_rows_is_small():
    assert len(Tally.of(*rows(20)).to_bytes()) < 4000


def test_cells_are_in_order_and_hold_what_they_stand_for():
    confidence = np.unique(np.concatenate([rows(5000)[0], [0, 1e-30, 1e-9, 0.5, 1 - 6e-8, 1]]).astype(np.float32))
    for kind in (np.float32, np.float64):
        cell = _cells._cell(confidence.astype(kind))
        assert (np.diff(cell) >= 0).all()
        assert cell.min() == 0
        assert cell.max() == _cells.N_CELLS - 1
        middle = _cells._middle(cell)
        assert np.array_equal(_cells._cell(middle), cell)
        near = np.minimum(middle, 1 - middle) * 2.0**-12
        assert (np.abs(middle - confidence) <= np.maximum(near, 2.0**-30) * 1.001).all()


def test_no_rows_and_rows_of_one_kind():
    assert Tally.of([], []).n_rows == 0
    assert (Tally() + Tally.of([0.5], [True])).n_rows == 1
    assert Tally.of([0.5, 0.6], [True, False], sample_weight=None).evaluate(["brier"])["brier"] == pytest.approx(0.305)
    with pytest.raises(InvalidInputError, match="no rows"):
        Tally().evaluate()
    with pytest.raises(InvalidInputError, match="metrics must be among"):
        Tally.of([0.5], [True]).evaluate(["accuracy"])
    with pytest.raises(TypeError):
        Tally() + 1
    with pytest.warns(auxcal.UndefinedMetricWarning):
        assert np.isnan(Tally.of([0.5, 0.7], [True, True]).evaluate()["auroc"])


@pytest.mark.usefixtures("few_exact")
def test_rows_that_are_all_right_have_no_ranking_and_no_bound_of_it():
    confidence, _ = rows(2000)
    tally = Tally.of(confidence, np.ones(2000, bool))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", auxcal.UndefinedMetricWarning)
        found = tally.evaluate()
    assert np.isnan(found["auroc"])
    assert np.isnan(found["auroc_error"])
