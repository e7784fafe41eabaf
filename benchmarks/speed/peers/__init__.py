"""One file for each library, with one short function for each method: what it is given, how it fits, what it answers.

Each file has `METHODS`, functions of (logits, y) that return a `Job`. What a library is given, probabilities or
tensors, is made before the clock starts; and each is called in the way that is fastest for it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Job(NamedTuple):
    """A fit whose time is taken, and what its result says about the rows that it was fitted on.

    The answer is a distribution (n, K), a confidence (n,), or for Dirichlet calibration W and b.
    """

    fit: Callable[[], Any]
    answer: Callable[[Any], Any]


Method = Callable[[np.ndarray, np.ndarray], Job]
