"""What the default, CCAC-X, may take at most: CPU time of fits, of finding units of rows, and of scoring."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from benchmarks.speed.data import drawn, predictions
from benchmarks.speed.measure import in_turns, measured
from benchmarks.speed.scoring import CHUNK_BYTES, bare

import auxcal
from auxcal._core.threads import one_thread
from auxcal.calibrators.copies import with_units

FITS = {300: 0.5, 30_000: 5.0, 1_000_000: 60.0}
"""The most seconds of CPU time that a fit on so many rows of ten classes may take."""
MOST_FOR_UNITS = 0.05  # of the fit
MOST_OF_BARE = 2.5
ROWS_TO_SCORE = 1_000_000


def heavy_tails(n: int) -> auxcal.Predictions:
    """Draw logits for which CCAC-X uses its shared curve."""
    rng = np.random.default_rng(0)
    y = rng.integers(10, size=n)
    return auxcal.Predictions((4 * np.eye(10)[y] + rng.standard_t(2, size=(n, 10))).astype(np.float32), y)


def floor(calibrator: auxcal.CCACX, logits: np.ndarray) -> None:
    """Do what scoring can't do without: `bare` with coordinates and open map, and the correction's product.

    The inputs of the correction are taken as given, the same for every chunk, so that they stay in cache.
    """
    _, shared, _, (_, basis) = calibrator.open_map_
    bare([basis.astype(np.float32), shared.T], logits)
    weights = np.ascontiguousarray(calibrator.correction_[3].T)
    rows = max(1, CHUNK_BYTES // logits[0].nbytes)
    inputs, out = np.ones((rows, len(weights)), np.float32), np.empty((rows, weights.shape[1]), np.float32)
    for start in range(0, len(logits), rows):
        n = min(rows, len(logits) - start)
        np.matmul(inputs[:n], weights, out=out[:n])


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Return a row for every limit."""
    rows = []
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", auxcal.AuxcalWarning)
        for n in list(FITS)[: -1 if quick else None]:
            data = predictions(n, 10) if n <= 30_000 else drawn(n, 10)
            calibrator = auxcal.CCACX(random_state=0)
            fit = in_turns({"fit": partial(calibrator.fit, data.logits, data.y)}, 3, 10.0)["fit"].cpu
            rows.append(row(f"a fit, {n:,} × 10", fit, FITS[n], "s"))
        units = measured(partial(with_units, data))[0].cpu
        rows.append(row(f"units of rows, share of the fit, {n:,} × 10", units / fit, MOST_FOR_UNITS, ""))
        for name, labelled in (("", predictions(2_000, 10)), (", with the shared curve", heavy_tails(2_000))):
            calibrator = auxcal.CCACX(random_state=0).fit(labelled.logits, labelled.y)
            logits = np.resize(labelled.logits, (ROWS_TO_SCORE // (10 if quick else 1), 10)).astype(np.float32)
            calls = {
                "ours": partial(calibrator.predict_confidence, logits),
                "bare": partial(floor, calibrator, logits),
            }
            taken = in_turns(calls, 7, 10.0)
            ratio = taken["ours"].cpu / taken["bare"].cpu
            rows.append(row(f"scoring, of the bare products, {len(logits):,} × 10{name}", ratio, MOST_OF_BARE, "×"))
    return rows


def row(case: str, value: float, most: float, unit: str) -> dict[str, Any]:
    """Return a value beside its limit, with the verdict."""
    print(f"{case}: {value:.3g}{unit}, at most {most}{unit}", flush=True)
    return {"case": case, "value": value, "most": most, "unit": unit, "verdict": "met" if value <= most else "missed"}
