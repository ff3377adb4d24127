"""What an estimate says of an ordered attribute: histogram, mean, quantiles.

A numeric attribute's values are taken as spread evenly within each bin; an ordinal one's categories
stand for their ranks, or for themselves when they are integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mdrr.errors import QueryError
from mdrr.estimation import Estimate
from mdrr.matrix import Array
from mdrr.query import Query, Term


@dataclass(frozen=True, eq=False)
class Histogram:
    """The share of people in each bin, with its interval; `edges` has one value more."""

    name: str
    edges: Array
    shares: Array
    low: Array
    high: Array


@dataclass(frozen=True)
class Quantile:
    """The value below which a share of the people lie, with its interval."""

    share: float
    value: float
    low: float
    high: float


def histogram(estimate: Estimate, name: str, *, level: float = 0.95) -> Histogram:
    """The distribution of an ordinal or numeric attribute over its bins.

    Arguments:
        estimate: from any method.
        name: the attribute.
        level: the confidence level of each bin's interval.
    """
    edges = _edges(estimate, name)
    table = estimate.table(name, level=level)
    return Histogram(name, edges, table.values, table.low, table.high)


def mean(estimate: Estimate, name: str) -> float:
    """The mean of an ordered attribute: bin midpoints weighted by their shares."""
    edges = _edges(estimate, name)
    return float(estimate.table(name).values @ ((edges[:-1] + edges[1:]) / 2))


def quantiles(
    estimate: Estimate,
    name: str,
    shares: Sequence[float] = (0.25, 0.5, 0.75),
    *,
    level: float = 0.95,
) -> tuple[Quantile, ...]:
    """Quantiles of an ordered attribute.

    The interval inverts the interval of the share at or below each bin (Woodruff 1952): the values
    at which that share could still be, or already be, the wanted one.

    Arguments:
        estimate: from any method.
        name: an ordinal or numeric attribute.
        shares: which quantiles, each strictly between 0 and 1.
        level: the confidence level of the intervals.
    """
    edges = _edges(estimate, name)
    for share in shares:
        if not 0 < share < 1:
            raise QueryError(f"a quantile lies strictly between 0 and 1, not at {share}")
    below = np.concatenate([[0.0], np.cumsum(estimate.table(name).values)])
    low, high = np.zeros(len(edges)), np.ones(len(edges))
    high[0], low[-1] = 0.0, 1.0
    for k in range(1, len(edges) - 1):
        mask = np.arange(len(edges) - 1) < k
        count = estimate.count(Query(estimate.domain, (Term((name,), mask),)), level=level)
        low[k], high[k] = count.low / count.n, count.high / count.n
    low, high = np.maximum.accumulate(low), np.maximum.accumulate(high)
    return tuple(
        Quantile(share, *(_crossing(share, curve, edges) for curve in (below, high, low)))
        for share in shares
    )


def _crossing(share: float, below: Array, edges: Array) -> float:
    """Where the cumulated share first reaches the wanted one, linear within a bin."""
    at = min(max(int(np.searchsorted(below, share)), 1), len(edges) - 1)
    rise = below[at] - below[at - 1]
    part = (share - below[at - 1]) / rise if rise > 0 else 1.0
    return float(edges[at - 1] + min(max(part, 0.0), 1.0) * (edges[at] - edges[at - 1]))


def _edges(estimate: Estimate, name: str) -> Array:
    """Bin edges of an ordered attribute; around ranks or integers, half a step to each side."""
    attribute = estimate.domain.attribute(name)
    if not attribute.is_ordered:
        raise QueryError(
            f"{name!r} has no order (it is nominal, or has a category for missing answers): "
            "ask for its table instead"
        )
    if attribute.edges is not None:
        return np.asarray(attribute.edges, dtype=np.float64)
    values = np.arange(attribute.size, dtype=np.float64)
    if type(attribute.categories[0]) is int:
        numbers = np.asarray(attribute.categories, dtype=np.float64)
        values = numbers if (np.diff(numbers) > 0).all() else values
    middles = (values[:-1] + values[1:]) / 2
    return np.concatenate([[2 * values[0] - middles[0]], middles, [2 * values[-1] - middles[-1]]])
