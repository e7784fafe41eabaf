"""Every calibrator on extreme inputs."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

Case = Callable[[], str]
"""Does one attack, and returns "fine", "silent" or "lost"; what it raises is judged by whoever calls it."""

_SMALL = {
    "hidden_sizes": (4,),
    "lambda1": 0.0,
    "lambda2": 1.0,
    "mean": "wrong",
}  # or networks take minutes


def inputs() -> dict[str, tuple[Any, Any]]:
    """Return logits and y by name, more than sixty of them."""
    rng = np.random.default_rng(7)
    z = rng.normal(size=(60, 3), scale=2)
    y = (z / 2 + rng.gumbel(size=z.shape)).argmax(axis=1)
    found: dict[str, tuple[Any, Any]] = {}
    for scale in (1e-320, 1e-300, 1e-45, 1e-38, 1e-30, 1e-20, 1e-12, 1e-6, 1e-3, 1e3, 1e6, 1e10, 1e15, 1e20, 1e300):
        found[f"times {scale:g}"] = z * scale, y
    for scale in (1e-38, 1e-30, 1e-12, 1e4, 1e12, 1e30):
        found[f"float32 times {scale:g}"] = (z.astype(np.float32) * np.float32(scale)), y
    for offset in (1e3, -1e6, 1e8, 1e12, -1e15):
        found[f"plus {offset:g}"] = z + offset, y
    for column in range(3):
        found[f"zeros in column {column}"] = z * (np.arange(3) != column), y
    found["all equal"] = np.zeros((60, 3)), y
    found["rows equal"] = np.repeat(z[:1], 60, axis=0), y
    found["one apart"] = np.where(np.arange(60)[:, None] == 0, z, 0.0), y
    found["ties at the top"] = np.round(z), y
    found["separable"] = 5 * np.eye(3)[y] + 0.1 * z, y
    found["separable by far"] = 1e4 * np.eye(3)[y], y
    found["all right"] = z, z.argmax(axis=1)
    found["all wrong"] = z, (z.argmax(axis=1) + 1) % 3
    found["no class"] = z, np.full(60, -1)
    found["one class"] = z, np.zeros(60, dtype=int)
    found["a class is missing"] = z, np.minimum(y, 1)
    found["one label"] = z, np.where(np.arange(60) == 5, y, -1)
    for n in (1, 2, 3, 5):
        found[f"{n} rows"] = z[:n], y[:n]
    found["two classes, one of zeros"] = np.column_stack([np.zeros(60), z[:, 0]]), (y > 0).astype(int)
    found["two classes of equal logits"] = np.full((60, 2), 3.3), (y > 0).astype(int)
    found["rows with masked entries"] = [np.ma.masked_array(row, mask=row > 1) for row in z], y
    found["12 rows of 10 classes"] = rng.normal(size=(12, 10)), np.arange(12) % 10
    found["few rows of many classes"] = rng.normal(size=(20, 400)), rng.integers(400, size=20)
    found["forty classes"] = rng.normal(size=(60, 40)), rng.integers(40, size=60)
    found["one outlier"] = np.where(np.arange(60)[:, None] == 9, 1e9, z), y
    found["heavy tails"] = rng.standard_cauchy(size=(60, 3)) * 100, y
    found["log-probabilities of 0"] = np.where(z > 0, 0.0, -1e4), y
    found["probabilities"] = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True), y
    found["NaN"] = np.where(np.arange(60)[:, None] == 3, np.nan, z), y
    found["inf"] = np.where(np.arange(60)[:, None] == 3, np.inf, z), y
    found["minus inf"] = np.where(np.arange(60)[:, None] == 3, -np.inf, z), y
    found["one dimension"] = z[:, 0], y
    found["one column"] = z[:, :1], y
    found["no rows"] = z[:0], y[:0]
    found["text"] = z.astype(str), y
    found["y of 1e300"] = z, np.where(np.arange(60) == 3, 1e300, y)
    found["y beyond"] = z, np.where(np.arange(60) == 3, 7, y)
    found["y too short"] = z, y[:-1]
    found["Fortran order"] = np.asfortranarray(z), y
    found["every other row"] = np.repeat(z, 2, axis=0)[::2], y
    found["integers"] = np.round(z).astype(int), y
    return found


def small(kind: Any) -> dict[str, Any]:
    """Return the arguments of a method with which its fit is quick and always the same."""
    known = inspect.signature(kind).parameters
    options = {name: value for name, value in _SMALL.items() if name in known}
    return options | ({"random_state": 0} if "random_state" in known else {})


def train_quickly() -> None:
    """Let networks take as few steps as show what an input does to them: all of them take most of the time."""
    from auxcal.calibrators import auxiliary, simplified_ccac

    auxiliary.FAST = replace(auxiliary.FAST, epochs=1, least_steps=60)
    simplified_ccac.TRANSFER = replace(simplified_ccac.TRANSFER, least_steps=6)


def cases() -> Iterator[tuple[str, Case]]:
    """Give the attacks on every calibrator."""
    from auxcal import CALIBRATORS

    train_quickly()
    for method, kind in CALIBRATORS.items():
        options = small(kind)
        for name, (logits, y) in inputs().items():
            yield f"{method}: {name}", lambda kind=kind, options=options, z=logits, y=y: _fit(kind(**options), z, y)


def _fit(calibrator: Any, logits: Any, y: Any) -> str:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        calibrator.fit(logits, y)
        confidence = np.asarray(calibrator.predict_confidence(logits))
    for each in caught:
        warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)  # for whoever judges it
    if not ((confidence >= 0) & (confidence <= 1)).all():
        return "silent"
    if len(y) < 15 and calibrator.abbreviation != "MP" and not any("rows" in str(each.message) for each in caught):
        return "silent"
    if hasattr(calibrator, "temperature_") or not hasattr(calibrator, "weight_"):
        return "fine"
    # What multiplies logits without a temperature before it has no end where rows can be separated.
    largest = float(np.abs(calibrator.weight_).max()) * float(np.ptp(logits, axis=1).max())
    return "silent" if largest > 1e4 and calibrator.converged_ else "fine"
