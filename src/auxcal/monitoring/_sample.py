"""A random sample of rows that come in batches: to check them all, to keep a promise, and to watch while scoring."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auxcal._core.arrays import Floats
from auxcal._core.sampling import Reservoir, in_order
from auxcal.calibrators import Calibrator
from auxcal.monitoring import _mix
from auxcal.monitoring._check import Check, check_rows
from auxcal.monitoring._mix import Representations, counted_once, represent
from auxcal.monitoring._two_samples import FEWEST_ROWS, Verdict, as_level, compare, quick_p_value
from auxcal.reference import drawn_by_weight
from auxcal.splits import row_hashes

WATCHED_ROWS = 5000
"""That `ScoreWatch` keeps: as many as the largest reference has, whose error then is half of it all."""

SCREENED_ROWS, SCREEN_LEVEL = 2000, 0.1
"""So many rows of either side are compared quickly first; only if these differ at the level, all are compared.

It only drops alarms, so that false ones keep their level; benchmarks/without_labels/watching.py counts those it drops.
"""


def new_sample(n: int | None = None) -> Reservoir:
    """Return an empty sample of as many rows as a check looks at, or of n."""
    return Reservoir(_mix.MOST_ROWS if n is None else n, np.random.default_rng(0))


def represented(sample: Reservoir) -> Representations:
    """Return the rows of a sample of representations, in the order in which they came."""
    rows = in_order(sample.rows)
    return Representations(*(rows[name] for name in Representations._fields))


class RowSample:
    """A random sample of rows, as large as a check looks at, with their confidence if a promise depends on it.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal import PlattScaling
    >>> from auxcal.monitoring import RowSample
    >>> logits = 2 * np.eye(2, dtype=np.float32).repeat(50, axis=0)
    >>> sample = RowSample(PlattScaling().fit(logits, [0, 1] * 50))
    >>> sample.add(logits)
    >>> sample.add(logits)
    >>> sample.n_rows, sample.check(level=0.05).verdict, sample.guarantee_holds()
    (200, 'same', None)
    """

    def __init__(self, calibrator: Calibrator) -> None:
        self.calibrator = calibrator
        self._rows = new_sample()

    @property
    def n_rows(self) -> int:
        """The number of all rows that came."""
        return self._rows.n_rows

    def add(self, logits: Floats, features: Floats | None = None) -> None:
        """Give validated rows a chance to be in the sample; only those that may stay are represented."""
        drawn = self._rows.draw(len(logits))
        if not len(at := drawn.places):
            return
        logits, features = logits[at], None if features is None else features[at]
        rows = represent(self.calibrator, logits, features)._asdict()
        if knows_promised_rows(self.calibrator):
            rows["confidence"] = self.calibrator.score_validated(logits, features)
        self._rows.hold(rows, drawn)

    @property
    def seen(self) -> Representations:
        """The rows of the sample as the calibrator represents them, in the order in which they came."""
        return represented(self._rows)

    def check(self, *, level: float) -> Check:
        """Return the result of `auxcal.check` for them."""
        return check_rows(self.calibrator, self.seen, as_level(level))

    def guarantee_holds(self) -> bool | None:
        """Return whether the calibrator's promise holds for the rows; None if it is not known which it was made on."""
        return promise_holds(self.calibrator, self._rows) if knows_promised_rows(self.calibrator) else None


def sampled(calibrator: Calibrator, batches: Iterable[tuple[Floats, Floats | None]]) -> RowSample:
    """Return a sample of the rows of all batches of logits and features."""
    sample = RowSample(calibrator)
    for logits, features in batches:
        sample.add(logits, features)
    return sample


def knows_promised_rows(calibrator: Calibrator) -> bool:
    """Return whether a calibrator has a promise that knows the rows it was made on."""
    return calibrator.certificate_ is not None and calibrator.certificate_.found_on is not None


def promise_holds(calibrator: Calibrator, sample: Reservoir) -> bool | None:
    """Return whether the promise holds for a sample of confidences, predictions and hashes; copies count once."""
    certificate, reference = calibrator.certificate_, calibrator.reference_
    if certificate is None or not sample.n_rows:
        return True
    rows = sample.rows
    confidence, prediction, hashes = (rows[name] for name in ("confidence", "prediction", "hashes"))
    if not calibrator.takes_signals:  # which are often equal by themselves
        once = counted_once(hashes, np.empty(0, np.uint64) if reference is None else reference.hashes)
        confidence, prediction = confidence[once], prediction[once]
    return certificate.holds_for(confidence, prediction)


