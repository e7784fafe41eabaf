"""CCAC, CCAC-S and CCAC-T: the loss, the confidence, the search and the transfer."""

import numpy as np
import pytest

from auxcal import CCAC, METRICS, Predictions, SimplifiedCCAC, TemperatureScaling, evaluate
from auxcal._core.progress import reported_to
from auxcal.calibrators.auxiliary import Architecture, Recipe, forward, standardised
from auxcal.calibrators.training import (
    AdamW,
    GridNetwork,
    Objective,
    Problem,
    auxiliary_class_loss,
    train,
    train_networks,
)

QUICK = {"hidden_sizes": (8,), "lambda1": 0, "lambda2": 1, "random_state": 0}


SETTINGS = [(0.0, 1.0), (0.5, 0.4), (2.0, 1.5)]


def objective(scaled, weighted, dtype=np.float64):
    """Return the networks of three settings with two hidden layers, each moved from its start, and their rows."""
    rng = np.random.default_rng(0)
    n, k = 40, 4
    logits, w = rng.normal(size=(n, k), scale=3), rng.integers(k + 1, size=n)
    weight = rng.random(n) if weighted else None
    problem = Problem(logits, w, logits if scaled else None, weight)
    start = GridNetwork.initialised((k, 6, 5, 1 if scaled else k + 1), len(SETTINGS), rng)
    networks = Objective(problem, SETTINGS, start, 2.0 if scaled else None, dtype)
    networks.theta += rng.normal(size=networks.theta.size, scale=0.1).astype(dtype)
    return networks, problem, rng.permutation(n)[:30]


ALL_FORMS = pytest.mark.parametrize(
    ("scaled", "weighted"), [(False, False), (False, True), (True, False), (True, True)]
)


@pytest.mark.needs("torch")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@ALL_FORMS
def test_loss_and_gradient_are_those_of_autograd(scaled, weighted, dtype):
    import torch

    networks, problem, rows = objective(scaled, weighted, dtype)
    x, w = torch.tensor(problem.inputs[rows]), torch.tensor(problem.w[rows])
    theta = torch.tensor(networks.theta.astype(np.float64), requires_grad=True)
    h, used = x.T, 0
    for depth, layer in enumerate(networks.layers):
        part = theta[used : used + layer.size].reshape(layer.shape)
        used += layer.size
        h = (torch.relu(h) if depth else h).expand(len(layer), -1, -1)
        h = part[:, :, :-1] @ h + part[:, :, -1:]
    if scaled:
        z = torch.tensor(problem.logits[rows]).T / 2.0
        h = torch.cat([z * theta[used:].exp()[:, None, None], h], dim=1)
    log_mu = torch.log_softmax(h, dim=1)
    lambda1, lambda2 = torch.tensor(SETTINGS, dtype=torch.float64).T[:, :, None]
    right = -torch.gather(log_mu, 1, w.expand(len(h), 1, -1))[:, 0] - lambda1 * torch.logsumexp(log_mu[:, :-1], dim=1)
    loss = torch.where(w == 4, -lambda2 * log_mu[:, -1], right)
    if weighted:
        loss = loss * torch.tensor(problem.sample_weight / problem.sample_weight.mean())[rows]
    loss = loss.mean(dim=1)
    loss.sum().backward()
    networks.differentiate(rows)
    eps = 20 * np.finfo(dtype).eps
    assert networks.loss(rows) == pytest.approx(loss.detach().numpy(), rel=eps)
    assert networks.gradient == pytest.approx(theta.grad.numpy(), abs=eps)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("scaled", [False, True])
