"""The mix that a calibrator is for, against which new rows are held."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from auxcal._core.arrays import Floats
from auxcal.calibrators import Calibrator
from auxcal.monitoring import _known
from auxcal.monitoring._known import Known

_NEAR = 2  # rows: classes that miss or pass the limit by so few tell how many pass it by chance
_MOST = 0.99  # of the rows are of rare classes


class Home(NamedTuple):
    """The mix that a calibrator is for.

    Parameters
    ----------
    mix : array of shape (groups,)
        The shares of the groups.
    n_rows : int
        How many rows told them.
    doubt : array of shape (groups,)
        A change of the shares, by one standard deviation, which is open besides.
    """

    mix: Floats
    n_rows: int
    doubt: Floats


def home_of(calibrator: Calibrator, known: Known) -> Home:
    """Return the mix of the fit, or the one that the calibrator was adapted to since."""
    adaptation = calibrator.adaptation_
    if adaptation is not None:
        shares = known.mix(adaptation.shares)
        return Home(shares, min(adaptation.n_rows, _known.MOST_ROWS), np.zeros_like(shares))
    return _of_the_fit(known)


def _of_the_fit(known: Known) -> Home:
    """Return the mix of which the rows of the fit are a sample.

    Rare classes are one group, and some are in it since they have fewer rows than they should: new rows have more of
    them. By Good and Turing's rule the classes with fewer than t rows have as many in truth as those with at most t
    have in the sample. Classes with about t rows tell how many have exactly t, since few do.
    """
    shares, n = known.shares, len(known.at)
    if len(shares) == 1 or np.sum(known.group == 0) == 1:
        return Home(shares, n, np.zeros_like(shares))
    at = np.arange(known.least - _NEAR, known.least + _NEAR + 1)
    rows = at * np.sum(known.stratum_counts == at[:, None], axis=1)
    more = min(float(rows.mean()) / n, _MOST - shares[0])
    of_rare = np.append(1.0, -shares[1:] / (1 - shares[0]))  # what a larger share of them takes from the others
    return Home(shares + more * of_rare, n, of_rare * float(np.sqrt(at @ rows)) / (len(at) * n))
