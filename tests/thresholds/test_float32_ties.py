"""Confidences that are equal in float32 are accepted together, however they are kept and compared."""

import numpy as np
import pytest
from scipy.stats import binom

from auxcal import Certificate, InvalidInputError
from auxcal.thresholds import risk_at_coverage, threshold_at_risk, thresholds_at_risks


class TestTies:
    """Confidences that are equal in float32 are accepted together, however they are kept and compared."""

    @staticmethod
    def ways(confidence, threshold):
        """Return what is accepted where confidences are float32, float64 or text, and are compared in either."""
        single = confidence.astype(np.float32)
        return [
            single >= threshold,
            single >= np.float32(threshold),
            single >= np.float64(threshold),
            single.astype(np.float64) >= threshold,
            np.array([float(str(each)) for each in single]) >= threshold,
            np.array([each >= threshold for each in single]),
            np.array([each >= threshold for each in single.tolist()]),
            Certificate(threshold, 0.1, 0.95, 100, 0.5).accepts(single),
        ]

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("value", [0.1, 0.3, 0.7, 0.9, 1 - 2**-24, 0.123456789])
    def test_every_way_to_compare_accepts_the_same_rows(self, value, dtype):
        """A tie just below the accepted rows was accepted with them where it is a number that float32 rounds down."""
        above = np.nextafter(np.float32(value), np.float32(1))
        for high in {float(above), float(np.nextafter(above, np.float32(1))), 1.0}:
            confidence = np.repeat([high, value], 100).astype(dtype)
            correct = np.repeat([True, False], 100)
            expected = np.repeat([True, False], 100)
            for found in (
                threshold_at_risk(confidence, correct, 0.05),
                threshold_at_risk(confidence, correct, 0.05, promise=False),
                risk_at_coverage(confidence, correct, 0.3),
            ):
                assert found.coverage == 0.5
                for accepted in self.ways(confidence, found.threshold):
                    np.testing.assert_array_equal(accepted, expected)

    def test_numbers_that_only_float64_tells_apart_are_one(self):
        confidence, correct = 0.7 + 1e-9 * np.linspace(1, -1, 400), np.arange(400) < 200
        assert thresholds_at_risks(confidence, correct, [0.05]) == {0.05: None}
        assert risk_at_coverage(confidence, correct, 0.4).coverage == 1
        with pytest.raises(InvalidInputError, match="no threshold keeps the error"):
            threshold_at_risk(confidence, correct, 0.05, promise=False)

    @pytest.mark.parametrize("steps", [3, 20])
    def test_promises_hold_where_binned_confidences_are_float32(self, steps):
        levels = np.sort(np.random.default_rng(1).random(steps).astype(np.float32))
        right = np.linspace(0.6, 0.99, steps)
        true = [1 - right[place:].mean() for place in range(steps)]
        rng, broken, trials = np.random.default_rng(0), 0, 400
        for _ in range(trials):
            places = rng.integers(steps, size=300)
            found = thresholds_at_risks(levels[places], rng.random(300) < right[places], [0.1])[0.1]
            broken += found is not None and true[int(np.argmax(levels >= found.threshold))] > 0.1
        assert broken <= binom.ppf(0.999, trials, 0.05)