def test_loss_and_gradient_stay_exact_where_one_class_is_certain(scaled, sign):
    """The networks see 1, times ±1000 for the auxiliary class; both labels, one after the other."""
    layer = np.zeros((1, 1 if scaled else 3, 2), np.float32)
    layer[0, -1, 0] = sign * 1000
    problem = Problem(np.ones((2, 1), np.float32), np.array([0, 2]), np.zeros((2, 2)) if scaled else None)
    networks = Objective(problem, [(1.0, 0.5)], GridNetwork([layer]), 1.0 if scaled else None)
    for row, (loss, slope) in enumerate([(2 * 1000, 2), (0, 0)] if sign > 0 else [(np.log(2), 0), (500, -0.5)]):
        with np.errstate(over="ignore", divide="ignore"):
            networks.differentiate(np.array([row]))
            (found,) = networks.loss(np.array([row]))
        assert found == pytest.approx(loss, rel=1e-3, abs=1e-6)
        assert np.isfinite(networks.gradient).all()
        last = networks.gradient[: layer.size].reshape(layer.shape)[0, -1]
        assert last == pytest.approx([slope, slope])


def test_a_grid_trains_every_network_as_if_it_were_alone():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3)).astype(np.float32)
    problem = Problem(x, rng.integers(4, size=200))
    settings = [(0.0, 1.0), (0.5, 1.3)]
    recipe = Recipe(epochs=3, batch_size=32, learning_rate=1e-2)

    def trained(chosen):
        start = GridNetwork.initialised((3, 5, 4), len(chosen), np.random.default_rng(1))
        return train_networks(problem, chosen, start, recipe, np.random.default_rng(2))

    together = trained(settings)
    for setting, network in zip(settings, together, strict=True):
        (alone,) = trained([setting])
        for ours, expected in zip(network.weights, alone.weights, strict=True):
            assert ours == pytest.approx(expected, abs=1e-5)
    assert not np.allclose(together[0].weights[0], together[1].weights[0])


class Bowl:
    """Two networks of one number each, whose loss has its least at 1 and at −2."""

    def __init__(self):
        self.theta, self.gradient = np.zeros(2), np.zeros(2)
        self.layers = [self.theta.reshape(2, 1, 1)]

    def differentiate(self, rows):
        self.gradient[:] = 2 * (self.theta - [1, -2])


def test_the_loop_finds_the_least_of_a_convex_loss():
    bowl = Bowl()
    recipe = Recipe(epochs=1, batch_size=10, learning_rate=0.1, least_steps=400, one_cycle=True)
    train(bowl, 40, recipe, np.random.default_rng(0))
    assert bowl.theta == pytest.approx([1, -2], abs=1e-3)


@pytest.mark.needs("torch")
def test_a_step_is_that_of_adamw_in_torch():
    import torch

    rng, bowl = np.random.default_rng(0), Bowl()
    expected = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    ours, theirs = AdamW(bowl, 0.3), torch.optim.AdamW([expected], weight_decay=0.3)
    for rate in (0.1, 0.05, 0.2, 0.01):
        slope = rng.normal(size=2)
        theirs.param_groups[0]["lr"], expected.grad, bowl.gradient[:] = rate, torch.tensor(slope), slope
        theirs.step()
        ours.step(rate)
    assert bowl.theta == pytest.approx(expected.detach().numpy(), rel=1e-12)


def test_the_network_that_scores_is_the_trained_one():
    networks, problem, rows = objective(scaled=False, weighted=False)
    layers = GridNetwork(networks.layers)
    for g in range(len(SETTINGS)):
        outputs = forward(*layers.arrays(g), problem.inputs[rows]).T[None]
        loss = auxiliary_class_loss(outputs, problem.w[rows], *np.array(SETTINGS[g])[:, None, None])
        assert loss == pytest.approx(networks.loss(rows)[g : g + 1])


def test_folding_the_standardisation_away_changes_no_output():
    rng = np.random.default_rng(0)
    raw = rng.normal(size=(100, 4)) * [1, 10, 100, 0] + [0, 5, -300, 2]
    x = standardised(raw)
    weights, biases = GridNetwork.initialised((4, 6, 1), 1, rng).arrays(0)
    folded = forward(*x.fold(weights, biases), raw.astype(np.float32))
    assert folded == pytest.approx(forward(weights, biases, x.values), abs=1e-4)
    back = x.unfold(*(layers[0] for layers in x.fold(weights, biases)))
    assert back[0][:3] == pytest.approx(weights[0][:3], abs=1e-5)


