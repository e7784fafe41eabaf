"""How long the metrics take, beside the sums that they can't do without, and beside the peers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import benchmarks.speed.peers.torchvision_operators  # noqa: F401
import netcal.metrics
import numpy as np
import relplot
import torch
from benchmarks.speed.measure import in_turns
from sklearn.metrics import precision_recall_curve, roc_auc_score
from torchmetrics.functional.classification import (
    binary_auroc,
    binary_calibration_error,
    binary_precision_at_fixed_recall,
    multiclass_calibration_error,
)

from auxcal.metrics import auroc, brier, ece, precision_at_recall

N_BINS = 20
TOLERANCE = 1e-6

Calls = dict[str, Callable[[], Any]]


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Return a row for every metric and what it is compared with."""
    many, some = (1_000_000, 100_000) if quick else (10_000_000, 1_000_000)
    runs, seconds = (3, 3.0) if quick else (7, 20.0)
    rows = [*against_the_machine(many, runs, seconds), *against_peers(some, runs, seconds)]
    for row in rows:
        print(f"{row['metric']:>28} {row['n']:>10,}: {row['ours']['wall']:.4f} s, {row['ratio']:.2f} of {row['other']}")
    return rows


def drawn(n_rows: int, random_state: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draw confidences, most of them high, and whether each prediction is right: a little less often than they say."""
    rng = np.random.default_rng(random_state)
    confidence = rng.beta(4, 1, n_rows).astype(np.float32)
    return confidence, rng.random(n_rows) < 0.95 * confidence


def against_the_machine(n_rows: int, runs: int, seconds: float) -> list[dict[str, Any]]:
    """Compare ECE and Brier with three passes over the rows, and AUROC and p.9 with one sort."""
    confidence, correct = drawn(n_rows)
    index = (confidence * N_BINS).astype(np.int64)

    def passes() -> None:
        confidence.sum(dtype=np.float64), correct.sum(), np.bincount(index, minlength=N_BINS)

    def sort() -> None:
        np.sort(confidence)

    rows = []
    for name, ours, other, call, target in (
        ("ECE", lambda: ece(confidence, correct), "two sums and a bincount", passes, 3),
        ("Brier", lambda: brier(confidence, correct), "two sums and a bincount", passes, 3),
        ("AUROC", lambda: auroc(confidence, correct), "one sort", sort, 1.2),
        ("p.9", lambda: precision_at_recall(confidence, correct), "one sort", sort, None),
    ):
        taken = in_turns({"ours": ours, other: call}, runs, seconds)
        share = taken["ours"].wall / taken[other].wall
        verdict = "" if target is None else "met" if share <= target else "missed"
        rows.append(
            {
                "metric": name,
                "n": n_rows,
                "ours": vars(taken["ours"]),
                "other": other,
                "others": {other: vars(taken[other])},
                "ratio": share,
                "target": None if target is None else f"at most {target}",
                "verdict": verdict,
            }
        )
    return rows


def against_peers(n_rows: int, runs: int, seconds: float) -> list[dict[str, Any]]:
    """Compare each metric with the peers that have it, after a check that they give the same number."""
    rows = []
    for name, calls in peers(n_rows).items():
        values = {peer: float(call()) for peer, call in calls.items()}
        taken = in_turns(calls, runs, seconds)
        same = {peer: math.isclose(value, values["auxcal"], abs_tol=TOLERANCE) for peer, value in values.items()}
        fastest = min((peer for peer in calls if peer != "auxcal"), key=lambda peer: taken[peer].wall)
        share = taken["auxcal"].wall / taken[fastest].wall
        # A sum in float32 drifts, so that a majority decides whose number is right.
        agreed = sum(same.values()) > 1 or len(same) == 1
        rows.append(
            {
                "metric": name,
                "n": n_rows,
                "ours": vars(taken["auxcal"]),
                "other": fastest,
                "others": {peer: {**vars(taken[peer]), "value": values[peer]} for peer in calls},
                "ratio": share,
                "target": "at most 1",
                "verdict": "wrong answer: no peer agrees" if not agreed else "met" if share <= 1 else "missed",
            }
        )
    return rows


def peers(n_rows: int) -> dict[str, Calls]:
    """Return each metric as everybody computes it, from arrays in the form that each likes best."""
    confidence, correct = drawn(n_rows)
    wide, hits = confidence.astype(np.float64), correct.astype(np.int64)
    tensor, hit_tensor = torch.from_numpy(confidence), torch.from_numpy(hits)
    wrong, doubt = ~correct, 1 - wide
    doubt_tensor, wrong_tensor = torch.from_numpy(doubt), torch.from_numpy(wrong.astype(np.int64))
    proba, y = distributions(n_rows)
    proba_tensor, y_tensor = torch.from_numpy(proba), torch.from_numpy(y)
    return {
        "ECE": {
            "auxcal": lambda: ece(confidence, correct, n_bins=N_BINS),
            "relplot": lambda: relplot.metrics.binnedECE(wide, hits, nbins=N_BINS),
            "torchmetrics": lambda: binary_calibration_error(tensor, hit_tensor, n_bins=N_BINS, validate_args=False),
            "netcal": lambda: netcal.metrics.ECE(bins=N_BINS).measure(wide, hits),
        },
        "ECE of 10 classes": {
            "auxcal": lambda: ece(proba.max(axis=1), proba.argmax(axis=1) == y, n_bins=N_BINS),
            "torchmetrics": lambda: multiclass_calibration_error(
                proba_tensor, y_tensor, num_classes=10, n_bins=N_BINS, validate_args=False
            ),
            "netcal": lambda: netcal.metrics.ECE(bins=N_BINS).measure(proba, y),
        },
        "AUROC": {
            "auxcal": lambda: auroc(confidence, correct),
            "scikit-learn": lambda: roc_auc_score(wrong, doubt),
            "torchmetrics": lambda: binary_auroc(doubt_tensor, wrong_tensor, validate_args=False),
        },
        "p.9": {
            "auxcal": lambda: precision_at_recall(confidence, correct),
            "scikit-learn": lambda: precision_at_90(wrong, doubt),
            "torchmetrics": lambda: binary_precision_at_fixed_recall(
                doubt_tensor, wrong_tensor, min_recall=0.9, validate_args=False
            )[0],
        },
    }


def distributions(n_rows: int, random_state: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draw distributions over 10 classes and a class for each."""
    rng = np.random.default_rng(random_state)
    logits = rng.normal(scale=2.5, size=(n_rows, 10)).astype(np.float32)
    proba = np.exp(logits - logits.max(axis=1, keepdims=True))
    proba /= proba.sum(axis=1, keepdims=True)
    return proba, (0.7 * logits + rng.gumbel(size=logits.shape)).argmax(axis=1)


def precision_at_90(wrong: np.ndarray, doubt: np.ndarray) -> float:
    """Return the precision at the highest threshold whose recall reaches 0.9, with scikit-learn's curve."""
    precision, recall, _ = precision_recall_curve(wrong, doubt)
    return precision[np.flatnonzero(recall >= 0.9)[-1]]
