"""auxcal.check: new rows without labels look like those of the fit, are another mix of them, or something new."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from auxcal._core.arrays import Floats
from auxcal._core.errors import InvalidInputError
from auxcal._core.float_errors import ignore_float_errors
from auxcal.calibrators import Calibrator
from auxcal.monitoring import _known
from auxcal.monitoring._differences import Difference, differences
from auxcal.monitoring._estimates import Estimate, accuracy, foreign_share, smallest_change
from auxcal.monitoring._evidence import another_mix, something_new
from auxcal.monitoring._home import home_of
from auxcal.monitoring._known import Known, Seen, seen_by, without_copies
from auxcal.monitoring._matching import Matching, matched

Verdict = Literal["same", "mix", "new"]

FEWEST_ROWS = 20
"""Of new rows; fewer tell next to nothing."""


@dataclass(frozen=True)
class Check:
    """What new rows without labels say of a calibrator.

    No look at logits can see that labels mean something else now, and hardly that a few rows of something else are
    among the others: only labels tell. So "same" means that no difference shows, not that there is none, and the
    estimates hold under the `assumption` alone.

    Attributes
    ----------
    verdict : {"same", "mix", "new"}
        No difference from the rows of the fit shows; or they look like another mix of the same data; or no such mix
        explains them.
    p_mix, p_new : float
        The p-values behind it: of the mix being that of the fit, and of the rows being any mix of it.
    level : float
        The probability of another verdict than "same" where nothing changed.
    n_rows, n_reference : int
        How many rows there are: new ones, and those that the calibrator kept of its fit.
    accuracy : Estimate or None
        The share of predictions that are right, with a 90 % interval, if the assumption holds; None where the verdict
        is "new", since no estimate without labels holds then.
    assumption : str
        What the estimate rests on.
    no_class : Estimate or None
        The share of samples of none of the classes; None also where the calibrator does not tell it.
    no_class_before : float or None
        That share in the fit.
    smallest_change : float
        The smallest change of the accuracy, by another mix, that so many rows would show in nine of ten cases.
    adapted : bool
        Whether "same" means the mix that the calibrator was adapted to, not that of the fit.
    differences : tuple of Difference
        Where the rows differ most: readings of the logits and predicted classes, or the strata of the mix.
    n_counted, n_reference_counted : int
        How many of these rows count: copies of a row do once.
    """

    verdict: Verdict
    p_mix: float
    p_new: float
    level: float
    n_rows: int
    n_reference: int
    accuracy: Estimate | None
    assumption: str
    no_class: Estimate | None
    no_class_before: float | None
    smallest_change: float
    adapted: bool
    differences: tuple[Difference, ...]
    n_counted: int
    n_reference_counted: int

    def as_json(self) -> dict[str, Any]:
        """Return all of it, ready for JSON."""
        fields = {name: _plain(getattr(self, name)) for name in self.__dataclass_fields__}
        return fields | {"differences": [_plain(each) for each in self.differences], "answer": str(self)}

    def __str__(self) -> str:
        from auxcal.monitoring._words import answer

        return answer(self)


def _plain(value: Any) -> Any:
    return value._asdict() if isinstance(value, Estimate | Difference) else value


@ignore_float_errors
def check(
    calibrator: Calibrator, logits: ArrayLike, features: ArrayLike | None = None, *, level: float = 0.05
) -> Check:
    """Check without labels whether a calibrator still holds for new rows.

    Parameters
    ----------
    calibrator : Calibrator
        A fitted one; it knows the rows that it was fitted on.
    logits : array of shape (n, K)
        The raw scores of the same target classifier for the new rows, or probabilities after a fit on such. Beyond
        20,000 rows, a random sample is used.
    features : array of shape (n, d), optional
        The further inputs of each sample, if the calibrator was fitted with any.
    level : float
        The rate of false alarms: of verdicts other than "same" if nothing has changed.

    Returns
    -------
    Check
        Its `verdict` is "same", "mix" (call `calibrator.adapt(logits)`, which needs no labels) or "new" (the confidence
        may be off here: label some of these rows, and fit again if so). Where nothing changes, one check in twenty
        says so all the same, by `level`; for a check each night use `Monitor`, whose level is that of all nights.

    Examples
    --------
    >>> import numpy as np
    >>> import auxcal
    >>> rng = np.random.default_rng(0)
    >>> def rows(n, foreign):
    ...     y = np.where(rng.random(n) < foreign, auxcal.NO_CLASS, rng.integers(3, size=n))
    ...     return (4 * np.eye(4)[y])[:, :3] + rng.normal(size=(n, 3)), y
    >>> calibrator = auxcal.CrossFittedCCAC(random_state=0).fit(*rows(2000, foreign=0.2))
    >>> auxcal.check(calibrator, rows(1000, foreign=0.2)[0]).verdict
    'same'
    >>> found = auxcal.check(calibrator, rows(1000, foreign=0.5)[0])
    >>> found.verdict, round(found.no_class.value, 1)
    ('mix', 0.5)
    >>> auxcal.check(calibrator, rows(1000, foreign=0.2)[0] / 2).verdict
    'new'
    """
    if not isinstance(calibrator, Calibrator):
        raise InvalidInputError(
            f"calibrator must be a fitted auxcal.Calibrator; got {type(calibrator).__name__}. Fit one, or load it."
        )
    calibrator, level = calibrator._now(), as_level(level)
    array, further = calibrator.validate_rows(logits, features)
    return check_seen(calibrator, sampled_rows(calibrator, array, further), level)


def sampled_rows(calibrator: Calibrator, logits: Floats, features: Floats | None) -> Seen:
    """Return rows, at most as many as are looked at, drawn at random, as the calibrator sees them."""
    most = _known.MOST_ROWS
    if len(logits) > most:
        kept = np.sort(np.random.default_rng(0).choice(len(logits), most, replace=False))
        logits, features = logits[kept], None if features is None else features[kept]
    return seen_by(calibrator, logits, features)


def compare(calibrator: Calibrator, seen: Seen) -> tuple[Known, Matching, Seen]:
    """Return the rows of a calibrator's reference, the mix of new rows by them, and these; without copies of rows."""
    if calibrator.reference_ is None:
        raise InvalidInputError(
            f"this {type(calibrator).__name__} knows nothing of the rows that it was fitted on: it was saved before "
            f"calibrators had a reference. Fit it again with fit(logits, y) (auxcal fit)."
        )
    if len(seen.prediction) < FEWEST_ROWS:
        raise InvalidInputError(
            f"at least {FEWEST_ROWS} rows are needed to tell whether they are like others; got {len(seen.prediction)}. "
            f"Collect more rows."
        )
    reference, seen = without_copies(calibrator.reference_, seen)
    known = Known(reference)
    return known, matched(known, known.grouped(seen.strata)), seen


