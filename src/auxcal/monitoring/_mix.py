"""The mix of new rows: the shares of the classes, and of none, that make the reference look like them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from auxcal._core.arrays import Floats, Ints
from auxcal._core.equal_rows import EqualRows, are_copies
from auxcal._core.float_errors import ignore_float_errors
from auxcal._core.threads import cached_property
from auxcal.adaptation import Adaptation
from auxcal.calibrators import Calibrator
from auxcal.reference import Reference, drawn_by_weight, stratum_of
from auxcal.splits import row_hashes

MOST_ROWS = 20_000
"""The most new rows that a check looks at: four times those of the largest reference, whose error then dominates."""

# Set by hand on random states that are not reported; benchmarks/without_labels measures the false alarms with them.
_LEAST_ROWS = 10  # of a stratum; fewer say too little of what it looks like
_NEAR = 2  # rows: classes this close to the limit estimate how many have exactly as many rows as the limit
_MOST_RARE = 0.99  # the largest share of the rare classes together
_ROUNDS = 3  # of linear equations: the shares hardly move after the first
_LEARNED_NUMBERS = 4  # of a calibrator for each stratum; see `ReferenceGroups.inflation`

# Numerical: no share is 0, and expectation maximisation ends.
_TINY = 1e-6
_STEPS, _ENOUGH = 500, 1e-6


class Representations(NamedTuple):
    """New rows: how likely each is of each stratum, what is read from its logits, its prediction and its hash."""

    strata: Floats
    readings: Floats
    prediction: Ints
    hashes: NDArray[np.uint64]

    def take(self, rows: Ints) -> Representations:
        """Return some of the rows."""
        return Representations(self.strata[rows], self.readings[rows], self.prediction[rows], self.hashes[rows])


@ignore_float_errors
def represent(
    calibrator: Calibrator, logits: Floats, features: Floats | None, readings: Floats | None = None
) -> Representations:
    """Return validated rows as the calibrator represents them, rounded as the rows of the reference are."""
    strata = calibrator.strata(logits, features).astype(np.float16)
    readings = calibrator.read(logits, features) if readings is None else readings
    return Representations(strata, readings, logits.argmax(axis=1), row_hashes(logits, features))


def each_once(reference: Reference) -> Reference:
    """Return a reference in which copies of a row count once, before any new row has come.

    If every row was copied as often, one of each is left. Other copies have one label: if equal rows have several, the
    classifier gives few different values, and each row is a draw.
    """
    if reference.hashes is None or reference.n_classes == 1:  # signals are often equal by themselves
        return reference
    equal = EqualRows.of(reference.hashes, reference.y)
    rows = np.flatnonzero(equal.rank() % equal.times == 0)
    hashes = reference.hashes[rows]
    if len(equal.counts) == len(np.unique(hashes)):
        rows = rows[counted_once(hashes, hashes[:0])]
    return reference.take(rows)


def counted_once(hashes: NDArray[np.uint64], elsewhere: NDArray[np.uint64]) -> Ints:
    """Return rows that are no copies of each other, and represent all.

    If a classifier gives few different values, rows are equal by themselves, and each is a draw. Then the same values
    are found elsewhere too, or repeat very often. Otherwise equal rows are copies. If some rows have more copies than
    others, rows are drawn by their number of copies, so that the others don't count more than they did.
    """
    values, at, counts = np.unique(hashes, return_inverse=True, return_counts=True)
    copied = (counts > 1) & ~np.isin(values, elsewhere)
    if not are_copies(counts[copied]):
        return np.arange(len(hashes))
    first = np.zeros(len(hashes), dtype=bool)
    first[np.unique(hashes, return_index=True)[1]] = True
    rows = np.flatnonzero(first | ~copied[at])
    weight = np.where(copied[at], counts[at], 1)[rows]
    return rows[drawn_by_weight(len(rows), weight.astype(np.float64), len(rows))]


class ReferenceGroups:
    """The rows of a reference by group: a stratum, or all strata that have hardly any rows.

    `group` is the group of each stratum, the first being that of the small ones; `of_row`, `counts`, `shares` and
    `strata` are the group of each row, the number and the share of the rows of each group, and how likely each row is
    of each group. `ood_group` is the group of the rows outside the classes, if that is a group of its own.
    """

    def __init__(self, reference: Reference) -> None:
        self.reference = reference
        n_strata, strata = reference.strata.shape[1], stratum_of(reference)
        counts = self.stratum_counts = np.bincount(strata, minlength=n_strata)
        # A class that has ten rows by chance alone would seem to lose some: where most have fewer, it must have many.
        self.least = _LEAST_ROWS if np.median(counts) >= _LEAST_ROWS else 2 * _LEAST_ROWS
        order = np.argsort(counts, kind="stable")
        small = max(int(np.sum(counts < self.least)), 1)
        while np.sum(counts[order[:small]]) < _LEAST_ROWS and small < len(order):
            small += 1
        self.group: Ints = np.zeros(len(counts), dtype=np.intp)
        self.group[np.sort(order[small:])] = 1 + np.arange(len(order) - small)
        self.of_row = self.group[strata]
        self.counts = np.bincount(self.of_row, minlength=self.group.max() + 1)
        self.shares: Floats = self.counts / self.counts.sum()
        self.by_class = n_strata == reference.n_classes + 1 > 2
        alone = n_strata > 2 and bool(np.sum(self.group == self.group[-1]) == 1)
        self.ood_group = int(self.group[-1]) if alone else None
        # Variances grow by this factor, since ψ was learned from the rows of the reference themselves. They were held
        # out when it was evaluated on them, so it had seen a few rows fewer than for new rows; how much that matters
        # was measured on random states that are not reported.
        self.inflation = 1 + _LEARNED_NUMBERS * len(self.counts) / len(self.of_row)
        self.strata = self.grouped(reference.strata)

    def names(self, class_names: Sequence[str]) -> list[str]:
        """Return what each group is called."""
        strata = ["right predictions", "wrong predictions", "no class"]
        if self.by_class:
            strata = [*class_names, "no class"]
        members: list[list[str]] = [[] for _ in self.counts]
        for name, group in zip(strata, self.group, strict=False):
            members[group].append(name)
        return [each[0] if len(each) == 1 else f"{len(each)} rare classes" for each in members]

    def grouped(self, strata: Floats) -> Floats:
        """Return how likely rows are of each group; nothing is impossible."""
        sums = np.empty((len(strata), len(self.counts)))
        for j in range(len(self.counts)):
            members = np.flatnonzero(self.group == j)
            sums[:, j] = strata[:, members[0]] if len(members) == 1 else strata[:, members].sum(axis=1)
        sums = np.maximum(sums, _TINY)
        return sums / sums.sum(axis=1, keepdims=True)

    def means(self, values: Floats) -> Floats:
        """Return the means of numbers of the rows over each group, of shape (groups, d)."""
        sums = [np.bincount(self.of_row, column, minlength=len(self.counts)) for column in values.T]
        return np.stack(sums, axis=1) / self.counts[:, None]

    def confidence(self, strata: Floats, prediction: Ints, shares: Floats) -> Floats:
        """Return how likely each prediction is right if the groups have other shares."""
        weighed = strata.astype(np.float64) * (shares / self.shares)[self.group]
        at = prediction if self.by_class else np.zeros_like(prediction)
        right = weighed[np.arange(len(at)), at]
        return right / np.maximum(weighed.sum(axis=1), _TINY)

    def variance_weight(self, shares: Floats, n_new: int) -> Floats:
        """Return w of each row, so that Σ_j v_j (1/m + v_j/n_j) C_j is the sum of w times squared deviations.

        v are the shares, m the number of new rows, n_j and C_j the rows and the covariance of group j.
        """
        v, n = shares[self.of_row], self.counts[self.of_row]
        return v * (1 / n_new + v / n) / np.maximum(n - 1, 1)


class ShareEstimate:
    """The shares v of the groups in new rows, and their errors.

    Expectation maximisation finds where the ψ of the new rows have the mean 1, with ψ_j = (p_j/π_j) / Σ_i v_i p_i/π_i
    for the distribution p of the calibrator and the shares π of the fit. Where p is a little wrong, so are they. So v
    is then taken from the reference, whose strata are known: the mean of ψ in the new rows is Σ_j v_j times its mean in
    stratum j, which is a system of linear equations. ψ need not be taken at v for this; near it, it tells most.

    Attributes
    ----------
    new : array of shape (m, groups)
        How likely each new row is of each group.
    shares : array of shape (groups,)
        v.
    old_ratios, new_ratios : arrays of shape (n, groups) and (m, groups)
        ψ of the reference and of the new rows.
    row_weight, variance_weight : arrays of shape (n,)
        The weights of the rows of the reference in the new mix: in means, and in variances.
    identifies_shares : bool
        Whether ψ tells all shares; it does not if the calibrator gives the same for every row.
    """

    def __init__(self, groups: ReferenceGroups, rows: Representations) -> None:
        self.groups, self.rows, self.new = groups, rows, groups.grouped(rows.strata)
        before, m = groups.shares, len(self.new)
        shares = _maximise_likelihood(self.new / before, before)
        for _ in range(_ROUNDS):
            near = (m * shares + len(before) * before) / (m + len(before))
            self.old_ratios = likelihood_ratios(groups.strata, before, near)
            self.new_ratios = likelihood_ratios(self.new, before, near)
            self._means = groups.means(self.old_ratios)
            self._inverse = np.linalg.pinv(self._means.T, rcond=_ENOUGH)
            excess = np.asarray(self.new_ratios.mean(axis=0) - before @ self._means)
            shares = np.maximum(before + self._inverse @ excess, 0)
            shares /= shares.sum()
        self.shares = shares
        self.row_weight: Floats = (shares / groups.counts)[groups.of_row]
        self.variance_weight = groups.variance_weight(shares, m)
        rank = np.linalg.matrix_rank(self._means, tol=_ENOUGH * np.linalg.norm(self._means, 2))
        self.identifies_shares = bool(rank == len(self._means))

    def difference(self, old: Floats, new: Floats) -> tuple[Floats, Floats]:
        """Return how much numbers of the new rows differ from those of the weighed reference, and their deviations.

        Whatever ψ tells of a number is taken off both first. What is left does not depend on the error of v, and has
        the variance Σ_j v_j (1/m + v_j/n_j) C_j: the sum of the squared deviations from the means of the groups, times
        `variance_weight`.
        """
        by_ratio = self._inverse.T @ self.groups.means(old)
        left = old - self.old_ratios @ by_ratio
        means = self.groups.means(left)
        difference = (new - self.new_ratios @ by_ratio).mean(axis=0) - self.shares @ means
        return difference, left - means[self.groups.of_row]

    @cached_property
    def error(self) -> Floats:
        """The covariance of v as an estimate of the shares in these very rows."""
        deviations = self.old_ratios - self._means[self.groups.of_row]
        return self._inverse @ ((deviations * self.variance_weight[:, None]).T @ deviations) @ self._inverse.T

    @cached_property
    def covariance(self) -> Floats:
        """The covariance of v as an estimate of the mix that the rows were drawn from."""
        between = self._means - self.shares @ self._means
        drawn = (between * self.shares[:, None]).T @ between / len(self.new)
        return self.error + self._inverse @ drawn @ self._inverse.T

    @cached_property
    def shrunk(self) -> Floats:
        """The shares of these rows, shrunk towards the reference by their error."""
        return shrink_shares(self.groups, self.shares, np.diag(self.error), len(self.new))


def likelihood_ratios(strata: Floats, before: Floats, shares: Floats) -> Floats:
    """Return ψ: how much likelier each row is of each group than in a mix with these shares."""
    likelihood = strata / before
    return likelihood / (likelihood @ shares)[:, None]


def _maximise_likelihood(likelihood: Floats, start: Floats) -> Floats:
    """Return the likeliest shares by expectation maximisation; the fit's shares count as one more row."""
    shares = start
    for _ in range(_STEPS):
        total = (1 / (likelihood @ shares)) @ likelihood
        before, shares = shares, (shares * total + start) / (len(likelihood) + 1)
        if np.abs(shares - before).max() < _ENOUGH:
            break
    return shares