def test_ccac_learns_what_no_temperature_can(shifted):
    fit, select, test = shifted.split(2800, 400, 800, random_state=0)
    scores = {}
    for calibrator in (TemperatureScaling(), CCAC(random_state=0), SimplifiedCCAC(random_state=0)):
        calibrator.fit(fit.logits, fit.y, select=(select.logits, select.y))
        scores[calibrator.abbreviation] = evaluate(calibrator.predict_confidence(test.logits), test.correct)
    for name in ("CCAC", "CCAC-S"):
        assert scores[name]["auroc"] > scores["TS"]["auroc"] + 0.05
        assert scores[name]["brier"] < scores["TS"]["brier"] - 0.05
        assert scores[name]["ece"] < 2 * scores[name]["ece_floor_p95"]


@pytest.mark.parametrize("select_by", ["ece", "brier", "nll"])
def test_the_search_keeps_every_candidate_and_takes_the_best(shifted, select_by, quick_training):
    fit, select = shifted.split(1000, 500, random_state=0)
    calibrator = CCAC((8,), lambda1=(0, 1), lambda2=(0.5, 1, 2), select_by=select_by, random_state=0)
    calibrator.fit(fit.logits, fit.y, select=(select.logits, select.y))
    candidates = calibrator.candidates_
    best = int(candidates["score"].argmin())
    assert len(candidates["score"]) == 2 * 3 * 2
    assert (calibrator.lambda1_, calibrator.lambda2_) == (candidates["lambda1"][best], candidates["lambda2"][best])
    assert calibrator.mean_ == candidates["mean"][best]
    confidence = calibrator.predict_confidence(select.logits)
    assert METRICS[select_by].function(confidence, select.correct) == candidates["score"][best]


def test_a_number_is_fixed_and_a_sequence_is_searched(shifted, quick_training):
    fit = shifted.take(slice(0, 500))
    calibrator = CCAC((4,), lambda1=0.3, lambda2=1.1, mean="right", random_state=0).fit(fit.logits, fit.y)
    assert (calibrator.lambda1_, calibrator.lambda2_, calibrator.mean_) == (0.3, 1.1, "right")
    assert np.isnan(calibrator.candidates_["score"]).all()  # nothing was set aside, so nothing was scored


@pytest.mark.parametrize(
    ("kind", "n_classes", "expected"),
    [
        (CCAC, 10, Architecture((50, 20), 1000, 1e-3)),
        (CCAC, 100, Architecture((100,), 1000, 1e-3)),
        (CCAC, 18, Architecture((20,), 2000, 1e-4)),
        (CCAC, 8, Architecture((10, 10), 1500, 2e-3)),
        (SimplifiedCCAC, 10, Architecture((50, 20), 1000, 1e-3)),
        (SimplifiedCCAC, 100, Architecture((100,), 1000, 1e-3)),
        (SimplifiedCCAC, 18, Architecture((20,), 1000, 1e-3)),
        (SimplifiedCCAC, 8, Architecture((20,), 1500, 5e-3)),
        (SimplifiedCCAC, 1000, Architecture((), 1000, 1e-4)),
    ],
)
def test_the_paper_recipe_is_the_papers(kind, n_classes, expected):
    calibrator = kind(recipe="paper")
    assert calibrator._architecture(n_classes) == expected
    recipe = calibrator._recipe(n_classes)
    assert (recipe.epochs, recipe.batch_size, recipe.learning_rate) == (expected.epochs, 256, expected.learning_rate)
    assert not recipe.one_cycle
    assert recipe.weight_decay == 0


def test_the_paper_recipe_trains(shifted):
    fit = shifted.take(slice(0, 32))  # a batch of the paper
    calibrator = CCAC((4,), lambda1=0, lambda2=1, mean="wrong", recipe="paper", random_state=0).fit(fit.logits, fit.y)
    assert calibrator.predict_confidence(fit.logits).std() > 0.1


