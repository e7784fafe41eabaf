"""The mix of new rows: the shares of the classes, and of none, that make the reference look like them.

And how groups of the fit, such as days, differ from each other: what is usual for a slice of rows.
"""

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
from auxcal.metrics.intervals import Estimate
from auxcal.reference import Reference, drawn_by_weight, ramps, stratum_of
from auxcal.splits import row_hashes

MOST_ROWS = 20_000
"""The most new rows that a check looks at: four times those of the largest reference, whose error then dominates."""

# Set on random states that are not reported; benchmarks/without_labels measures the false alarms with them.
_LEAST_ROWS = 10  # of a stratum; fewer do not show what it looks like
_NEAR = 2  # rows: classes this close to the limit estimate how many have exactly as many rows as the limit
_MOST_RARE = 0.99  # the largest share of the rare classes together
_ROUNDS = 3  # of linear equations: the shares barely move after the first
_LEARNED_NUMBERS = 4  # of a calibrator for each stratum; see `ReferenceGroups.inflation`

# Numerical: no share is 0, and expectation maximisation ends.
_TINY = 1e-6
_STEPS, _ENOUGH = 500, 1e-6  # also of the largest singular value


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


def represent_some(calibrator: Calibrator, logits: Floats, features: Floats | None) -> Representations:
    """Return rows as the calibrator represents them; of too many, a random sample."""
    if len(logits) > MOST_ROWS:
        kept = np.sort(np.random.default_rng(0).choice(len(logits), MOST_ROWS, replace=False))
        logits, features = logits[kept], None if features is None else features[kept]
    return represent(calibrator, logits, features)