def shrink_shares(groups: ReferenceGroups, shares: Floats, variance: Floats, n_rows: float = math.inf) -> Floats:
    """Shrink shares towards those of the reference, by their estimation error.

    The share outside the classes and those of the classes among each other are two questions: either may change alone.
    `n_rows` is the number of rows that the shares are of, infinite for all rows to come: the shares of few rows change
    by chance, even if the mix is the same.
    """
    if groups.ood_group is None:
        return _shrink(shares, groups.shares, variance, n_rows)
    ood = np.arange(len(shares)) == groups.ood_group
    share = _shrink(shares[ood], groups.shares[ood], variance[ood], n_rows)[0]
    rest, before = max(shares[~ood].sum(), _TINY), groups.shares[~ood].sum()
    among = _shrink(shares[~ood] / rest, groups.shares[~ood] / before, variance[~ood] / rest**2, n_rows * rest)
    result = np.empty_like(shares)
    result[ood], result[~ood] = share, among * (1 - share)
    return result


def _shrink(shares: Floats, before: Floats, variance: Floats, n_rows: float) -> Floats:
    """Return shares between those before and the estimated, by how much of the change is more than its error."""
    change, error = shares - before, float(variance.sum())
    by_chance = float(before @ (1 - before)) / n_rows
    real = max(float(change @ change) - error, by_chance)
    return before + change * (real / (real + error) if real > 0 else 0.0)


