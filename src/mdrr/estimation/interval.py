"""From an estimated share and its variance to an interval, also where the share is near 0 or 1.

An unbiased estimate x of a share p is nearly normal about p, but x may lie below 0 while p may not,
and its variance depends on p: a cell that nobody was reported in has no visible spread, though one
of a few people would. So the variance is a function of p, and an interval holds every p in [0, 1]
that a likelihood ratio test does not reject (Feldman and Cousins 1998). Away from 0 and 1 and with
a constant variance that is x ± z·σ; with a variance that depends on p it is Wilson's interval.
An estimate that was made proper cannot lie outside and is not tested so.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

_PRECISION = 1e-6
"""How exactly an end is found, in standard errors."""


def interval(
    centre: float, variance: Callable[[float], float], level: float, *, proper: bool = False
) -> tuple[float, float]:
    """The shares from which an estimate may well have come.

    λ(x; p) = ((x − p)² − (x − p̂)²) / V(p), with p̂ the share in [0, 1] nearest to x, is what p is
    less likely than the best share. p is in the interval when λ(X; p) stays below what was seen
    with at most the probability `level`, for X ~ N(p, V(p)).

    Arguments:
        centre: x, the estimate; it may lie outside [0, 1].
        variance: V, for any p in [0, 1].
        level: the confidence level.
        proper: whether x never lies outside [0, 1]; then λ is (x − p)² / V(p).

    Returns:
        The lowest and the highest share; the one nearest to x is between them.

    Example:
        >>> low, high = interval(0.5, lambda p: 0.01, 0.95)
        >>> round(low, 3), round(high, 3)
        (0.304, 0.696)
        >>> low, high = interval(-0.1, lambda p: 0.01, 0.95)
        >>> round(low, 3), round(high, 3)
        (0.0, 0.11)
    """
    best = min(max(centre, 0.0), 1.0)
    z = NormalDist().inv_cdf((1 + level) / 2)

    def held(p: float) -> bool:
        if proper:
            return abs(centre - p) <= math.sqrt(variance(p)) * z
        gap = (centre - p) ** 2 - (centre - best) ** 2
        return gap <= 0 or _within(p, gap, variance(p)) <= level

    ends = []
    for edge in (0.0, 1.0):
        inside, outside = best, edge
        if held(edge):
            inside = edge
        while abs(outside - inside) > _PRECISION * math.sqrt(max(variance(inside), 1e-24)):
            middle = (inside + outside) / 2
            if middle in (inside, outside):
                break
            inside, outside = (middle, outside) if held(middle) else (inside, middle)
        ends.append(inside)
    return ends[0], ends[1]


def _within(p: float, gap: float, variance: float) -> float:
    """P(λ(X; p) ≤ gap / variance) for X ~ N(p, variance): such X reach from one point to another.

    Between 0 and 1 they are those nearer to p than √gap; beyond, λ grows only linearly in X.
    """
    if variance <= 0:
        return 1.0
    far = math.sqrt(gap)
    below, above = far, far
    if far > p:
        below = (gap / p + p) / 2 if p > 0 else math.inf
    if far > 1 - p:
        above = (gap / (1 - p) + 1 - p) / 2 if p < 1 else math.inf
    scale = math.sqrt(2 * variance)
    return (math.erf(below / scale) + math.erf(above / scale)) / 2