def each_once(reference: Reference) -> Reference:
    """Return a reference in which copies of a row count once, before any new row has come.

    If every row was copied as often, one of each is left. Other copies have one label: if equal rows have several, the
    classifier gives few different values, and each row is a draw.
    """
    if reference.n_classes == 1:  # signals are often equal by themselves
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
    occur elsewhere too, or repeat very often. Otherwise equal rows are copies. If some rows have more copies than
    others, rows are drawn by their number of copies, so that the others don't count more than they did.
    """
    values, at, counts = np.unique(hashes, return_inverse=True, return_counts=True)
    copied = (counts > 1) & ~np.isin(values, elsewhere, kind="sort")
    if not are_copies(counts[copied]):
        return np.arange(len(hashes))
    first = np.zeros(len(hashes), dtype=bool)
    first[np.unique(hashes, return_index=True)[1]] = True
    rows = np.flatnonzero(first | ~copied[at])
    weight = np.where(copied[at], counts[at], 1)[rows]
    return rows[drawn_by_weight(len(rows), weight.astype(np.float64), len(rows))]


class ReferenceGroups:
    """The rows of a reference by group: a stratum, or all strata that have few rows.

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
        return [group[0] if len(group) == 1 else f"{len(group)} rare classes" for group in members]

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
    stratum j, which is a system of linear equations. ψ need not be taken at v for this; near it, it is most precise.

    `new` is how likely each new row is of each group, and `old_ratios` and `new_ratios` are ψ of both sides.
    `row_weight` and `variance_weight` weigh the rows of the reference in the new mix, in means and in variances.
    `identifies_shares` is whether ψ determines all shares: not where the calibrator gives the same for every row.
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

        Whatever ψ explains of a number is taken off both first. What is left does not depend on the error of v, and has
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
        """Return the mix of an adaptation, or else the one that the rows of the fit were drawn from.

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


# Groups of the fit ----------------------------------------------------------------------------------------------------

# Set on random states below 8; benchmarks/without_labels/natural.py measures with others.
_SLOPE = 0.1  # of the gap for a standard deviation of all readings: a priori, one standard deviation
_SHRUNK = 0.1  # of the between-group covariance is shared evenly by all directions: groups are few, directions many

# Numerical.
_SMALLEST = 1e-2  # of the largest eigenvalue: what varies less is rounding
_NOTHING = 1e-9  # of a standard deviation of numbers that lie between 0 and 1
_MOST_LEFT_OUT = 100  # groups that are compared with all others; the error of their spread is then 7 %
_TAUS = np.append(0.0, np.geomspace(0.002, 0.5, 80))  # where the posterior of the spread is evaluated
_GAPS = np.linspace(-1, 1, 4001)  # where the distribution of a gap is evaluated: to half a point in a thousand


class GroupVariation:
    """How groups of the fit differ from each other, by what their reference describes.

    `spread` is τ, the standard deviation of the gaps of the `n_groups` groups beyond chance and what their readings
    explain: the mean of its posterior.
    """

    def __init__(self, reference: Reference) -> None:
        self._reference, self._groups = reference, ReferenceGroups(reference)
        facts, of_ramps, of_strata = (
            np.asarray(values, dtype=np.float64)
            for values in (reference.group_facts, reference.group_ramps, reference.group_strata)
        )
        self.n_groups, (n, self._gaps, self._variances) = len(facts), facts.T
        groups = self._groups
        old_ramps, old_ratios = ramps(reference, reference.readings), self._ratios(reference.strata)
        means, self._ramp_means = groups.means(old_ratios), groups.means(old_ramps)
        self._centre = groups.shares @ means
        # A mix with the shares v has the mean ratios v @ means, so these tell v, and with it what else has to follow.
        self._slope = np.linalg.pinv(means.T, rcond=_ENOUGH).T @ self._ramp_means
        self._new = _Distances(
            self._unexplained(old_ramps, old_ratios), self._unexplained(of_ramps, self._ratios(of_strata)), n
        )
        self._mix = _Distances(old_ratios, self._ratios(of_strata), n)
        self._ramp_centre, self._ramp_scale = of_ramps.mean(axis=0), np.maximum(old_ramps.std(axis=0), _NOTHING)
        self._learn_gaps(self._design(of_ramps))

    def _design(self, of_ramps: Floats) -> Floats:
        """Return 1 and the mean readings of each group, in standard deviations of rows, less those of the groups."""
        places = (of_ramps - self._ramp_centre) / self._ramp_scale
        places[:, self._ramp_scale <= _NOTHING] = 0.0
        return np.hstack([np.ones((len(places), 1)), places])

    def _learn_gaps(self, design: Floats) -> None:
        """Learn how gaps depend on the readings, for each τ, and the posterior of τ after a flat prior.

        The gap of a group is μ + β·x, plus a random effect of standard deviation τ, plus chance. The coefficients β of
        its readings x have a normal prior, so that few groups barely move them.
        """
        weight = 1 / (_TAUS[:, None] ** 2 + self._variances)
        d = design.shape[1] - 1
        precision = np.diag(np.append(0.0, np.full(d, d / _SLOPE**2)))
        information = np.einsum("tg,gi,gj->tij", weight, design, design, optimize=True) + precision
        self._covariance = np.linalg.inv(information)
        towards = (weight * self._gaps) @ design
        self._coefficients = np.einsum("tij,tj->ti", self._covariance, towards)
        fitted = np.einsum("ti,ti->t", towards, self._coefficients) - weight @ self._gaps**2
        log_posterior = 0.5 * (np.log(weight).sum(axis=1) - np.linalg.slogdet(information)[1] + fitted)
        posterior = np.exp(log_posterior - log_posterior.max()) * np.gradient(_TAUS)
        self._posterior: Floats = posterior / posterior.sum()
        self.spread = float(self._posterior @ _TAUS)

    def p_values(self, rows: Representations, errors: float = 0.0) -> tuple[float, float]:
        """Return the p-values of new rows being a group like the others: in their mix, and in what no mix explains.

        Over many groups, the usual distance that few groups of the fit show is wrong in the same way each time; so a
        stream allows for it to be so many standard errors larger.
        """
        of_ramps, ratios = ramps(self._reference, rows.readings), self._ratios(rows.strata)
        mix, new = ratios.mean(axis=0), self._unexplained(of_ramps, ratios).mean(axis=0)
        return self._mix.p_value(mix, len(ratios), errors), self._new.p_value(new, len(ratios), errors)

    def forecast(self, rows: Representations, variance: float) -> tuple[Estimate, float]:
        """Return what the gap of a new group will be, given its rows and the variance that chance gives it.

        That is its median with the 90 % interval, and the mean of its absolute value.
        """
        from scipy.special import ndtr

        place = self._design(ramps(self._reference, rows.readings).mean(axis=0)[None])[0]
        deviation = np.sqrt(_TAUS**2 + self._covariance @ place @ place + variance)
        distribution = ndtr((_GAPS[:, None] - self._coefficients @ place) / deviation) @ self._posterior
        low, middle, high = np.interp((0.05, 0.5, 0.95), distribution, _GAPS)
        expected = float(np.diff(distribution) @ np.abs((_GAPS[1:] + _GAPS[:-1]) / 2))
        return Estimate(float(middle), float(low), float(high)), expected

    def _ratios(self, strata: Floats) -> Floats:
        """Return how much likelier each row is of each stratum than in the fit; strata of few rows are one."""
        strata = strata.astype(np.float64)
        counts = len(self._groups.shares)
        sums = [strata[:, self._groups.group == group].sum(axis=1) for group in range(counts)]
        return np.stack(sums, axis=1) / self._groups.shares

    def _unexplained(self, of_ramps: Floats, ratios: Floats) -> Floats:
        """Return the readings less what the mix explains; it is linear, so it holds for means as for rows."""
        return of_ramps - self._groups.shares @ self._ramp_means - (ratios - self._centre) @ self._slope


class _Distances:
    """How far groups are from each other, given d numbers of all rows, and their means over the n rows of each group.

    Directions are scaled by how rows vary.
    """

    def __init__(self, rows: Floats, means: Floats, n: Floats) -> None:
        deviation = rows.std(axis=0)
        self._varies = deviation > _NOTHING
        self._n, self._null = n, np.empty(0)
        if not self._varies.any():
            return
        scaled = (rows - rows.mean(axis=0))[:, self._varies] / deviation[self._varies]
        values, vectors = np.linalg.eigh(scaled.T @ scaled / len(scaled))
        kept = values > _SMALLEST * values[-1]
        self._scale = vectors[:, kept] / np.sqrt(values[kept]) / deviation[self._varies][:, None]
        self._places = means[:, self._varies] @ self._scale
        every = tried = np.arange(len(n))
        if len(n) > _MOST_LEFT_OUT:
            tried = np.random.default_rng(0).choice(every, _MOST_LEFT_OUT, replace=False)
        self._null = np.array([self._distance(self._places[group], n[group], every != group) for group in tried])

    def _distance(self, place: Floats, n: float, others: Floats) -> float:
        """Return the logarithm of the squared distance of a group from others, in units of how far they are apart."""
        places, sizes = self._places[others], self._n[others]
        centred = places - places.mean(axis=0)
        between = centred.T @ centred / (len(places) - 1) - np.eye(places.shape[1]) * np.mean(1 / sizes)
        values, vectors = np.linalg.eigh(between)
        values = np.maximum(values, 0)
        values = (1 - _SHRUNK) * values + _SHRUNK * values.mean()
        weight = 1 / (values + 1 / sizes[:, None])
        centre = (weight * (places @ vectors)).sum(axis=0) / weight.sum(axis=0)
        variance = values + 1 / n + 1 / weight.sum(axis=0)
        return float(np.log(np.mean((place @ vectors - centre) ** 2 / variance) + np.finfo(float).tiny))

    def p_value(self, mean: Floats, n: int, errors: float) -> float:
        """Return how likely a group like the others is as far from them, given the mean of n rows.

        Each group of the fit was held against all others. Their distances are about lognormal, so that of one more has
        the t-distribution of a new observation; its mean and deviation may be larger by so many standard errors.
        """
        from scipy.special import stdtr

        if not len(self._null):
            return 1.0
        every = np.ones(len(self._n), dtype=bool)
        distance = self._distance(mean[self._varies] @ self._scale, n, every)
        g, deviation = len(self._null), max(float(self._null.std(ddof=1)), _NOTHING)
        usual = float(self._null.mean()) + errors * deviation / np.sqrt(g)
        spread = deviation * (1 + errors / np.sqrt(2 * g)) * np.sqrt(1 + 1 / g)
        return float(stdtr(g - 1, (usual - distance) / spread))
