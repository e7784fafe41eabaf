"""Which sums and counts a saved tally can have."""

from __future__ import annotations

from typing import Any

import numpy as np

from auxcal._core.state import check_count, check_like, numbers, validate
from auxcal.metrics._calibration_error import CELLS_PER_BIN

N_BINS = 20  # of ECE, as in the paper
N_FINE = N_BINS * CELLS_PER_BIN
MEANS = ("brier", "nll")  # over the rows: their sums add up

_ROUNDING = 1e-5


def check_state(n_rows: Any, sums: Any, bins: Any, cells: Any) -> None:
    """Refuse sums and counts that no rows have."""
    check_count(n_rows, "n_rows")
    check_like(sums, dict.fromkeys(MEANS, 0.0), "sums")
    place, m = bins["place"], len(cells["confidence"])
    validate(place, "place", numbers(len(place), least=0, most=N_FINE - 1, whole=True))
    if (place[1:] <= place[:-1]).any():
        raise ValueError("place must rise")
    for name in ("count", "confidence", "correct"):
        validate(bins[name], name, numbers(len(place), least=0, most=np.inf))
    validate(cells["confidence"], "the confidences", numbers(m, least=0, most=1))
    for name in ("right", "wrong"):
        validate(cells[name], name, numbers(m, least=0, most=np.inf))
    counts = bins["count"], bins["correct"], cells["right"], cells["wrong"]
    if len({each.dtype for each in counts}) > 1 or counts[0].dtype not in (np.int64, np.float64):
        raise ValueError("counts must be of one kind, int64 or float64")
    if not isinstance(cells.get("exact", True), bool):
        raise ValueError("exact must be true or false")
    count, right = float(bins["count"].sum()), float(bins["correct"].sum())
    hits = float(cells["right"].sum())
    both = hits + float(cells["wrong"].sum())
    if not (np.isclose(count, both) and np.isclose(right, hits) and np.isfinite([*sums.values(), count]).all()):
        raise ValueError("bins and cells must be of the same rows")
    if (bins["confidence"] > (1 + _ROUNDING) * bins["count"]).any() or sums["brier"] > (1 + _ROUNDING) * count:
        raise ValueError("sums must be those of numbers from 0 to 1")
    if count > 0 and n_rows == 0:
        raise ValueError("no rows have no sums")
