"""How sure a count is: one interval for every estimator, that of the unbiased count.

The unbiased estimate x of a share p is nearly normal about p, whatever model the point estimate
comes from. It may lie below 0 while p may not, and its variance depends on p. So the variance is a
function of p, and an interval holds every p in [0, 1] that a likelihood ratio test does not reject
(Feldman and Cousins 1998). Away from 0 and 1 and with a constant variance that is x ± z·σ; with a
variance that depends on p it is Wilson's interval.

The variance follows from the design: given a true cell, the mean square of its report's score is
known. Only how people are spread over the cells inside and outside the set is taken from the
estimate, so the variance is never negative.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from mdrr.estimation.evidence import Evidence
from mdrr.estimation.unbiased import Unbiased
from mdrr.masks import Mask
from mdrr.matrix import Array
from mdrr.query import Query

Of: TypeAlias = Literal["people", "population"]
Look: TypeAlias = Callable[[tuple[str, ...]], Array]
"""Gives the estimated table of some attributes."""

_PRECISION = 1e-6
"""How exactly an end is found, in standard errors."""
_APART = 6
"""The most separate answers whose noise is multiplied: of more nothing is left but noise."""
_ROOM = 0.05
"""A point estimate outside the interval takes its end along, and this share of its length more."""


@dataclass(frozen=True)
class Deviation:
    """An unbiased share and its variance if the true share were p: floor + slope·p + bend·p²."""

    centre: float
    floor: float
    slope: float
    bend: float

    def variance(self, share: float) -> float:
        """What the variance would be if this were the true share."""
        return max(self.floor + (self.slope + self.bend * share) * share, 0.0)

    @property
    def error(self) -> float:
        """The standard error at the possible share nearest to the centre."""
        return math.sqrt(self.variance(min(max(self.centre, 0.0), 1.0)))


def bounds(
    evidence: Evidence, look: Look, query: Query, of: Of, level: float, value: float
) -> tuple[float, float]:
    """The interval of a set's share; the estimated `value` lies inside it.

    Where nobody reported all of the set's attributes together, its parts that somebody did report
    bound it: it is no larger than any of them, and no smaller than what they must have in common
    (Fréchet). Such an interval is wide, and nothing narrower could be promised.
    """
    low, high = _bounds(evidence, look, query, of, level)
    room = _ROOM * (high - low)
    if value <= low:
        low = max(value - room, 0.0)
    if value >= high:
        high = min(value + room, 1.0)
    return low, high


def _bounds(
    evidence: Evidence, look: Look, query: Query, of: Of, level: float
) -> tuple[float, float]:
    parts = _answerable(evidence, query)
    if parts is None:
        return 0.0, 1.0
    if not parts:
        return 1.0, 1.0
    each = 1 - (1 - level) / len(parts)
    ends = []
    for part, found in parts:
        deviation = deviation_of(found, look(part.attributes), part.mask(), of)
        ends.append(interval(deviation.centre, deviation.variance, each))
    lowest = sum(low for low, _ in ends) - (len(ends) - 1)
    return max(lowest, 0.0), min(high for _, high in ends)


def _answerable(evidence: Evidence, query: Query) -> list[tuple[Query, Unbiased]] | None:
    """The query as a conjunction of parts that somebody reported, the fewest found one by one.

    None if one of its terms ties together what nobody reported together.
    """
    parts: list[tuple[Query, Unbiased]] = []
    for term in query.terms:
        for at, (part, _) in enumerate(parts):
            joined = Query(query.domain, (*part.terms, term))
            if (evidence.apart(joined.attributes) or _APART + 1) > _APART:
                continue
            if (found := evidence.table(joined.attributes)) is not None:
                parts[at] = joined, found
                break
        else:
            alone = Query(query.domain, (term,))
            if (found := evidence.table(alone.attributes)) is None:
                return None
            parts.append((alone, found))
    return parts


def deviation_of(found: Unbiased, table: Array, mask: Mask, of: Of) -> Deviation:
    """The unbiased share of a set of cells and how its variance depends on the true share.

    With h(x) = E[f(Y)² | x] for the set's score f, a person inside adds h(x) − 1 to the variance of
    the randomization and one outside h(x). Who was asked and who was drawn add p − p² each.

    Arguments:
        found: the unbiased table of the set's attributes.
        table: their estimated distribution: how people are spread inside and outside the set.
        mask: the set.
        of: whose share it is.
    """
    inside, outside = _spread(table, mask), _spread(table, ~mask)
    centre = floor = slope = 0.0
    for share, view in zip(found.shares, found.views, strict=True):
        scores = view.scores(mask.astype(np.float64))
        squares = view.expected(scores**2)
        within, without = float((squares * inside).sum()), float((squares * outside).sum())
        centre += share * float((scores * view.reported).sum())
        floor += share**2 / view.n * without
        slope += share**2 / view.n * (within - without - 1)
    drawn = found.drawn(population=of == "population")
    return Deviation(centre, floor, slope + drawn, -drawn)


def _spread(table: Array, mask: Mask) -> Array:
    """How people in a set are spread over its cells; evenly if there are none."""
    held = np.where(mask, table, 0.0)
    if not held.sum() > 0:
        held = mask.astype(np.float64)
    return np.asarray(held / max(float(held.sum()), 1e-300))


def interval(
    centre: float, variance: Callable[[float], float], level: float
) -> tuple[float, float]:
    """The shares from which an unbiased estimate may well have come.

    λ(x; p) = ((x − p)² − (x − p̂)²) / V(p), with p̂ the share in [0, 1] nearest to x, is what p is
    less likely than the best share. p is in the interval when λ(X; p) stays below what was seen
    with at most the probability `level`, for X ~ N(p, V(p)).

    Arguments:
        centre: x, the estimate; it may lie outside [0, 1].
        variance: V, for any p in [0, 1].
        level: the confidence level.

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

    def held(p: float) -> bool:
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
