"""CCAC-S: a temperature for the K logits, a network for the auxiliary one; and its transfer, CCAC-T."""

from __future__ import annotations

from typing import Self

import numpy as np

from auxcal._core.arrays import as_rng
from auxcal.calibrators.auxiliary import (
    CHOSEN,
    TRANSFER,
    Architecture,
    AuxiliaryClassCalibrator,
    Network,
    Recipe,
    Setting,
    forward,
    standardised,
)
from auxcal.calibrators.transferable import Transferable
from auxcal.predictions import Predictions


class SimplifiedCCAC(AuxiliaryClassCalibrator, Transferable):
    """CCAC-S: a temperature T for the K logits and a small network for the auxiliary one.

    μ = softmax([z / T, f(z)]), where the network f has one output. Loss, confidence and search are those of `CCAC`.
    `transfer` (CCAC-T) adapts a fitted one to another shift with a few hundred labels: it retrains only the temperature
    and the last layer, and selects λ1, λ2 and the mean again.

    Parameters
    ----------
    hidden_sizes : sequence of int, optional
        The hidden layers of the network; `()` for none. By default the paper's for the nearest number of classes:
        (20,) for 8, (50, 20) for 10, (20,) for 18, (100,) for 100 and () for 1000.
    lambda1, lambda2, mean, select_by, recipe, random_state
        As for `CCAC`.

    Attributes
    ----------
    temperature_ : float
        T.
    weights_, biases_, lambda1_, lambda2_, mean_, candidates_
        As for `CCAC`.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal import SimplifiedCCAC
    >>> rng = np.random.default_rng(0)
    >>> logits = rng.normal(size=(2000, 3), scale=3)
    >>> y = (logits / 2 + rng.gumbel(size=logits.shape)).argmax(axis=1)
    >>> calibrator = SimplifiedCCAC(lambda1=0, lambda2=1, random_state=0).fit(logits, y)
    >>> calibrator.predict_proba(logits).shape
    (2000, 4)
    >>> here = calibrator.transfer(logits[:300] + [0, 0, 1], y[:300])
    >>> here.temperature_ != calibrator.temperature_
    True
    """

    abbreviation = "CCAC-S"
    reference = "Shao et al., 2020"
    learned = CHOSEN | {"weights_": None, "biases_": None, "temperature_": ()}
    uses_weights = True
    scales_logits = True
    paper = {  # noqa: RUF012
        8: Architecture((20,), 1500, 5e-3),
        10: Architecture((50, 20), 1000, 1e-3),
        18: Architecture((20,), 1000, 1e-3),
        100: Architecture((100,), 1000, 1e-3),
        1000: Architecture((), 1000, 1e-4),
    }

    def _transfer(self, source: Self, data: Predictions, select: Predictions | None) -> str | None:
        """Retrain the temperature and the last layer, and choose λ1, λ2 and the mean again (CCAC-T).

        The other layers are frozen. Without hidden layers, the last layer is the whole network.
        """
        settings = self._settings()
        recipe = TRANSFER if self.recipe == "fast" else self._recipe(data.n_classes)
        trained = _retrain_last_layer(source._network(), data, settings, recipe, self.random_state)
        self._choose(settings, trained, select)
        return None


def _retrain_last_layer(
    network: Network, data: Predictions, settings: list[Setting], recipe: Recipe, random_state: int | None
) -> list[Network]:
    """Train the temperature and the last layer on the output of the frozen layers."""
    from auxcal.calibrators.training import GridNetwork, Problem, train_networks

    z = data.logits.astype(np.float32, copy=False)
    frozen_weights, frozen_biases = network.weights[:-1], network.biases[:-1]
    hidden = np.maximum(forward(frozen_weights, frozen_biases, z), 0) if frozen_weights else z
    x = standardised(hidden, data.sample_weight)
    start = GridNetwork.copied(*x.unfold(network.weights[-1], network.biases[-1]), len(settings))
    rng = as_rng(random_state)
    problem = Problem(x.values, data.w, z, data.sample_weight)
    trained = train_networks(problem, settings, start, recipe, rng, network.temperature)
    networks = []
    for last in trained:
        (weight,), (bias,) = x.fold(last.weights, last.biases)
        networks.append(Network((*frozen_weights, weight), (*frozen_biases, bias), last.temperature))
    return networks
