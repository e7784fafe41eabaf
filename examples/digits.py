"""A small classifier of digits meets turned and moved digits, and images of no digit at all.

Trains on scikit-learn's own digits, then compares what every method makes of the classifier's confidence:

    python examples/digits.py
"""

import sys
import time

import numpy as np
from scipy.ndimage import rotate, shift
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

from auxcal import CALIBRATORS, NO_CLASS, Predictions, evaluate

RANDOM_STATE = 0
COLUMNS = {"auroc": "AUROC", "aupr": "AUPR", "p90": "p.9", "ece": "ECE", "brier": "Brier"}


def turned_and_moved(images, rng):
    """Turn each image by up to 15 degrees and move it by up to 0.3 pixels."""
    return np.stack(
        [
            shift(rotate(image, rng.uniform(-15, 15), reshape=False, order=1), rng.uniform(-0.3, 0.3, 2), order=1)
            for image in images
        ]
    )


def of_no_class(images, rng):
    """Mix the halves of two images, and turn the grey values of some around: ink, but no digit."""
    first, second = images[rng.permutation(len(images))], images[rng.permutation(len(images))]
    halves = np.concatenate([first[:, :4], second[:, 4:][:, ::-1]], axis=1)
    return np.where(rng.random((len(images), 1, 1)) < 0.3, 16 - halves, halves)


def meet(classifier, images, y, rng):
    """Return the classifier's logits on six turned and moved copies of every digit and two images of no class."""
    known = np.concatenate([turned_and_moved(images, rng) for _ in range(6)])
    strange = np.concatenate([of_no_class(images, rng) for _ in range(2)])
    everything = np.concatenate([known, strange]).reshape(-1, 64)
    labels = np.concatenate([np.tile(y, 6), np.full(len(strange), NO_CLASS)])
    return Predictions(classifier.predict_log_proba(everything), labels)


def main():
    """Train, meet, calibrate, print."""
    rng = np.random.default_rng(RANDOM_STATE)
    images, y = load_digits(return_X_y=True)
    images = images.reshape(-1, 8, 8)
    # The three parts come from different originals, so that no method can recognise an image that it was fitted on.
    trained, *parts = np.split(rng.permutation(len(y)), [800, 1300, 1400])
    classifier = MLPClassifier((64,), max_iter=500, random_state=RANDOM_STATE)
    classifier.fit(images[trained].reshape(-1, 64), y[trained])

    fit, select, test = (meet(classifier, images[part], y[part], rng) for part in parts)
    clean = classifier.score(images[parts[2]].reshape(-1, 64), y[parts[2]])
    print(f"A classifier of digits is right on {clean:.0%} of clean images, and on {test.correct.mean():.0%} of what")
    print(f"it meets here: turned and moved digits, and images of no digit. {len(fit):,} labelled rows to fit,")
    print(f"{len(select):,} to select, {len(test):,} to test.\n")
    print(f"{'':10}" + "".join(f"{label:>8}" for label in COLUMNS.values()) + "   noise floor   fit")
    for kind in CALIBRATORS.values():
        calibrator = kind(random_state=RANDOM_STATE) if "random_state" in kind().get_params() else kind()
        start = time.perf_counter()
        calibrator.fit(fit.logits, fit.y, select=(select.logits, select.y))
        seconds = time.perf_counter() - start
        scores = evaluate(calibrator.predict_confidence(test.logits), test.correct)
        numbers = "".join(f"{scores[m]:>8.1%}" if m == "ece" else f"{scores[m]:>8.3f}" for m in COLUMNS)
        print(f"{kind.abbreviation:10}{numbers}{scores['ece_floor_p95']:>14.1%}{seconds:>5.1f} s")
        sys.stdout.flush()
    print("\nAUROC, AUPR and p.9 (catching wrong predictions): higher is better. ECE and Brier (honesty): lower is")
    print("better; an ECE under the noise floor can't be told from perfect calibration on this many rows.")


if __name__ == "__main__":
    main()
