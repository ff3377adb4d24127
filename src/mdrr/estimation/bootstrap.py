"""Intervals of a fitted model: refit resampled reports from where the fit stands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mdrr.design import Design
from mdrr.estimation.channel import stacks
from mdrr.estimation.em import em
from mdrr.estimation.mixture import MixtureJoint, average
from mdrr.estimation.result import Deviation, Of
from mdrr.matrix import Array
from mdrr.query import Query
from mdrr.tallies import Tally

_PASSES = 15


@dataclass(frozen=True, eq=False)
class BootstrapSpread:
    """The spread of a latent class fit over resampled people, each refitted from a warm start.

    It measures how the fit varies, not how wrong the model is: that is added in `misfit.py`.

    Arguments:
        tally: the reports.
        design: how they were made.
        fits: the fits whose mean is the estimate.
        margins: every attribute's own distribution, for the prior.
        prior: pseudo-reports a class.
        replicates: how many resamples.
        seed: for the resamples.
    """

    tally: Tally
    design: Design
    fits: tuple[MixtureJoint, ...]
    margins: tuple[Array, ...]
    prior: float
    replicates: int = 24
    seed: int = 0

    @cached_property
    def refitted(self) -> Sequence[MixtureJoint]:
        """One mixture per resample."""
        rng = np.random.default_rng(self.seed)
        reports = stacks(self.tally, self.design)
        found = []
        for b in range(self.replicates):
            again = [
                s.with_counts(
                    rng.multinomial(int(s.counts.sum()), s.counts / s.counts.sum()).astype(
                        np.float64
                    )
                )
                for s in reports
            ]
            start = self.fits[b % len(self.fits)]
            run = em(again, start, self.margins, passes=_PASSES, prior=self.prior)
            found.append(run.mixture)
        return found

    def deviation(self, query: Query, of: Of, /) -> Deviation:
        """The estimate's own mass and the standard deviation of the refitted ones'."""
        if self.tally.n == 1:
            return Deviation(average(self.fits).mass(query), 1.0)  # a resample is the same person
        masses = np.array([mixture.mass(query) for mixture in self.refitted])
        starts = np.array([mixture.mass(query) for mixture in self.fits])
        error = math.sqrt(float(self._variance(masses, starts)))
        return Deviation(average(self.fits).mass(query), error)

    def variances(self, names: Sequence[str]) -> Array:
        """The variance of every cell of a table over the refits."""
        tables = np.array([mixture.table(names) for mixture in self.refitted])
        return self._variance(tables, np.array([mixture.table(names) for mixture in self.fits]))

    def _variance(self, refitted: Array, starts: Array) -> Array:
        """Of refits about the fit they started from, and of the mean of fits from other starts."""
        within = refitted - starts[np.arange(len(refitted)) % len(starts)]
        drawn = self.tally.n / max(self.tally.n - 1, 1)  # resamples vary by (n − 1)/n of people
        return np.asarray(drawn * (within**2).mean(axis=0) + starts.var(axis=0) / len(starts))
