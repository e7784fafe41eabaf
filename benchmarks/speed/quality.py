"""Whether the default recipe of CCAC and CCAC-S is as good as the paper's, on the bundles of the package.

The paper's epochs and batches are kept. So that they can be had in minutes, CCAC has one setting there, λ1 = 0 and
λ2 = 1, for both recipes; and of the CIFAR-10 logits a tenth of the rows is taken.
"""

from __future__ import annotations

from typing import Any

from benchmarks.speed.data import packaged
from benchmarks.speed.measure import measured
from benchmarks.speed.networks import KINDS

import auxcal

SUITES = {"r8-dan": (3_000, 1_500), "ng18-dan": (6_000, 3_000), "cifar10-resnet20": (3_000, 8_000)}
"""The rows to fit on and to test on."""
SHIFTS = ("D1", "OOD")
WORSE = {"brier": 0.002, "auroc": -0.005}
"""What a difference must be beyond, to be more than noise of the test part."""


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Return a row for every bundle and method, with the metrics of both recipes; with `quick` of one bundle."""
    rows = []
    for suite, (n_fit, n_test) in list(SUITES.items())[: 1 if quick else None]:
        for shift in SHIFTS[:1] if quick else SHIFTS:
            fit, test = packaged(suite, shift).split(n_fit, n_test, random_state=0)
            for method, kind in KINDS.items():
                recipes = {recipe: judged(kind, recipe, fit, test) for recipe in ("fast", "paper")}
                rows.append({"suite": suite, "shift": shift, "method": method, "n": n_fit, **recipes})
                rows[-1]["verdict"] = verdict(recipes["fast"], recipes["paper"])
                print(f"{suite:>18} {shift:>4} {method:>7}: {rows[-1]['verdict']}", flush=True)
    return rows


def judged(kind: type, recipe: str, fit: auxcal.Predictions, test: auxcal.Predictions) -> dict[str, float]:
    """Return the metrics on the test part and the seconds of CPU time."""
    calibrator = kind(lambda1=0.0, lambda2=1.0, mean="wrong", recipe=recipe, random_state=0)
    taken, fitted = measured(lambda: calibrator.fit(fit.logits, fit.y))
    scores = auxcal.evaluate(fitted.predict_confidence(test.logits), test.correct, metrics=["brier", "auroc", "ece"])
    return {name: scores[name] for name in ("brier", "auroc", "ece", "ece_floor_p95")} | {"cpu": taken.cpu}


def verdict(fast: dict[str, float], paper: dict[str, float]) -> str:
    """Say where the default recipe is worse than the paper's by more than noise."""
    worse = [
        name
        for name, found in {
            "Brier": fast["brier"] - paper["brier"] > WORSE["brier"],
            "AUROC": fast["auroc"] - paper["auroc"] < WORSE["auroc"],
            "ECE": fast["ece"] - paper["ece"] > fast["ece_floor_p95"],
        }.items()
        if found
    ]
    return "worse: " + ", ".join(worse) if worse else "no worse"
