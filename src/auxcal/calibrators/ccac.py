"""CCAC: confidence calibration with an auxiliary class."""

from auxcal.calibrators.auxiliary import CHOSEN, Architecture, AuxiliaryClassCalibrator


class CCAC(AuxiliaryClassCalibrator):
    """CCAC: a small network maps the K logits to K + 1 classes, and the last one means "misclassified".

    The network learns the label w, which is y where the prediction is correct and the auxiliary class where it is not
    (always so for `NO_CLASS`), by the loss of equation 2,

        L = − Σ_{k≤K} w_k log μ_k − λ1 (1 − w_{K+1}) log(1 − μ_{K+1}) − λ2 w_{K+1} log μ_{K+1}.

    The confidence is a geometric mean of μ_ŷ and 1 − μ_{K+1} (equation 3). All settings of λ1 and λ2 are trained at
    once, as one batched network.

    Parameters
    ----------
    hidden_sizes : sequence of int, optional
        The hidden layers of the network; `()` for none. By default the paper's for the nearest number of classes:
        (10, 10) for 8, (50, 20) for 10, (20,) for 18 and (100,) for 100 and beyond.
    lambda1 : float or sequence of float
        λ1 ≥ 0 of equation 2, which keeps correct samples away from the auxiliary class. A sequence is searched on the
        select part, a number is fixed.
    lambda2 : float or sequence of float
        λ2 ≥ 0 of equation 2, the weight of the misclassified samples; likewise.
    mean : "wrong", "right" or a sequence of them
        Which geometric mean of equation 3 gives the confidence: "wrong" is 1 − √((1 − μ_ŷ) μ_{K+1}), "right" is
        √(μ_ŷ (1 − μ_{K+1})). A sequence is searched.
    select_by : {"ece", "brier", "nll"}
        The score on the select part that the search minimises.
    recipe : {"fast", "paper"}
        How the network is trained: "paper" is Adam with the paper's epochs and learning rate; "fast" takes far fewer
        steps, with a schedule and weight decay. Both take batches of 256, which the paper leaves open: those of 32,
        Keras' default, are worse with the paper's epochs (benchmarks/evidence/batch_sizes.py).
    random_state : int or None
        The source of the initial weights, of the order of the rows, and of the select part if none is given. On one
        machine it gives the same bits; on a processor with other instructions a network can become another one.

    Attributes
    ----------
    weights_, biases_ : tuples of arrays
        The layers of the network.
    lambda1_, lambda2_, mean_
        What was chosen.
    candidates_ : dict of str to array
        Every λ1, λ2 and mean that was tried, with its score on the select part.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal import CCAC, NO_CLASS
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(3, size=2000)
    >>> logits = 3 * np.eye(3)[y] + rng.normal(size=(2000, 3))
    >>> logits[1000:] = rng.normal(size=(1000, 3)) + [4, 4, 4]  # samples of no class give other logits
    >>> y[1000:] = NO_CLASS
    >>> calibrator = CCAC(lambda1=0, lambda2=1, random_state=0).fit(logits, y)
    >>> calibrator.predict_confidence([[3.5, 0.0, 0.0], [6.5, 3.5, 3.5]]).round(1)
    array([1., 0.])
    >>> calibrator.predict_proba([[3.5, 0.0, 0.0], [6.5, 3.5, 3.5]]).shape
    (2, 4)
    """

    abbreviation = "CCAC"
    reference = "Shao et al., 2020"
    learned = CHOSEN | {"weights_": None, "biases_": None}
    uses_weights = True
    paper = {  # noqa: RUF012
        8: Architecture((10, 10), 1500, 2e-3),
        10: Architecture((50, 20), 1000, 1e-3),
        18: Architecture((20,), 2000, 1e-4),
        100: Architecture((100,), 1000, 1e-3),
    }
