"""What every metric promises."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from auxcal._core.arrays import Floats
from auxcal._core.errors import InvalidInputError
from auxcal.metrics import Metric
from auxcal.testing._trials import require, require_error


def order_and_repetition_do_not_matter(metric: Metric) -> None:
    """Neither the order of the rows nor repeating them all changes the value."""
    confidence, correct = _scored()
    value = metric.function(confidence, correct)
    order = np.random.default_rng(1).permutation(len(confidence))
    require(np.isclose(metric.function(confidence[order], correct[order]), value), "the order of the rows matters")
    require(
        np.isclose(metric.function(np.tile(confidence, 3), np.tile(correct, 3)), value), "repeating the rows matters"
    )


def weight_is_repetition(metric: Metric) -> None:
    """A row of weight 2 counts like two rows, and one of weight 0 like none."""
    confidence, correct = _scored()
    weight = np.random.default_rng(2).integers(4, size=len(confidence))
    repeated = metric.function(np.repeat(confidence, weight), np.repeat(correct, weight))
    weighted = metric.function(confidence, correct, sample_weight=weight)
    require(np.isclose(weighted, repeated), "a row of weight w must count like w rows")


def precision_does_not_matter(metric: Metric) -> None:
    """A million rows in float32 give the same value as in float64."""
    rng = np.random.default_rng(0)
    confidence = rng.beta(4, 2, size=1_000_000).astype(np.float32)
    correct = rng.random(len(confidence)) < confidence**1.5
    exact = metric.function(confidence.astype(np.float64), correct)
    require(np.isclose(metric.function(confidence, correct), exact, rtol=1e-4), "float32 loses precision")


def perfection_is_best(metric: Metric) -> None:
    """A confidence of 1 where correct and 0 where wrong is at least as good as any other."""
    confidence, correct = _scored()
    perfect, value = metric.function(correct.astype(float), correct), metric.function(confidence, correct)
    require(perfect >= value if metric.higher_is_better else perfect <= value, "a perfect confidence is not the best")


def malformed_confidence_is_refused(metric: Metric) -> None:
    """NaN, values outside [0, 1], different lengths and empty input are refused."""
    confidence, correct = _scored()
    nan = confidence.copy()
    nan[0] = np.nan
    for bad, hits in (
        (nan, correct),
        (confidence + 1, correct),
        (confidence, correct[1:]),
        (confidence[:0], correct[:0]),
    ):
        require_error(InvalidInputError, partial(metric.function, bad, hits), "bad input was accepted")


def errors_of_floats_do_not_matter(metric: Metric) -> None:
    """Underflow and the like change nothing, even where a user has made them errors."""
    confidence, correct = _scored()
    confidence = np.where(confidence < 0.5, np.float32(1e-40), confidence)
    value = metric.function(confidence, correct)
    with np.errstate(all="raise"):
        require(metric.function(confidence, correct) == value, "NumPy's error handling changes the value")


METRIC_CHECKS: tuple[Callable[[Metric], None], ...] = (
    order_and_repetition_do_not_matter,
    weight_is_repetition,
    precision_does_not_matter,
    perfection_is_best,
    malformed_confidence_is_refused,
    errors_of_floats_do_not_matter,
)
"""What every metric promises."""


def _scored(n: int = 500) -> tuple[Floats, Any]:
    """Confidences in float32 with ties and saturation, and their correctness."""
    rng = np.random.default_rng(0)
    confidence = np.round(np.clip(rng.normal(0.7, 0.3, n), 0, 1), 3).astype(np.float32)
    return confidence, rng.random(n) < confidence**1.5
