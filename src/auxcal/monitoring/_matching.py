"""The mix of new rows: shares of the strata with which the rows of the reference would look like the new ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from auxcal._core.arrays import Floats
from auxcal._core.threads import cached_property
from auxcal.monitoring._known import Known

_STEPS, _ENOUGH = 500, 1e-6
_ROUNDS = 3  # of matching: the shares hardly move after the first


@dataclass(frozen=True)
class Matching:
    """Shares v of the groups of strata in new rows, and what follows from them.

    Expectation maximisation finds where the ψ of the new rows have the mean 1, with ψ_j = (p_j/π_j) / Σ_i v_i p_i/π_i
    for the distribution p of the calibrator and the shares π of the fit. Where p is a little wrong, so are they. So v
    is then taken from the reference, whose strata are known: the mean of ψ in the new rows is Σ_j v_j times its mean in
    stratum j, which is a system of linear equations. For this ψ need not be taken at v; near it, it tells most.

    Parameters
    ----------
    known : Known
        The rows of the reference.
    new : array of shape (m, groups)
        How likely each new row is of each group.
    shares : array of shape (groups,)
        v.
    near : array of shape (groups,)
        The shares at which ψ is taken; none is 0.
    """

    known: Known
    new: Floats
    shares: Floats
    near: Floats

    @cached_property
    def ratios(self) -> tuple[Floats, Floats]:
        """ψ of the reference and of the new rows."""
        before = self.known.shares
        return _ratios(self.known.strata, before, self.near), _ratios(self.new, before, self.near)

    @cached_property
    def inverse(self) -> Floats:
        """A⁻¹, where the columns of A are the means of ψ in each group; 0 for what ψ does not tell of the shares."""
        return np.linalg.pinv(self.known.means(self.ratios[0]).T, rcond=_ENOUGH)

    @property
    def tells_shares(self) -> bool:
        """Whether ψ tells all shares; it does not where the calibrator says the same of every row."""
        means = self.known.means(self.ratios[0])
        return bool(np.linalg.matrix_rank(means, tol=_ENOUGH * np.linalg.norm(means, 2)) == len(means))

    def excess(self, shares: Floats) -> Floats:
        """Return by how much the mean of ψ in the new rows is more than these shares explain."""
        old, new = self.ratios
        return np.asarray(new.mean(axis=0) - shares @ self.known.means(old))

    def difference(self, old: Floats, new: Floats) -> tuple[Floats, Floats]:
        """Return how much numbers of the new rows differ from those of the weighed reference, and their deviations.

        Whatever ψ tells of a number is taken off both first. What is left does not depend on the error of v, and has
        the variance Σ_j v_j (1/m + v_j/n_j) C_j, with C_j the covariance in stratum j: the sum of the squares of the
        deviations from the means of the groups, times `weight`.

        Parameters
        ----------
        old : array of shape (n, d)
            The numbers of the rows of the reference.
        new : array of shape (m, d)
            Those of the new rows.
        """
        by_ratio = self.inverse.T @ self.known.means(old)
        left = old - self.ratios[0] @ by_ratio
        means = self.known.means(left)
        difference = (new - self.ratios[1] @ by_ratio).mean(axis=0) - self.shares @ means
        return difference, left - means[self.known.at]

    @cached_property
    def row_share(self) -> Floats:
        """The share of each row of the reference in the new mix."""
        return (self.shares / self.known.counts)[self.known.at]

    @cached_property
    def weight(self) -> Floats:
        """How much each row of the reference counts in a variance."""
        v, n = self.shares[self.known.at], self.known.counts[self.known.at]
        return v * (1 / len(self.new) + v / n) / np.maximum(n - 1, 1)

    def within(self, deviations: Floats) -> Floats:
        """Return Σ_j v_j (1/m + v_j/n_j) C_j, given deviations from the means of the groups."""
        return (deviations * self.weight[:, None]).T @ deviations

    @cached_property
    def covariance(self) -> Floats:
        """That of v: the errors of the reference and of the new rows."""
        means = self.known.means(self.ratios[0])
        between = means - self.shares @ means
        drawn = (between * self.shares[:, None]).T @ between / len(self.new)
        return self.doubt + self.inverse @ drawn @ self.inverse.T

    @cached_property
    def doubt(self) -> Floats:
        """The part of it that is the error of the shares of these rows, not of the mix that they were drawn from."""
        ratios = self.ratios[0]
        within = self.within(ratios - self.known.means(ratios)[self.known.at])
        return self.inverse @ within @ self.inverse.T


def matched(known: Known, new: Floats) -> Matching:
    """Find the shares of the groups in new rows."""
    before = known.shares
    shares = _maximised(new / before, before)
    for _ in range(_ROUNDS):
        near = (len(new) * shares + len(before) * before) / (len(new) + len(before))
        matching = Matching(known, new, shares, near)
        shares = np.maximum(before + matching.inverse @ matching.excess(before), 0)
        shares /= shares.sum()
    return Matching(known, new, shares, near)


def _maximised(likelihood: Floats, start: Floats) -> Floats:
    """Return the likeliest shares by expectation maximisation; the fit's shares count as one more row."""
    shares = start
    for _ in range(_STEPS):
        total = (likelihood / (likelihood @ shares)[:, None]).sum(axis=0)
        before, shares = shares, (shares * total + start) / (len(likelihood) + 1)
        if np.abs(shares - before).max() < _ENOUGH:
            break
    return shares


def _ratios(strata: Floats, before: Floats, shares: Floats) -> Floats:
    likelihood = strata / before
    return likelihood / (likelihood @ shares)[:, None]
