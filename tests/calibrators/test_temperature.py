"""Temperature scaling and the ensemble of temperatures find their optimum, wherever it is."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax
from sklearn.metrics import log_loss

from auxcal import NO_CLASS, ConvergenceWarning, EnsembleTemperatureScaling, TemperatureScaling

from .conftest import draw


def nll(logits, y, temperature):
    return -log_softmax(logits / temperature, axis=1)[np.arange(len(y)), y].mean()


@pytest.mark.parametrize("n_classes", [2, 10, 1000])
@pytest.mark.parametrize("scale", [0.01, 1, 100])
def test_a_known_temperature_is_recovered_on_any_scale(scale, n_classes):
    logits, y = draw(n=4000, n_classes=n_classes)
    found = TemperatureScaling().fit(logits * scale, y).temperature_
    assert found == pytest.approx(scale, rel=0.1)


@pytest.mark.parametrize("true_temperature", [0.2, 1, 3, 30])
def test_no_other_temperature_has_a_lower_loss(true_temperature):
    logits, y = draw()
    logits = logits * true_temperature
    best = minimize_scalar(lambda log_t: nll(logits, y, np.exp(log_t)), bounds=(-6, 8), options={"xatol": 1e-12})
    found = TemperatureScaling().fit(logits, y)
    assert found.converged_
    assert nll(logits, y, found.temperature_) <= best.fun + 1e-12
    assert found.temperature_ == pytest.approx(np.exp(best.x), rel=1e-5)


def test_rows_of_no_class_do_not_count():
    logits, y = draw()
    with_ood = np.where(np.arange(len(y)) < 1000, NO_CLASS, y)
    left_out = TemperatureScaling().fit(logits[1000:], y[1000:]).temperature_
    assert TemperatureScaling().fit(logits, with_ood).temperature_ == left_out


def test_a_shift_of_all_logits_of_a_row_changes_nothing():
    logits, y = draw()
    shifted = logits + np.linspace(-50, 50, len(y))[:, None]
    expected = TemperatureScaling().fit(logits, y).temperature_
    assert TemperatureScaling().fit(shifted, y).temperature_ == pytest.approx(expected)


@pytest.mark.parametrize(
    ("labels", "bound"),
    [(lambda z: z.argmax(axis=1), "lower bound"), (lambda z: z.argmin(axis=1), "upper bound")],
    ids=["every row correct", "every row wrong"],
)
def test_a_temperature_at_its_bound_is_reported(labels, bound):
    logits, _ = draw(n=200)
    with pytest.warns(ConvergenceWarning, match=bound):
        fitted = TemperatureScaling().fit(logits, labels(logits))
    assert not fitted.converged_


def test_the_ensemble_is_never_less_likely_than_the_temperature():
    logits, y = draw()
    rng = np.random.default_rng(0)
    y[:800] = rng.integers(4, size=800)
    temperature, ensemble = (kind().fit(2 * logits, y) for kind in (TemperatureScaling, EnsembleTemperatureScaling))
    assert log_loss(y, ensemble.predict_proba(2 * logits)) < log_loss(y, temperature.predict_proba(2 * logits)) - 1e-3
    assert ensemble.weights_.sum() == pytest.approx(1)


@pytest.mark.parametrize(("scale", "n_noisy"), [(1, 800), (5, 5)])
def test_the_ensemble_weights_are_the_optimum_of_a_mixture(scale, n_noisy):
    logits, y = draw()
    logits *= scale
    y = logits.argmax(axis=1) if scale > 1 else y  # so that all of the loss is that of the few noisy labels
    y[:n_noisy] = np.random.default_rng(0).integers(4, size=n_noisy)
    fitted = EnsembleTemperatureScaling().fit(logits, y)
    rows = np.arange(len(y))
    parts = np.stack([part[rows, y] for part in fitted._components(logits)])
    mixed = fitted.weights_ @ parts
    # At the optimum on the simplex the mean ratio is 1 for every part in use and at most 1 for the others.
    ratio = (parts / mixed).mean(axis=1)
    assert ratio[fitted.weights_ > 1e-6] == pytest.approx(1, abs=1e-4)
    assert (ratio < 1 + 1e-4).all()
