"""New rows get the same confidences whichever kernels of linear algebra a processor makes NumPy use.

Each set of kernels fits and scores in a process of its own. The rows are those whose fits leave most open: they can be
nearly separated, they are few, classes are tiny, or a few features and weights sharpen the correction.
"""

import os
import platform
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from auxcal import CCACX, BetaCalibration, PlattScaling, SignalCalibrator

NEAR = 1e-5
LESS = "X86_V3 X86_V4 AVX512_ICL AVX512_SPR"
KERNELS = {
    "as it is": {},
    "Haswell": {"OPENBLAS_CORETYPE": "Haswell", "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR"},
    "Zen": {"OPENBLAS_CORETYPE": "Zen"},
    "Prescott": {"OPENBLAS_CORETYPE": "Prescott", "NPY_DISABLE_CPU_FEATURES": LESS},
}


def logits_of_classes(n_classes, n, scale, noise, shares=None):
    """Return logits to fit on with their classes, and 500 new ones that are noisier."""
    rng = np.random.default_rng(n_classes)
    y = rng.choice(n_classes, size=n + 500, p=shares)
    spread = np.where(np.arange(n + 500) < n, noise, noise + 0.4)[:, None]
    logits = (scale * (3 * np.eye(n_classes)[y] + spread * rng.normal(size=(n + 500, n_classes)))).astype(np.float32)
    return logits[:n], y[:n], logits[n:]


def signals_of(answers):
    """Return signals of answers, of which some have gaps and some are categories, and whether each is right."""
    rng = np.random.default_rng(answers)
    right = rng.random(answers) < 0.6
    likely = rng.beta(2, 2, answers) / 2 + right * rng.random(answers) / 2
    return {
        "logprob": np.log(likely + 1e-3),
        "verbal": np.round(0.5 + likely / 2, 1),
        "length": rng.integers(1, 400, answers).astype(float),
        "entropy": np.where(rng.random(answers) < 0.2, np.nan, rng.gamma(2, 1, answers) - right),
        "topic": rng.choice(["law", "maths", "art"], answers),
    }, right


def confidences():
    """Return the confidences of new rows, by what was fitted."""
    hard = {
        "nearly separable rows": (3, 300, 3.0, 0.9),
        "separable rows": (10, 400, 5.0, 0.3),
        "few rows that can be separated": (2, 30, 5.0, 0.3),
        "few rows": (5, 40, 1.0, 1.0),
        "tiny classes": (12, 300, 1.0, 1.0, np.maximum(0.5 ** np.arange(12), 0.002) / 2.0093125),
    }
    found = {}
    for name, how in hard.items():
        *_, shares = how if len(how) > 4 else (*how, None)
        shares = None if shares is None else shares / shares.sum()
        logits, y, new = logits_of_classes(*how[:4], shares)
        for kind in (CCACX, BetaCalibration, PlattScaling):
            fitted = kind(**{"random_state": 0} if kind is CCACX else {}).fit(logits, y)
            found[f"{kind.__name__}, {name}"] = fitted.predict_confidence(new)
    rng = np.random.default_rng(3)
    logits, y, new = logits_of_classes(3, 200, 1.0, 1.2)
    features = rng.random((700, 2)) * [1, 50]
    y = np.where(features[:200, 0] > 0.95, (y + 1) % 3, y)
    of_rows = {"sample_weight": rng.integers(1, 4, 200), "groups": np.arange(200) // 3}
    fitted = CCACX(random_state=0).fit(logits, y, features=features[:200], **of_rows)
    found["CCACX, features, weights and groups"] = fitted.predict_confidence(new, features=features[200:])
    for n, increasing in ((15, ()), (150, ()), (150, ("logprob", "verbal"))):
        fitted = SignalCalibrator(increasing=increasing, random_state=0).fit(*signals_of(n))
        found[f"signals, {n} answers, rising: {increasing}"] = fitted.predict_confidence(signals_of(500)[0])
    return found


def elsewhere(folder, name):
    """Return the confidences by other kernels."""
    path = folder / f"{name}.npz"
    command = [sys.executable, "-W", "ignore", __file__, str(path)]
    subprocess.run(command, env=os.environ | KERNELS[name], check=True, capture_output=True)
    with np.load(path) as file:
        return dict(file)


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="the kernels are those of x86")
def test_new_rows_get_the_same_confidences_by_all_kernels(tmp_path):
    with ThreadPoolExecutor(2) as pool:
        found = dict(zip(KERNELS, pool.map(lambda name: elsewhere(tmp_path, name), KERNELS), strict=True))
    ours = found.pop("as it is")
    off = {(fit, kernels): np.abs(given[fit] - ours[fit]).max() for kernels, given in found.items() for fit in ours}
    assert not {where: float(most) for where, most in off.items() if most > NEAR}


if __name__ == "__main__":
    np.savez(sys.argv[1], **confidences())
