"""How long scoring takes, beside the bare products and the softmax that it can't do without."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from benchmarks.speed.data import drawn
from benchmarks.speed.measure import Measured, in_turns

import auxcal
from auxcal._core.threads import one_thread

SIZES = ((1_000_000, 10), (100_000, 1000))
QUICK_SIZES = ((100_000, 10), (5_000, 1000))
MOST_TIMES, MOST_MEMORY = 2.0, 100e6
CHUNK_BYTES = 1 << 20

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


def products(calibrator: auxcal.Calibrator) -> list[np.ndarray]:
    """Return the matrices that the logits are multiplied with, one after the other."""
    if isinstance(calibrator, auxcal.MatrixScaling):
        return [calibrator.weight_.T.astype(np.float32)]
    return list(getattr(calibrator, "weights_", ()))


def shapes(calibrator: auxcal.Calibrator) -> str:
    """Return a name for the products of a calibrator, which others may share."""
    return " ".join(str(weight.shape) for weight in products(calibrator)) or "no product"


def bare(weights: list[np.ndarray], logits: np.ndarray) -> None:
    """Multiply all logits with the matrices, and take one softmax, as fast as NumPy can.

    Both in chunks of rows that stay in the processor's cache and in arrays that are made once: the softmax of whole
    arrays at K = 1000 took up to twice as long. The softmax is that of the logits: the products alone, without offsets
    and ReLU, are so far apart that exp would be slow.
    """
    rows = max(1, CHUNK_BYTES // logits[0].nbytes)
    products = [np.empty((rows, weight.shape[1]), dtype=np.float32) for weight in weights]
    proba = np.empty((rows, logits.shape[1]), dtype=np.float32)
    for start in range(0, len(logits), rows):
        chunk = out = logits[start : start + rows]
        for weight, product in zip(weights, products, strict=True):
            out = np.matmul(out, weight, out=product[: len(chunk)])
        e = np.subtract(chunk, chunk.max(axis=1, keepdims=True), out=proba[: len(chunk)])
        np.exp(e, out=e)
        e /= e.sum(axis=1, keepdims=True)


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Return a row for every method and size."""
    rows = []
    for n, k in QUICK_SIZES if quick else SIZES:
        few, logits = drawn(LABELS, k), drawn(n, k).logits
        fitted = {name: new.fit(few.logits, few.y) for name, new in calibrators().items()} | {"matrix": drawn_matrix(k)}
        # Methods with the same products share their floor, so that all of their runs find the best of it.
        floors = {shapes(one): partial(bare, products(one), logits) for one in fitted.values()}
        calls = {name: partial(one.predict_confidence, logits) for name, one in fitted.items()} | floors
        with one_thread():  # for both sides: threads that wait on busy cores would blur the ratio
            taken = in_turns(calls, *((3, 2.0) if quick else (5, 10.0)))
        for name, one in fitted.items():
            floor = taken[shapes(one)]
            rows.append({"method": name, "n": n, "k": k, **judged(taken[name], floor, n)})
            print("{method:>12} {n:>9,} × {k:<4}: {ratio:.2f} of bare, {memory} bytes".format(**rows[-1]), flush=True)
    return rows


def judged(ours: Measured, floor: Measured, n_rows: int) -> dict[str, Any]:
    """Return what scoring takes beside its floor, with the verdict."""
    beyond = None if ours.memory is None else max(0, ours.memory - 4 * n_rows)
    met = ours.wall <= MOST_TIMES * floor.wall and (beyond is None or beyond <= MOST_MEMORY)
    return {
        "ours": vars(ours),
        "bare": vars(floor),
        "ratio": ours.wall / floor.wall,
        "memory": beyond,
        "verdict": "met" if met else "missed",
    }
