"""Unbiased tables of two attributes with all of their noise: variances and covariances.

A pair goes through the Kronecker product of its clusters' matrices, inverted axis by axis. What the
inverse makes of the multinomial noise of the reports is the noise of the table.

What chance does to the table of two attributes that are independent, the margins tell. Independent
answers that are randomized apart, each through a matrix of its own, are reported independently. A
person's score of the gap π_ab − π_a π_b is then the product of her two scores, each less its mean,
and the gap has the covariance S₁ ⊗ S₂/n, with S₁ and S₂ those of the two attributes' scores: no
combination has to be reported for its noise to be known. Where people are few that noise is not
normal. One person where 0.05 are expected is four standard errors, and comes in 5 % of surveys.
`Chance.excess` corrects for this by the deviance, `Chance.drawn` by simulated surveys.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import brentq

from mdrr.design import Design
from mdrr.errors import EstimateError
from mdrr.estimation.project import nearest
from mdrr.estimation.unbiased import Unbiased, View, pooled, unbiased
from mdrr.matrix import Array, Matrix, Through
from mdrr.tallies import Tally

_MOST_EXACT = 1024
"""So many codes of a pair get their exact covariance; the noise of more is sampled."""


@dataclass(frozen=True, eq=False)
class NoisyTable:
    """An unbiased table of two attributes with its noise, which is about the population."""

    found: Unbiased

    @classmethod
    def through(cls, matrix: Matrix, values: Array, people: int) -> NoisyTable:
        """An unbiased table whose cells people reported through one matrix."""
        reported = np.maximum(matrix.forward(values.ravel()), 0)  # 0 may come back as −1e-16
        axis = Through(matrix, values.shape, (0, 1))
        view = View(people, (axis,), reported / reported.sum(), values.shape, (0, 1))
        return cls(pooled(("first", "second"), [view], people))

    @property
    def values(self) -> Array:
        """`(r, s)`, of sum 1; cells may be negative."""
        return self.found.values

    @cached_property
    def margins(self) -> tuple[Array, Array]:
        """The sums over columns and over rows; shares may be negative."""
        return self.values.sum(axis=1), self.values.sum(axis=0)

    @cached_property
    def gap(self) -> Array:
        """π_ab − π_a π_b. Every row and column sums to 0."""
        return self.values - np.outer(*self.margins)

    @cached_property
    def noise(self) -> Array:
        """`(r, s, k)`: Cov(cell, cell') = Σ_k noise[cell, k]·noise[cell', k]."""
        return self.noise_of([view.reported for view in self.found.views])

    def noise_of(self, likely: Sequence[Array]) -> Array:
        """The same if each view's codes are so likely."""
        noise = np.zeros((*self.values.shape, 0))
        parts = zip(self.found.shares, self.found.views, likely, strict=True)
        for at, (share, view, codes) in enumerate(parts):
            noise = np.concatenate([noise, share * _noise_of(view, codes, at)], axis=-1)
            if noise.shape[-1] > 2 * self.values.size <= 2 * _MOST_EXACT:
                noise = _compressed(noise)
        return noise

    def moved(self, noise: Array) -> Array:
        """What noise does to the gap: it moves the cell and both margins."""
        rows, columns = self.margins
        return np.asarray(
            noise
            - noise.sum(axis=1, keepdims=True) * columns[:, None]
            - noise.sum(axis=0, keepdims=True) * rows[:, None, None]
        )

    def variance(self, weights: Array) -> float:
        """The variance of Σ weights·values."""
        return float((np.tensordot(weights, self.noise, axes=2) ** 2).sum())

    @property
    def variances(self) -> Array:
        """The variance of every cell."""
        return np.asarray((self.noise**2).sum(axis=-1))


def noisy_pair(tally: Tally, design: Design, first: str, second: str) -> NoisyTable:
    """The unbiased table of two attributes, pooled over the questionnaires that ask both."""
    found = unbiased(tally, design, (first, second))
    if found is None:
        raise EstimateError(f"nobody reported both {first!r} and {second!r}")
    return NoisyTable(found)


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


def _noise_of(view: View, likely: Array, seed: int) -> Array:
    """One questionnaire's noise, taken through the inverse of its matrices."""
    noise = _scatter(likely, view.n, seed).reshape(*likely.shape, -1)
    for at, axis in enumerate(view.axes):
        noise = axis.invert(noise, at)
    last = len(view.order)
    return np.transpose(noise.reshape(*view.shape, -1), (*view.order, last))


def _scatter(likely: Array, people: int, seed: int) -> Array:
    """`(codes, k)`: columns whose outer products sum to the covariance of reported shares.

    (diag λ − λλᵀ)/n = AAᵀ with A = (diag √λ − λ√λᵀ)/√n. Where there are too many codes,
    A times random columns has the same covariance on average.
    """
    shares = likely.ravel()
    roots = np.sqrt(shares)
    if len(shares) <= _MOST_EXACT:
        probes = np.eye(len(shares))
    else:
        draws = min(max(2**22 // len(shares), 8), 256)
        probes = np.random.default_rng(seed).standard_normal((len(shares), draws))
        probes /= math.sqrt(draws)
    spread = roots[:, None] * probes - np.outer(shares, roots @ probes)
    return np.asarray(spread / math.sqrt(people))


def _compressed(noise: Array) -> Array:
    """The same covariance in as many columns as there are cells."""
    flat = noise.reshape(-1, noise.shape[-1])
    variances, directions = np.linalg.eigh(flat @ flat.T)
    return np.asarray(directions * np.sqrt(np.maximum(variances, 0))).reshape(*noise.shape[:2], -1)


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
