"""The sigmoid and its inverse; scipy.special has them too, but takes as long to import as NumPy."""

import numpy as np

from auxcal._core.arrays import Floats


def expit(log_odds: Floats) -> Floats:
    """Return σ(x) = 1 / (1 + e^−x); where the exponential overflows, it is correctly 0.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal.calibrators.solvers.sigmoid import expit
    >>> expit(np.array([-1e4, 0.0, 1e4]))
    array([0. , 0.5, 1. ])
    """
    with np.errstate(over="ignore"):
        return np.asarray(1 / (1 + np.exp(-log_odds)))


def softplus(x: Floats) -> Floats:
    """Return log(1 + e^x); `np.logaddexp(0, x)` is the same but several times slower.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal.calibrators.solvers.sigmoid import softplus
    >>> softplus(np.array([-1e4, 0.0, 5.0])).round(2)
    array([0.  , 0.69, 5.01])
    """
    return np.asarray(np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))))


def logit(p: Floats | float) -> Floats:
    """Return the log-odds log(p / (1 − p)) of probabilities between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal.calibrators.solvers.sigmoid import logit
    >>> logit(np.array([0.1, 0.5, 0.9])).round(2)
    array([-2.2,  0. ,  2.2])
    """
    return np.asarray(np.log(p) - np.log1p(-p))