@ignore_float_errors
def check_seen(calibrator: Calibrator, seen: Seen, level: float) -> Check:
    """Return the check of rows that the calibrator has seen already."""
    n_rows = len(seen.prediction)
    known, matching, seen = compare(calibrator, seen)
    verdict, p_mix, p_new = verdict_of(calibrator, matching, seen, level)
    estimate = accuracy(matching, seen)
    none = foreign_share(matching)
    return Check(
        verdict=verdict,
        p_mix=p_mix,
        p_new=p_new,
        level=level,
        n_rows=n_rows,
        n_reference=0 if calibrator.reference_ is None else len(calibrator.reference_.y),
        accuracy=None if verdict == "new" else estimate,
        assumption=_assumption(verdict, by_class=known.by_class),
        no_class=None if verdict == "new" else none,
        no_class_before=None if none is None else float(known.shares[known.group[-1]]),
        smallest_change=smallest_change(matching, estimate, _each(level)),
        adapted=calibrator.adaptation_ is not None,
        differences=differences(matching, seen, calibrator.inputs_.class_names, verdict, home_of(calibrator, known)),
        n_counted=len(seen.prediction),
        n_reference_counted=len(known.at),
    )


def verdict_of(calibrator: Calibrator, matching: Matching, seen: Seen, level: float) -> tuple[Verdict, float, float]:
    """Return the verdict and the p-values behind it."""
    p_mix = another_mix(matching.known, matching.new, home_of(calibrator, matching.known))
    p_new = something_new(matching, seen)
    each = _each(level)
    return "new" if p_new < each else "mix" if p_mix < each else "same", p_mix, p_new


def _each(level: float) -> float:
    """Return the level of each of the two questions, which are independent, so that they have the level together."""
    return float(1 - np.sqrt(1 - level))


def _assumption(verdict: Verdict, *, by_class: bool) -> str:
    if verdict == "new":
        return "can't be estimated without labels"
    strata = "each class, and samples of none," if by_class else "right and wrong predictions each"
    return f"{strata} look as they did in the fit; only their shares changed"


def as_level(level: float) -> float:
    """Check a level, and return it as a number of Python."""
    if not isinstance(level, int | float | np.floating) or not 0 < level < 1:
        raise InvalidInputError(f"level must be a number between 0 and 1, such as 0.05; got {level!r}.")
    return float(level)
