"""How groups of the fit differ from each other: what is usual for a slice of rows such as a day or a subject."""

from __future__ import annotations

import numpy as np

from auxcal._core.arrays import Floats
from auxcal.metrics.intervals import Estimate
from auxcal.monitoring._mix import ReferenceGroups, Representations
from auxcal.reference import Reference, ramps

# Set on random states below 8; benchmarks/without_labels/natural.py measures with others.
_SLOPE = 0.1  # of the gap for a standard deviation of all readings: a priori, one standard deviation
_SHRUNK = 0.1  # of the between-group covariance is shared evenly by all directions: groups are few, directions many

# Numerical.
_SMALLEST = 1e-2  # of the largest eigenvalue: what varies less is rounding
_NOTHING = 1e-9  # of a standard deviation of numbers that lie between 0 and 1
_ENOUGH = 1e-6  # of the largest singular value
_MOST_LEFT_OUT = 100  # groups that are compared with all others; the error of their spread is then 7 %
_TAUS = np.append(0.0, np.geomspace(0.002, 0.5, 80))  # where the posterior of the spread is evaluated
_GAPS = np.linspace(-1, 1, 4001)  # where the distribution of a gap is evaluated: to half a point in a thousand


class GroupVariation:
    """How groups of the fit differ from each other, by what their reference describes.

    Attributes
    ----------
    n_groups : int
        How many groups there are.
    spread : float
        τ, the standard deviation of the groups' gaps beyond chance and what their readings explain: the mean of its
        posterior.
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
        its readings x have a normal prior, so that few groups say little of them.
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

    @classmethod
    def of(cls, reference: Reference) -> GroupVariation | None:
        """Return how the groups of a reference differ, or None if it describes none."""
        return None if reference.group_facts is None else cls(reference)

    def p_values(self, rows: Representations, errors: float = 0.0) -> tuple[float, float]:
        """Return the p-values of new rows being a group like the others: in their mix, and in what no mix explains.

        Over many groups, what few groups of the fit say of the usual distance is wrong in the same way each time; so a
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
        every = np.arange(len(n))
        tried = (
            every if len(n) <= _MOST_LEFT_OUT else np.random.default_rng(0).choice(every, _MOST_LEFT_OUT, replace=False)
        )
        self._null = np.array([self._distance(self._places[each], n[each], every != each) for each in tried])

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
