"""How well clones hide one report, summed exactly (see `mdrr.privacy.shuffle` for the argument)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from mdrr.errors import MdrrError
from mdrr.matrix import Array
from mdrr.matrix.protocol import Codes

_EXACT = 256
"""Crowds up to this are summed in full."""
_STEP, _BUCKETS, _PAIRS = 5e-4, 24, 5_000
"""Larger crowds are grouped by number of clones: into buckets of this relative width, but no more
than what makes so many pairs (N, T), or so many buckets if that is more."""

ROUNDING = 1e-14
"""Rounding can change a sum for δ by less than e^ε times this, which is added to it."""


@dataclass(frozen=True, slots=True)
class Clones:
    """What hides the victim: clones, and a report that tells her two truths apart."""

    chance: float  # c, the probability that another person is a clone
    high: float  # the probability that the victim's report points to her truth
    low: float  # the probability that it points to the other one; else it points to neither

    def __post_init__(self) -> None:
        if not 0 <= self.chance <= 1:
            raise MdrrError(f"chance={self.chance} is not a probability")
        if not 0 <= self.low <= self.high <= 1 or self.low + self.high > 1 + 1e-12:
            raise MdrrError(
                f"high={self.high} and low={self.low} are not two probabilities, low ≤ high"
            )

    def delta(self, epsilon: float, n: int) -> float:
        """δ at ε when n reports are shuffled, summed over every number of clones.

        >>> round(Clones(1.0, 0.75, 0.25).delta(0.5, 2), 6)
        0.16891
        """
        return self.delta_at(epsilon, crowd_of(self, n, 0.0))

    def delta_at(self, epsilon: float, crowd: Crowd) -> float:
        """δ at ε over the numbers of clones and pointing reports of a crowd.

        Of N = C+1 reports, T ~ Binomial(N, γ) point to one of the two truths (γ = high+low).
        Given T, n₀ ~ Binomial(T, ½) point to the victim's. The two densities differ by a function
        linear in n₀, positive from k = ⌊T/2 + shift⌋ + 1 on, and its positive part sums to
        (1−e^ε)·P(n₀ ≥ k) + (1+e^ε)(high−low)/γ · T/(2N) · P(Binomial(T−1, ½) = k−1).
        """
        a, b = self.high, self.low
        if a == b:
            return 0.0
        e, t = math.exp(epsilon), crowd.pointing
        pull = (1 + e) * (a - b) / (a + b)
        first = np.minimum(np.floor(t / 2 + (e - 1) * crowd.size / (2 * pull)), t) + 1
        edge = _binomial().pmf(first - 1, np.maximum(t - 1, 0), 0.5)
        parts = (1 - e) * _half_tails(t, first, crowd.starts) + pull * t / (2 * crowd.size) * edge
        delta = float(crowd.mass @ np.maximum(parts, 0.0)) + crowd.left_out + ROUNDING * e
        return min(delta, 1.0)


def _half_tails(trials: Array, first: Array, starts: Codes) -> Array:
    """P(Binomial(T, ½) ≥ k), where T counts up by one from each start and k by one or nothing.

    One incomplete beta function a start; then, with Q(T, k) the tail and q(T, k) the mass,
    Q(T+1, k) = Q(T, k) + ½q(T, k−1) and Q(T+1, k+1) = Q(T, k) − ½q(T, k).
    """
    k, n = first[starts], trials[starts]
    possible = k <= n
    base = special.betainc(np.where(possible, k, 1.0), np.where(possible, n - k, 0.0) + 1, 0.5)
    same = np.diff(first) == 0
    step = np.where(same, 0.5, -0.5) * _binomial().pmf(first[:-1] - same, trials[:-1], 0.5)
    walked = np.concatenate(([0.0], np.cumsum(step)))
    lengths = np.diff(starts, append=len(trials))
    return np.asarray(np.repeat(np.where(possible, base, 0.0) - walked[starts], lengths) + walked)


@dataclass(frozen=True, slots=True)
class Crowd:
    """The likely pairs (N, T), sorted, and their probabilities."""

    size: Array  # N
    pointing: Array  # T
    mass: Array
    starts: Codes  # where each N starts
    left_out: float  # the probability of all other pairs


def crowd_of(clones: Clones, n: int, slack: float) -> Crowd:
    """The pairs (N, T) among n reports, leaving out at most `slack` of N and of T.

    Fewer clones hide less (one more can be added blindly to what is seen), so in a large crowd C is
    replaced by the lower end of its bucket and δ stays an upper bound. Without slack nothing is
    left out or grouped.

    >>> crowd_of(Clones(1.0, 0.75, 0.25), 3, 0.0).size
    array([3.])
    """
    others, gamma = n - 1, clones.high + clones.low
    counts, masses, left_out = _binomial_body(others, clones.chance, slack)
    if slack > 0 and others > _EXACT:
        wide = len(_binomial_body(int(counts[-1]) + 1, gamma, slack)[0])
        fine = math.ceil(math.log((counts[-1] + 1) / (counts[0] + 1)) / _STEP)
        buckets = min(fine, max(_PAIRS // wide, _BUCKETS), len(counts))
        ends = np.linspace(0, len(counts), buckets, endpoint=False, dtype=np.int64)
        counts, masses = counts[ends], np.add.reduceat(masses, ends)
    sizes, pointings, weights = [], [], []
    for count, mass in zip(counts, masses, strict=True):
        pointing, share, outside = _binomial_body(int(count) + 1, gamma, slack)
        sizes.append(np.full(len(pointing), count + 1))
        pointings.append(pointing)
        weights.append(mass * share)
        left_out += mass * outside
    starts = np.cumsum([0, *(len(each) for each in sizes[:-1])])
    size, pointing, weight = (np.concatenate(each) for each in (sizes, pointings, weights))
    return Crowd(size, pointing, weight, starts, float(left_out))


def _binomial() -> Any:
    from scipy.stats import binom  # slow to import, and few programs that import this need it

    return binom


def _binomial_body(size: int, chance: float, slack: float) -> tuple[Array, Array, float]:
    """The likely values of Binomial(size, chance), their probabilities, and what is left out."""
    if chance >= 1:
        return np.array([float(size)]), np.ones(1), 0.0
    low, high = 0, size
    if size > _EXACT:
        low = max(int(_binomial().ppf(slack / 2, size, chance)) - 1, 0)
        high = size - max(int(_binomial().ppf(slack / 2, size, 1 - chance)) - 1, 0)
    values = np.arange(low, high + 1, dtype=np.float64)
    outside = _binomial().cdf(low - 1, size, chance) + _binomial().sf(high, size, chance)
    return values, np.asarray(_binomial().pmf(values, size, chance)), float(outside)