class ScoreWatch:
    """Watches rows while they are scored, with the confidence that was computed anyway.

    `update` only copies the rows that may stay in a random sample, at most `WATCHED_ROWS`, and keeps the confidence of
    20,000 if there is a promise to be kept. The rest of the work is done once, when the verdict is asked for: some
    rows are compared quickly with the reference and, if they seem to differ, all, without the estimates of a `Check`.

    Parameters
    ----------
    calibrator : Calibrator
        The fitted calibrator that scores.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal import PlattScaling
    >>> from auxcal.monitoring import ScoreWatch
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(3, size=1000)
    >>> logits = rng.normal(size=(1000, 3)) + 3 * np.eye(3)[y]
    >>> calibrator = PlattScaling().fit(logits, y)
    >>> watch = ScoreWatch(calibrator)
    >>> for rows in np.split(logits / 2, 10):
    ...     watch.update(rows, calibrator.predict_confidence(rows))
    >>> watch.n_rows, watch.verdict(), watch.guarantee_holds()
    (1000, 'new', None)
    """

    def __init__(self, calibrator: Calibrator) -> None:
        self.calibrator = calibrator
        self._rows, self._promised = new_sample(WATCHED_ROWS), new_sample()
        self._verdicts: dict[tuple[int, float], Verdict] = {}
        self._confidence, self._n_confident = 0.0, 0

    @property
    def n_rows(self) -> int:
        """The number of all rows that came."""
        return self._rows.n_rows

    @property
    def mean_confidence(self) -> float | None:
        """The mean of the confidence that came; None where none did."""
        return self._confidence / self._n_confident if self._n_confident else None

    def update(self, logits: Floats, confidence: Floats | None, features: Floats | None = None) -> None:
        """Watch rows that are validated and scored.

        Parameters
        ----------
        logits : array of shape (n, K)
            Validated logits, never probabilities.
        confidence : array of shape (n,) or None
            What the calibrator gave for them; with None, that of the rows that are kept is computed again.
        features : array of shape (n, d), optional
            Their features, if the calibrator was fitted with such.
        """
        if self.calibrator.reference_ is not None:
            self._rows.add({"logits": logits} if features is None else {"logits": logits, "features": features})
        if knows_promised_rows(self.calibrator):
            self._keep_confidence(logits, features, confidence)
        if confidence is not None:
            self._confidence += float(confidence.sum(dtype=np.float64))
            self._n_confident += len(confidence)

    def check(self, level: float = 0.01) -> Check | None:
        """Return the result of `auxcal.check` for the rows that were kept; None if they are too few."""
        if self.n_rows < FEWEST_ROWS or self.calibrator.reference_ is None:
            return None
        return check_rows(self.calibrator, self._represented(), as_level(level))

    def verdict(self, level: float = 0.01) -> Verdict:
        """Return whether the rows are like those of the fit; "same" if they are too few, or there is no reference."""
        if self.n_rows < FEWEST_ROWS:
            return "same"
        known = self.n_rows, as_level(level)
        if known not in self._verdicts:
            differ = self._differ(level)
            self._verdicts[known] = (
                compare(self.calibrator, self._represented()).verdict_at(level) if differ else "same"
            )
        return self._verdicts[known]

    def guarantee_holds(self) -> bool | None:
        """Return whether the calibrator's promise holds for the rows; None if it has none.

        If the promise does not know the rows that it was made on, it holds while the verdict is "same".
        """
        if self.calibrator.certificate_ is None:
            return None
        if knows_promised_rows(self.calibrator):
            return promise_holds(self.calibrator, self._promised)
        return self.verdict() == "same"

    def _keep_confidence(self, logits: Floats, features: Floats | None, confidence: Floats | None) -> None:
        drawn = self._promised.draw(len(logits))
        if not len(at := drawn.places):
            return
        logits, features = logits[at], None if features is None else features[at]
        rows: dict[str, NDArray[Any]] = {
            "confidence": self.calibrator.score_validated(logits, features) if confidence is None else confidence[at],
            "prediction": logits.argmax(axis=1),
            "hashes": row_hashes(logits, features),
        }
        self._promised.hold(rows, drawn)

    def _represented(self) -> Representations:
        rows = in_order(self._rows.rows)
        return represent(self.calibrator, rows["logits"], rows.get("features"))

    def _differ(self, level: float) -> bool:
        """Return whether rows may differ from those of the fit, by a quick look at some."""
        rows, reference = self._rows.rows, self.calibrator.reference_
        if reference is None or len(rows["logits"]) <= SCREENED_ROWS or level >= SCREEN_LEVEL:
            return True
        some: Mapping[str, NDArray[Any]] = {name: column[:SCREENED_ROWS] for name, column in rows.items()}
        old = reference.take(drawn_by_weight(len(reference.y), None, SCREENED_ROWS))
        readings = self.calibrator.read(some["logits"], some.get("features"))
        return quick_p_value(old, readings, some["logits"].argmax(axis=1)) < SCREEN_LEVEL
