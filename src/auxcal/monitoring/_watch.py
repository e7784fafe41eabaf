"""Random samples of rows that come in batches, to check them all; watching while scoring."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from auxcal._core.arrays import Floats
from auxcal._core.sampling import Drawn, Reservoir, in_order
from auxcal.calibrators import Calibrator
from auxcal.monitoring import _mix
from auxcal.monitoring._check import Check, check_rows
from auxcal.monitoring._mix import Representations, counted_once, represent
from auxcal.monitoring._verdict import FEWEST_ROWS, Verdict, as_level, compare, quick_p_value
from auxcal.reference import drawn_by_weight
from auxcal.splits import row_hashes

WATCHED_ROWS = 5000
"""Of which `ScoreWatch` reads its verdict: as many as the largest reference has, whose error then is half of it all."""

SCREENED_ROWS, SCREEN_LEVEL = 2000, 0.1
"""So many rows of either side are compared quickly first; only if these differ at the level, all are compared.

It only drops alarms, so that false ones keep their level; benchmarks/without_labels/watching.py counts those it drops.
"""


class RowSample:
    """A random sample of rows, as large as a check looks at.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal import PlattScaling
    >>> from auxcal.monitoring import RowSample
    >>> logits = 2 * np.eye(2, dtype=np.float32).repeat(50, axis=0)
    >>> sample = RowSample(PlattScaling().fit(logits, [0, 1] * 50))
    >>> sample.add(logits)
    >>> sample.add(logits)
    >>> sample.n_rows, sample.check(level=0.05).verdict
    (200, 'same')
    """

    def __init__(self, calibrator: Calibrator) -> None:
        self.calibrator = calibrator
        self._rows = Reservoir(_mix.MOST_ROWS, np.random.default_rng(0))

    @property
    def n_rows(self) -> int:
        """The number of all rows that came."""
        return self._rows.n_rows

    def add(self, logits: Floats, features: Floats | None = None) -> None:
        """Give validated rows a chance to be in the sample."""
        drawn = self.draw(len(logits))
        if len(at := drawn.places):
            self.hold(represent(self.calibrator, logits[at], None if features is None else features[at]), drawn)

    def draw(self, n_rows: int) -> Drawn:
        """Return which of new rows may stay; the others need not be represented."""
        return self._rows.draw(n_rows)

    def hold(self, rows: Representations, drawn: Drawn) -> None:
        """Keep those of the rows that stay."""
        self._rows.hold(rows._asdict(), drawn)

    @property
    def seen(self) -> Representations:
        """The rows of the sample as the calibrator represents them, in the order in which they came."""
        return Representations(**in_order(self._rows.rows))

    def check(self, *, level: float) -> Check:
        """Return the result of `auxcal.check` for them."""
        return check_rows(self.calibrator, self.seen, as_level(level))


def sampled(calibrator: Calibrator, batches: Iterable[tuple[Floats, Floats | None]]) -> RowSample:
    """Return a sample of the rows of all batches of logits and features."""
    sample = RowSample(calibrator)
    for logits, features in batches:
        sample.add(logits, features)
    return sample


class PromiseSample:
    """A random sample of rows, to compare with those that the calibrator's promise was found on.

    Copies of a row count once.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal import Uncalibrated
    >>> from auxcal.monitoring import PromiseSample
    >>> logits = np.random.default_rng(0).normal(size=(200, 3))
    >>> fitted = Uncalibrated().fit(logits, logits.argmax(axis=1))
    >>> sample = PromiseSample(fitted)
    >>> sample.add(logits)
    >>> sample.guarantee_holds() is None  # there is no promise
    True
    """

    def __init__(self, calibrator: Calibrator) -> None:
        self.calibrator = calibrator
        certificate = calibrator.certificate_
        self._rows: Reservoir | None = None
        if certificate is not None and certificate.found_on is not None:
            self._rows = Reservoir(_mix.MOST_ROWS, np.random.default_rng(0))

    def add(self, logits: Floats, features: Floats | None = None, confidence: Floats | None = None) -> None:
        """Give validated rows a chance to be in the sample; without their confidence, it is computed."""
        if self._rows is None:
            return
        drawn = self._rows.draw(len(logits))
        if not len(at := drawn.places):
            return
        logits, features = logits[at], None if features is None else features[at]
        confidence = self.calibrator.score_validated(logits, features) if confidence is None else confidence[at]
        columns = {"confidence": confidence, "prediction": logits.argmax(axis=1)}
        self._rows.hold(columns | {"hashes": row_hashes(logits, features)}, drawn)

    def guarantee_holds(self) -> bool | None:
        """Whether the promise holds for the rows; None if it is not known which rows it was found on."""
        certificate, reference = self.calibrator.certificate_, self.calibrator.reference_
        if self._rows is None or certificate is None:
            return None
        if not self._rows.n_rows:
            return True
        rows = self._rows.rows
        old = np.empty(0, np.uint64) if reference is None else reference.hashes
        signals = self.calibrator.takes_signals  # which are often equal by themselves
        once = slice(None) if signals else counted_once(rows["hashes"], old)
        return certificate.holds_for(rows["confidence"][once], rows["prediction"][once])


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
        self._rows = Reservoir(WATCHED_ROWS, np.random.default_rng(0))
        self._promise = PromiseSample(calibrator)
        self._verdict: tuple[int, float, Verdict] | None = None
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
        self._promise.add(logits, features, confidence)
        if confidence is not None:
            self._confidence += float(confidence.sum(dtype=np.float64))
            self._n_confident += len(confidence)

    def check(self, level: float = 0.01) -> Check | None:
        """Return the result of `auxcal.check` for the rows that were kept; None if they are too few."""
        if self.n_rows < FEWEST_ROWS or self.calibrator.reference_ is None:
            return None
        rows = in_order(self._rows.rows)
        return check_rows(
            self.calibrator, represent(self.calibrator, rows["logits"], rows.get("features")), as_level(level)
        )

    def verdict(self, level: float = 0.01) -> Verdict:
        """Return whether the rows are like those of the fit; "same" if they are too few, or there is no reference."""
        if self.n_rows < FEWEST_ROWS:
            return "same"
        if self._verdict is None or self._verdict[:2] != (self.n_rows, level):
            rows = self._rows.rows
            found: Verdict = "same"
            if self._differ(rows["logits"], rows.get("features"), as_level(level)):
                rows = in_order(rows)
                represented = represent(self.calibrator, rows["logits"], rows.get("features"))
                found = compare(self.calibrator, represented, as_level(level)).verdict
            self._verdict = self.n_rows, level, found
        return self._verdict[2]

    def _differ(self, logits: Floats, features: Floats | None, level: float) -> bool:
        """Whether rows, which are in random order, may differ from those of the fit."""
        reference = self.calibrator.reference_
        if reference is None or len(logits) <= SCREENED_ROWS or level >= SCREEN_LEVEL:
            return True
        old = reference.take(drawn_by_weight(len(reference.y), None, SCREENED_ROWS))
        some, further = logits[:SCREENED_ROWS], None if features is None else features[:SCREENED_ROWS]
        return quick_p_value(old, self.calibrator.read(some, further), some.argmax(axis=1)) < SCREEN_LEVEL

    def guarantee_holds(self) -> bool | None:
        """Return whether the calibrator's promise holds for the rows; None if it has none.

        If the promise does not know the rows that it was found on, it holds while the verdict is "same".
        """
        if self.calibrator.certificate_ is None:
            return None
        found = self._promise.guarantee_holds()
        return self.verdict() == "same" if found is None else found
