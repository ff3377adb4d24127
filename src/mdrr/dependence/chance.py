"""What chance does to the table of two attributes that are independent.

Independent answers that are randomized apart, each through a matrix of its own, are reported
independently. A person's score of the gap π_ab − π_a π_b is then the product of her two scores,
each less its mean, and the gap has the covariance S₁ ⊗ S₂/n, with S₁ and S₂ those of the two
attributes' scores. The margins tell it all: no combination has to be reported for its noise to be
known.

Where people are few that noise is not normal. One person where 0.05 are expected is four standard
errors, and comes in 5 % of surveys. `excess` corrects for this by the deviance, `drawn` by
simulated surveys.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import brentq

from mdrr.dependence.noise import NoisyTable
from mdrr.estimation.project import nearest
from mdrr.estimation.unbiased import View
from mdrr.matrix import Array


@dataclass(frozen=True, eq=False)
class Chance:
    """The gap of a table as it would be if its two attributes were independent."""

    table: NoisyTable

    @cached_property
    def likely(self) -> tuple[Array, ...]:
        """How likely each view's codes are."""
        expected = np.outer(*(nearest(margin) for margin in self.table.margins))
        return tuple(_unrelated(view, expected) for view in self.table.found.views)

    @cached_property
    def noise(self) -> Array:
        """`(r, s, k)`: Cov(gap, gap') = Σ_k noise[cell, k]·noise[cell', k]."""
        return self.table.moved(self.table.noise_of(self.likely))

    def variance(self, weights: Array) -> float:
        """The variance of Σ weights·gap."""
        return float((np.tensordot(weights, self.noise, axes=2) ** 2).sum())

    def excess(self, weights: Array) -> float:
        """The deviance of Σ weights·gap = t > 0, divided by t²/Var, what it is with normal noise.

        With K(θ) the logarithm of E exp(θ·Σ weights·gap), 2·max_θ (θ·t − K(θ)) is the deviance of t
        (Cramér's theorem; of a Poisson count the usual one), and t²/Var is that of normal noise.
        The signed root of the deviance is nearly normal whatever K is, so that in one dimension χ²
        tells how likely it is. In more dimensions it errs on the safe side: the direction in which
        it is taken is the gap's own. At most 1: a tail that is lighter than normal is not used.
        """
        table = self.table
        seen = float((weights * table.gap).sum())
        rows, columns = table.margins
        centred = weights - (weights @ columns)[:, None] - (rows @ weights)[None, :]
        parts, variance = [], 0.0
        for share, view, likely in zip(
            table.found.shares, table.found.views, self.likely, strict=True
        ):
            scores, some = share / view.n * view.scores(centred), likely > 0
            scores -= (scores * likely).sum()
            variance += view.n * float((scores**2 * likely).sum())
            parts.append((view.n, scores[some], likely[some]))
        if not (seen > 0 and variance > 0):
            return 1.0

        def logarithm(theta: float) -> tuple[float, float]:
            """K(θ) and K'(θ)."""
            total = slope = 0.0
            for n, scores, likely in parts:
                most = float((theta * scores).max())
                tilted = likely * np.exp(theta * scores - most)
                total += n * (most + math.log(tilted.sum()))
                slope += n * float((scores * tilted).sum() / tilted.sum())
            return total, slope

        normal = theta = seen / variance  # where θ·t − K(θ) is largest if noise is normal
        if logarithm(normal)[1] > seen:
            theta = brentq(lambda at: logarithm(at)[1] - seen, 0, normal, xtol=1e-6 * normal)
        deviance = 2 * (theta * seen - logarithm(theta)[0])
        return min(max(deviance / (seen * normal), 0.0), 1.0)

    @property
    def apart(self) -> bool:
        """Whether nobody randomized the two attributes together, or one with others (`_apart`)."""
        return all(map(_apart, self.table.found.views))

    @property
    def silent(self) -> bool:
        """Whether everybody reported the same of one attribute, in every questionnaire."""
        return all(
            len(view.axes) == 2
            and min((view.reported.sum(axis=at) > 0).sum() for at in (0, 1)) == 1
            for view in self.table.found.views
        )

    def drawn(self, draws: int) -> Array:
        """`(draws, r, s)`: the gaps of as many surveys, of attributes that are reported `apart`.

        In each the same answers are reported, but those to the second attribute by other people.
        Independence makes every such survey as likely as the one that was made.
        """
        from scipy.stats import random_table  # slow to load, and seldom needed

        rng, total = np.random.default_rng(0), np.zeros((draws, *self.table.values.shape))
        for share, view in zip(self.table.found.shares, self.table.found.views, strict=True):
            counts = np.rint(view.n * view.reported).astype(np.int64)
            margins = random_table(counts.sum(axis=1), counts.sum(axis=0))
            tables = margins.rvs(draws, random_state=rng) / view.n
            for at, axis in enumerate(view.axes, start=1):
                tables = axis.invert(tables, at)
            total += share * np.transpose(tables, (0, *(1 + at for at in view.order)))
        return np.asarray(total - np.outer(*self.table.margins))


def _apart(view: View) -> bool:
    """Whether both attributes are seen through channels of their own.

    A cluster that is not constant shows all its attributes in one code. The others' answers may
    go with the second attribute's, and then so do the codes.
    """
    return len(view.axes) == 2 and all(axis.likely for axis in view.axes)


def _unrelated(view: View, expected: Array) -> Array:
    """How likely codes are if the attributes are independent and their true table is `expected`.

    Reported apart, their codes are independent. Reported together, the matrix tells. Where a code
    also tells of other attributes, the reports are taken as they are.
    """
    if _apart(view):
        return np.outer(view.reported.sum(axis=1), view.reported.sum(axis=0))
    if len(view.axes) == 1 and view.axes[0].likely:
        return view.axes[0].forward(view.arranged(expected))
    return view.reported