def test_ccac_s_without_a_hidden_layer_is_linear_in_the_logits(shifted, quick_training):
    calibrator = SimplifiedCCAC((), lambda1=0, lambda2=1, random_state=0).fit(shifted.logits, shifted.y)
    z = shifted.logits.astype(np.float32)
    mu = calibrator.predict_proba(z)
    auxiliary = np.log(mu[:, -1]) - np.log(mu[:, 0]) + z[:, 0] / calibrator.temperature_
    assert auxiliary == pytest.approx((z @ calibrator.weights_[0] + calibrator.biases_[0])[:, 0], abs=1e-3)


@pytest.fixture(scope="module")
def first_shift(shifted):
    return SimplifiedCCAC((8, 6), lambda1=(0, 0.5), lambda2=(0.7, 1, 1.5), random_state=0).fit(
        shifted.logits, shifted.y
    )


@pytest.fixture(scope="module")
def second_shift(shifted):
    """The same classifier where it is wrong more often, and rows of no class look otherwise."""
    rng = np.random.default_rng(5)
    y = np.where(rng.random(len(shifted)) < 0.5, (shifted.y + 1) % 4, shifted.y)
    return Predictions(shifted.logits + np.array([0.5, 0, 0, 0]), y)


def test_the_transfer_moves_exactly_the_temperature_and_the_last_layer(first_shift, second_shift):
    here = first_shift.transfer(second_shift.logits[:320], second_shift.y[:320])
    for before, after in zip(first_shift.weights_[:-1], here.weights_[:-1], strict=True):
        assert np.array_equal(before, after)
    for before, after in zip(first_shift.biases_[:-1], here.biases_[:-1], strict=True):
        assert np.array_equal(before, after)
    assert not np.array_equal(first_shift.weights_[-1], here.weights_[-1])
    assert not np.array_equal(first_shift.biases_[-1], here.biases_[-1])
    assert first_shift.temperature_ != here.temperature_
    assert here.weights_[-1].size + here.biases_[-1].size + 1 == 6 + 2  # K + 2 where the last hidden layer has K nodes


def test_the_transfer_leaves_the_first_one_as_it_was(first_shift, second_shift, shifted):
    before = first_shift.predict_confidence(shifted.logits)
    first_shift.transfer(second_shift.logits[:320], second_shift.y[:320])
    assert np.array_equal(first_shift.predict_confidence(shifted.logits), before)


def test_the_transfer_helps_where_the_first_one_is_off(first_shift, second_shift):
    fit, select, test = second_shift.split(320, 200, 2000, random_state=0)
    here = first_shift.transfer(fit.logits, fit.y, select=(select.logits, select.y))
    before = evaluate(first_shift.predict_confidence(test.logits), test.correct)
    after = evaluate(here.predict_confidence(test.logits), test.correct)
    assert after["brier"] < before["brier"] - 0.01
    assert after["ece"] < before["ece"] - 0.02


def test_the_transfer_chooses_anew_on_its_own_select_part(first_shift, second_shift):
    fit, select = second_shift.split(320, 200, random_state=0)
    here = first_shift.transfer(fit.logits, fit.y, select=(select.logits, select.y))
    best = here.candidates_["score"].min()
    assert METRICS["ece"].function(here.predict_confidence(select.logits), select.correct) == best
    assert len(here.candidates_["score"]) == 2 * 3 * 2


def test_a_transferred_one_can_be_transferred_again_and_saved(first_shift, second_shift, tmp_path):
    import auxcal

    here = first_shift.transfer(second_shift.logits[:300], second_shift.y[:300])
    there = here.transfer(second_shift.logits[300:600], second_shift.y[300:600])
    there.save(tmp_path / "there.safetensors")
    loaded = auxcal.load(tmp_path / "there.safetensors")
    assert np.array_equal(loaded.predict_confidence(second_shift.logits), there.predict_confidence(second_shift.logits))


def test_a_training_tells_how_far_it_has_got_to_whoever_asks(calibrated, quick_training):
    shares = []
    with reported_to(shares.append):
        CCAC(**QUICK).fit(calibrated.logits, calibrated.y)
    assert shares == sorted(shares)
    assert 0 < shares[0] < shares[-1] == 1
