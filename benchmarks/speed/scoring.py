"""How long scoring takes, beside the bare products and the softmax that it can't do without."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from benchmarks.speed.data import drawn
from benchmarks.speed.measure import in_turns

import auxcal

SIZES = ((1_000_000, 10), (100_000, 1000))
QUICK_SIZES = ((100_000, 10), (5_000, 1000))
MOST_TIMES, MOST_MEMORY = 2.0, 100e6

LABELS = 2_000  # to fit on: what is fitted does not change how long scoring takes


def calibrators() -> dict[str, auxcal.Calibrator]:
    """Return what is measured, each with one setting, so that fitting is quick."""
    one = {"lambda1": 0.0, "lambda2": 1.0, "mean": "wrong", "random_state": 0}
    return {
        "ccac": auxcal.CCAC(**one),
        "ccac-s": auxcal.SimplifiedCCAC(**one),
        "temperature": auxcal.TemperatureScaling(),
        "vector": auxcal.VectorScaling(),
        "histogram": auxcal.HistogramBinning(),
        "isotonic": auxcal.IsotonicCalibration(),
    }


def drawn_matrix(n_classes: int) -> auxcal.MatrixScaling:
    """Return matrix scaling with weights that are drawn: a fit at K = 1000 takes minutes, and changes nothing here."""
    calibrator = auxcal.MatrixScaling()
    calibrator.weight_ = np.random.default_rng(0).normal(scale=0.01, size=(n_classes, n_classes)) + np.eye(n_classes)
    calibrator.bias_, calibrator.n_features_in_ = np.zeros(n_classes), n_classes
    return calibrator


def softmax(z: np.ndarray) -> np.ndarray:
    """Return the softmax of each row as anyone would write it in NumPy."""
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def bare(calibrator: auxcal.Calibrator, logits: np.ndarray) -> Callable[[], np.ndarray]:
    """Return the products of the fitted weights with all logits, without offsets, and one softmax."""
    if isinstance(calibrator, auxcal.MatrixScaling):
        weights = [calibrator.weight_.T.astype(np.float32)]
    else:
        weights = list(getattr(calibrator, "weights_", ()))

    def products() -> np.ndarray:
        out = logits
        for weight in weights:
            out = out @ weight
        # Where the network gives the auxiliary logit alone, the softmax is over the K logits.
        return softmax(out if out.shape[1] > 1 else logits)

    return products


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Return a row for every method and size."""
    rows = []
    for n, k in QUICK_SIZES if quick else SIZES:
        few, logits = drawn(LABELS, k), drawn(n, k).logits
        fitted = {name: new.fit(few.logits, few.y) for name, new in calibrators().items()}
        for name, calibrator in {**fitted, "matrix": drawn_matrix(k)}.items():
            calls = {
                "ours": partial(calibrator.predict_confidence, logits),
                "bare": bare(calibrator, logits),
            }
            taken = in_turns(calls, *((3, 2.0) if quick else (5, 10.0)))
            ours, floor = taken["ours"], taken["bare"]
            beyond = None if ours.memory is None else max(0, ours.memory - 4 * n)
            met = ours.wall <= MOST_TIMES * floor.wall and (beyond is None or beyond <= MOST_MEMORY)
            rows.append(
                {
                    "method": name,
                    "n": n,
                    "k": k,
                    "ours": vars(ours),
                    "bare": vars(floor),
                    "ratio": ours.wall / floor.wall,
                    "memory": beyond,
                    "verdict": "met" if met else "missed",
                }
            )
            share = ours.wall / floor.wall
            print(
                f"{name:>12} {n:>9,} × {k:<4}: {ours.wall:.3f} s, {share:.2f} of bare, {beyond or 0:,} bytes",
                flush=True,
            )
    return rows
