"""Make the golden files: every calibrator in the present format, with the confidences that it gives.

    python tests/golden/make.py [METHOD ...]

A later version must read them and give the same confidences, so a file that is there is not made again: name a method
to replace its file, when its design has changed.
"""

import sys
from pathlib import Path

import numpy as np

from auxcal import CALIBRATORS, NO_CLASS

GOLDEN = Path(__file__).parent
PARAMETERS = {
    name: {"hidden_sizes": (4,), "lambda1": 0.5, "lambda2": 1.0, "random_state": 0} for name in ("ccac", "ccac-s")
} | {name: {"random_state": 0} for name in ("ccac-x", "dirichlet")}


def rows() -> tuple[np.ndarray, np.ndarray]:
    """Return the logits of three classes and y, of which a tenth is of no class."""
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(200, 3), scale=2).astype(np.float32)
    y = (logits / 2 + rng.gumbel(size=logits.shape)).argmax(axis=1)
    y[::10] = NO_CLASS
    return logits, y


def main(names: list[str]) -> None:
    """Fit and save each method that is named or has no file, and write what all of them say."""
    logits, y = rows()
    path = GOLDEN / "confidences.npz"
    said = dict(np.load(path)) if path.exists() else {"logits": np.concatenate([logits[:20], 1e3 * np.eye(3)])}
    for name, kind in CALIBRATORS.items():
        if name in names or name not in said:
            calibrator = kind(**PARAMETERS.get(name, {})).fit(logits, y)
            calibrator.save(GOLDEN / f"{name}.safetensors")
            said[name] = calibrator.predict_confidence(said["logits"])
    np.savez_compressed(path, **said)


if __name__ == "__main__":
    main(sys.argv[1:])
