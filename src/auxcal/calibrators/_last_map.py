"""The last map of CCAC-X: a monotone map of the kind of beta calibration, which stays near doing nothing."""

import numpy as np

from auxcal._arrays import Bools, Floats
from auxcal.calibrators._stack import log_losses, stack
from auxcal.calibrators.beta_calibration import beta_features

_NO_CHANGE = np.array([1.0, 1.0, 0.0])
_HOLD = np.array([3e4, 3e4, 6e3])  # divided by the rows: few leave it where it is
_BY_CHANCE = 1.0  # nats over all rows that three numbers gain where there is nothing to mend


def fit_last_map(log_odds: Floats, correct: Bools) -> Floats:
    """Return a, b and c of a map of log-odds for rows not seen; of the way there, the share that is not chance.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal.calibrators._last_map import fit_last_map
    >>> rng = np.random.default_rng(0)
    >>> log_odds = rng.normal(size=20000, scale=2)
    >>> correct = rng.random(20000) < 1 / (1 + np.exp(-log_odds))
    >>> fit_last_map(log_odds, correct)
    array([1., 1., 0.])
    >>> fit_last_map(2 * log_odds, correct)[:2].round(1)  # too sure by half
    array([0.5, 0.5])
    """
    features = beta_features(log_odds).T
    found = stack(features, correct, _NO_CHANGE, _HOLD / len(correct))
    before, after = log_losses(np.stack([log_odds, features @ found[:-1] + found[-1]], axis=1), correct)
    share = max(0.0, 1 - _BY_CHANCE / max(before - after, _BY_CHANCE))
    return np.asarray(_NO_CHANGE + share * (found - _NO_CHANGE))