class TargetMix(NamedTuple):
    """The mix that a calibrator is for: that of the fit, or the one that it was adapted to since.

    The shares of the groups were estimated from `n_rows`, and have a further error: one standard deviation of it.
    """

    shares: Floats
    n_rows: int
    error: Floats

    @classmethod
    def of(cls, groups: ReferenceGroups, adaptation: Adaptation | None) -> TargetMix:
        """Return the mix of an adaptation, or else the one of which the rows of the fit are a sample.

        Rare classes are one group. Some are in it because they have fewer rows than they should, so new rows have more
        of them. By Good and Turing's rule the classes with fewer than t rows have as many in truth as those with at
        most t have in the sample. Few classes have exactly t rows; those with about t estimate how many.
        """
        shares, n = groups.shares, len(groups.of_row)
        if adaptation is not None:
            adapted = np.maximum(np.bincount(groups.group, adaptation.shares), _TINY)
            return cls(adapted / adapted.sum(), min(adaptation.n_rows, MOST_ROWS), np.zeros_like(adapted))
        if len(shares) == 1 or np.sum(groups.group == 0) == 1:
            return cls(shares, n, np.zeros_like(shares))
        at = np.arange(groups.least - _NEAR, groups.least + _NEAR + 1)
        rows = at * np.sum(groups.stratum_counts == at[:, None], axis=1)
        more = min(float(rows.mean()) / n, _MOST_RARE - shares[0])
        of_rare = np.append(1.0, -shares[1:] / (1 - shares[0]))  # what a larger share of them takes from the others
        return cls(shares + more * of_rare, n, of_rare * float(np.sqrt(at @ rows)) / (len(at) * n))
