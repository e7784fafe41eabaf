"""How many labels a promise takes."""

import numpy as np
import pytest

from auxcal import InvalidInputError
from auxcal.thresholds import labels_to_promise


def test_a_promise_that_takes_very_many_labels_is_told_by_one_test():
    rest = np.full(200, 0.0905 + 0.9)
    assert labels_to_promise(rest, rest, 0.01, coverage=0.5) > 50_000


def test_every_row_needs_a_probability():
    with pytest.raises(InvalidInputError, match="one probability for each of the 3 rows; got 2"):
        labels_to_promise([0.9] * 3, [0.9] * 2, 0.1, coverage=0.5)
