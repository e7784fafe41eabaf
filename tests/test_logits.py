"""The sigmoid, its inverse and its integral are those of SciPy, at any size of their argument and in its precision."""

import numpy as np
import pytest
from scipy import special

from auxcal._core.logits import expit, logit, softplus

FAR = np.concatenate([np.linspace(-800, 800, 4001), [-1e4, -0.0, 1e4, -1e38, 1e38]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_expit_and_softplus(dtype):
    x = FAR.astype(dtype)
    for found, expected in [(expit(x), special.expit(x)), (softplus(x), np.logaddexp(0, x))]:
        assert found.dtype == dtype
        np.testing.assert_allclose(found, expected, rtol=4 * np.finfo(dtype).eps, atol=np.finfo(dtype).tiny)


def test_logit():
    p = np.concatenate([np.linspace(0.001, 0.999, 999), [1e-12, 1 - 1e-12]])
    np.testing.assert_allclose(logit(p), special.logit(p), rtol=1e-14, atol=1e-15)
    assert logit(0.5) == 0
