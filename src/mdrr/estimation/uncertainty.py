"""How sure a count is: one interval for every estimator, made from the unbiased count.

The unbiased estimate x of a share p is nearly normal about p, whatever model the point estimate v
comes from. Its variance V depends on p, and follows from the design: given a true cell, the mean
square of its report's score is known. Only how people are spread over the cells inside and outside
the set is taken from the estimate, so the variance is never negative.

The interval goes from v, or from where x is z standard errors too high, whichever is less, up to v,
or to where x is z too low, whichever is more. So it holds v, and it misses p only if x is z or more
standard errors away *and* v is on the same side of p. With ρ the correlation of the errors of x and
v, that happens with probability Φ(−z) + 2T(z, ρ/√(1 − ρ²)), where T is Owen's function; z is what
makes it 1 − level. Where v follows x, ρ = 1 and z is the usual 1.96. Where x is so noisy that v has
next to nothing to do with it, ρ = 0 and z = 1.645: the interval of Pratt (1961) for a guess.

The reports of a handful of people are not nearly normal. Theirs is the interval of Hoeffding
(1963), which holds at any number of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from scipy.special import ndtr, ndtri, owens_t

from mdrr.estimation.evidence import Evidence
from mdrr.estimation.unbiased import Unbiased
from mdrr.matrix import Array
from mdrr.query import Mask, Query

Of: TypeAlias = Literal["people", "population"]
Look: TypeAlias = Callable[[tuple[str, ...]], Array]
"""Gives the estimated table of some attributes."""

_APART = 6
"""The most separate answers whose noise is multiplied: of more nothing is left but noise."""
_ROOM = 0.02
"""How far an interval reaches beyond a point estimate that would be its end: as a share of the
estimate, of what is left to 1, or of the interval, whichever is least."""
_TURNS = 3
"""How often an end is looked for again with the skewness that the last one would have."""
_SAME = 1e-9
"""Shares nearer than this differ by rounding alone."""
_FEW = 30
"""Fewer people than this are a handful."""
_BEFORE = 4.0
"""As how many directions of noise the belief counts that a point estimate follows the unbiased one:
of a table with few cells, the distance between the two says little."""


@dataclass(frozen=True)
class Deviation:
    """An unbiased share, and its variance and third cumulant if the true share were p.

    They are floor + slope·p + bend·p² and third + twist·p. Where few reports count for much the
    third is large: more of the chance lies far above than far below.
    """

    centre: float
    floor: float
    slope: float
    bend: float
    third: float = 0.0
    twist: float = 0.0

    def variance(self, share: float) -> float:
        """What the variance would be if this were the true share."""
        return max(self.floor + (self.slope + self.bend * share) * share, 0.0)

    def within(self, z: float) -> tuple[float, float]:
        """The shares from 0 to 1 from which the centre is at most z standard errors away.

        They are those between the roots of (x − p)² = z²·V(p), with x put where it would be if its
        chance did not lean to one side (Cornish and Fisher 1938). What is nearer to x than they are
        is held too; if there are none, 0 or 1 is.

        >>> low, high = Deviation(0.5, 0.01, 0.0, 0.0).within(1.96)
        >>> round(low, 3), round(high, 3)
        (0.304, 0.696)
        """
        low, high = self._ends(self.centre, z)
        for _ in range(_TURNS if self.third or self.twist else 0):
            low, high = (
                self._ends(self.centre - self._lean(end, z), z)[i]
                for i, end in ((0, low), (1, high))
            )
        return min(low, high), max(low, high)

    def _lean(self, share: float, z: float) -> float:
        """How far the z-th standard error lies further up than it would on a normal curve."""
        variance = self.variance(share)
        return (
            (self.third + self.twist * share) / variance * (z**2 - 1) / 6 if variance > 0 else 0.0
        )

    def _ends(self, centre: float, z: float) -> tuple[float, float]:
        square = 1 - z**2 * self.bend
        middle = (centre + z**2 * self.slope / 2) / square
        half = math.sqrt(max(middle**2 - (centre**2 - z**2 * self.floor) / square, 0.0))
        low, high = middle - half, middle + half
        if low > 1 or high < 0:
            return (0.0, 0.0) if centre < 0 else (1.0, 1.0)
        return max(low, 0.0) if low <= centre else 0.0, min(high, 1.0) if high >= centre else 1.0


def bounds(
    evidence: Evidence, look: Look, query: Query, of: Of, level: float, value: float
) -> tuple[float, float]:
    """The interval of a set's share; the estimated `value` lies inside it.

    Where nobody reported all of the set's attributes together, its parts that somebody did report
    bound it: it is no larger than any of them, and no smaller than what they must have in common
    (Fréchet). Such an interval is wide, and nothing narrower could be promised. What public
    attributes say of the people is known: it has no width, and nothing within it is larger.
    """
    parts = _answerable(evidence, query)
    if parts is None:
        return 0.0, 1.0
    if not parts:
        return 1.0, 1.0
    each = 1 - (1 - level) / len(parts)
    ends = []
    certain = of == "people" and all(found.exact for _, found in parts)
    for part, found in parts:
        if of == "people" and found.exact:
            share = float(found.values[part.mask()].sum())
            ends.append((share, share))
            continue
        if evidence.people < _FEW:
            ends.append(of_a_handful(found, part.mask(), each))
            continue
        table = look(part.attributes)
        z = reach(each, agreement(found, table, of))
        ends.append(deviation_of(found, table, part.mask(), of).within(z))
    low = max(sum(low for low, _ in ends) - (len(ends) - 1), 0.0)
    high = min(high for _, high in ends)
    if of == "people":
        high = min(high, public_share(evidence, query))
    if certain and abs(low - value) < _SAME > abs(high - value):
        return value, value
    low, high = min(low, value), max(high, value)
    room = 0.0 if certain else _ROOM * min(value, 1 - value, high - low)
    return min(low, value - room), max(high, value + room)


def public_share(evidence: Evidence, query: Query) -> float:
    """The share of people who meet what a query asks of public attributes: it is known."""
    public = evidence.design.domain.public
    terms = tuple(term for term in query.terms if set(term.names) <= set(public))
    part = Query(query.domain, terms)
    found = evidence.table(part.attributes) if terms else None
    return 1.0 if found is None else min(float(found.values[part.mask()].sum()), 1.0)


def agreement(found: Unbiased, table: Array, of: Of) -> float:
    """ρ: how the errors of an estimated table go with those of the unbiased one.

    An estimate v that makes the best of x and of all else there is has Cov(v, x) = Var(v), so that
    the mean of (x − v)² is (1 − ρ²)·V (Hausman 1978).
    """
    noise = float(found.variances(population=of == "population").sum())
    if not noise > 0:
        return 1.0
    apart = float(((found.values - table) ** 2).sum()) / noise
    free = max(math.prod(size - 1 for size in table.shape) * found.evenness, 1.0)
    return math.sqrt(max(1 - apart * free / (free + _BEFORE), 0.0))


def reach(level: float, agreement: float) -> float:
    """z: how many standard errors the unbiased share may be away, see above.

    >>> round(reach(0.95, 1.0), 3), round(reach(0.95, 0.0), 3)
    (1.96, 1.645)
    """
    most = float(ndtri((1 + level) / 2))
    if agreement >= 1:
        return most
    slope = agreement / math.sqrt(1 - agreement**2)

    def missed(z: float) -> float:
        return float(ndtr(-z) + 2 * owens_t(z, slope)) - (1 - level)

    from scipy.optimize import brentq  # slow to import, and seldom needed

    return float(brentq(missed, 0.0, most + 1)) if missed(0.0) > 0 else 0.0


def of_a_handful(found: Unbiased, mask: Mask, level: float) -> tuple[float, float]:
    """The interval of Hoeffding (1963) for an unbiased share.

    A mean of n independent scores, each from a to b, is off by more than t with a probability below
    2·exp(−2nt²/(b − a)²).
    """
    centre = square = 0.0
    for share, view in zip(found.shares, found.views, strict=True):
        scores = view.scores(mask.astype(np.float64))
        centre += share * float((scores * view.reported).sum())
        square += (share * float(np.ptp(scores))) ** 2 / view.n
    half = math.sqrt(square * math.log(2 / (1 - level)) / 2)
    return min(max(centre - half, 0.0), 1.0), min(max(centre + half, 0.0), 1.0)


def _answerable(evidence: Evidence, query: Query) -> list[tuple[Query, Unbiased]] | None:
    """The query as a conjunction of parts that somebody reported, the fewest found one by one.

    None if one of its terms ties together what nobody reported together.
    """
    parts: list[tuple[Query, Unbiased]] = []
    for term in query.terms:
        for at, (part, _) in enumerate(parts):
            joined = Query(query.domain, (*part.terms, term))
            apart = evidence.apart(joined.attributes)
            if apart is None or apart > _APART:
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
    the randomization and one outside h(x). To the third cumulant she adds E[f³ | x] − 3h(x) + 2 or
    E[f³ | x]. Who was asked and who was drawn add p − p² each to the variance. The estimated
    `table` says how people are spread inside and outside the set.
    """
    inside, outside = _spread(table, mask), _spread(table, ~mask)
    centre = floor = slope = third = twist = 0.0
    for share, view in zip(found.shares, found.views, strict=True):
        scores = view.scores(mask.astype(np.float64))
        squares, cubes = view.expected(scores**2), view.expected(scores**3)
        within, without = float((squares * inside).sum()), float((squares * outside).sum())
        leaning = float((cubes * outside).sum())
        centre += share * float((scores * view.reported).sum())
        floor += share**2 / view.n * without
        slope += share**2 / view.n * (within - without - 1)
        third += share**3 / view.n**2 * leaning
        twist += share**3 / view.n**2 * (float((cubes * inside).sum()) - 3 * within + 2 - leaning)
    drawn = found.drawn(population=of == "population")
    return Deviation(centre, floor, slope + drawn, -drawn, third, twist)


def _spread(table: Array, mask: Mask) -> Array:
    """How people in a set are spread over its cells; evenly if there are none."""
    held = np.where(mask, table, 0.0)
    if not held.sum() > 0:
        held = mask.astype(np.float64)
    return np.asarray(held / max(float(held.sum()), 1e-300))
