"""Where new rows differ from those of the fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from auxcal.monitoring._home import Home
from auxcal.monitoring._known import Seen, unnamed
from auxcal.monitoring._matching import Matching
from auxcal.reference import READINGS

_MOST = 5
_NOTEWORTHY = 2.0  # standard deviations


class Difference(NamedTuple):
    """One thing that differs: what is expected, what was found, and how many standard deviations lie between."""

    what: str
    expected: float
    found: float
    deviations: float


def differences(
    matching: Matching, seen: Seen, class_names: Sequence[str] | None, verdict: str, home: Home
) -> tuple[Difference, ...]:
    """Return the largest differences: of the shares after another mix, else of what no mix explains."""
    if verdict == "mix":
        return _largest(_of_shares(matching, class_names, home))
    return _largest([*_of_readings(matching, seen), *_of_predictions(matching, seen, class_names)])


def _largest(found: list[Difference]) -> tuple[Difference, ...]:
    notable = [each for each in found if abs(each.deviations) > _NOTEWORTHY]
    return tuple(sorted(notable, key=lambda each: -abs(each.deviations))[:_MOST])


def _of_shares(matching: Matching, class_names: Sequence[str] | None, home: Home) -> list[Difference]:
    names = matching.known.names(class_names)
    variance = home.mix * (1 - home.mix) / home.n_rows + home.doubt**2
    deviation = np.sqrt(np.diag(matching.covariance) + variance)
    change = (matching.shares - home.mix) / deviation
    rows = zip(names, home.mix, matching.shares, change, strict=True)
    return [Difference(f"share of {name}", *map(float, numbers)) for name, *numbers in rows]


def _of_readings(matching: Matching, seen: Seen) -> list[Difference]:
    weight = matching.row_share
    old, new = matching.known.reference.readings.astype(np.float64), seen.readings.astype(np.float64)
    expected = weight @ old
    variance = weight @ (old - expected) ** 2 * (1 / len(new) + np.sum(weight**2))
    found = new.mean(axis=0)
    deviations = (found - expected) / np.sqrt(np.maximum(variance, np.finfo(float).tiny))
    rows = zip(READINGS, expected, found, deviations, strict=True)
    return [Difference(name, *map(float, numbers)) for name, *numbers in rows]


def _of_predictions(matching: Matching, seen: Seen, class_names: Sequence[str] | None) -> list[Difference]:
    k, weight = matching.known.reference.n_classes, matching.row_share
    expected = np.bincount(matching.known.reference.prediction, weight, minlength=k)
    found = np.bincount(seen.prediction, minlength=k) / len(seen.prediction)
    pooled = np.clip((expected + found) / 2, 1 / len(weight), 1)
    deviations = (found - expected) / np.sqrt(pooled * (1 / len(seen.prediction) + np.sum(weight**2)))
    names = class_names or unnamed(k)
    rows = zip(names, expected, found, deviations, strict=True)
    return [Difference(f"predictions of {name}", *map(float, numbers)) for name, *numbers in rows]
