"""What an estimate says of an ordered attribute: histogram, mean, quantiles.

A numeric attribute's values are taken as spread evenly within each bin; an ordinal one's categories
stand for their ranks, or for themselves when they are integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mdrr.domain import Attribute
from mdrr.errors import QueryError
from mdrr.estimation import Estimate
from mdrr.masks import Term
from mdrr.matrix import Array
from mdrr.query import Query


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
    attribute = _ordered(estimate, name)
    table = estimate.table(name, level=level)
    return Histogram(name, _edges(attribute), table.values, table.low, table.high)


def mean(estimate: Estimate, name: str) -> float:
    """The mean of an ordered attribute: bin midpoints weighted by their shares."""
    attribute = _ordered(estimate, name)
    edges = _edges(attribute)
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
    attribute = _ordered(estimate, name)
    for share in shares:
        if not 0 < share < 1:
            raise QueryError(f"a quantile lies strictly between 0 and 1, not at {share}")
    edges = _edges(attribute)
    below = np.concatenate([[0.0], np.cumsum(estimate.table(name).values)])
    low, high = np.zeros(len(edges)), np.ones(len(edges))
    high[0] = 0.0
    low[-1] = 1.0
    for k in range(1, attribute.size):
        mask = np.arange(attribute.size) < k
        count = estimate.count(Query(estimate.domain, (Term((name,), mask),)), level=level)
        low[k], high[k] = count.low / count.n, count.high / count.n
    low, high = np.maximum.accumulate(low), np.maximum.accumulate(high)
    return tuple(
        Quantile(share, *(_crossing(share, curve, edges) for curve in (below, high, low)))
        for share in shares
    )


def _crossing(share: float, below: Array, edges: Array) -> float:
    """Where the cumulated share first reaches the wanted one, linear within a bin."""
    at = int(np.searchsorted(below, share))
    at = min(max(at, 1), len(edges) - 1)
    rise = below[at] - below[at - 1]
    part = (share - below[at - 1]) / rise if rise > 0 else 1.0
    return float(edges[at - 1] + min(max(part, 0.0), 1.0) * (edges[at] - edges[at - 1]))


def _ordered(estimate: Estimate, name: str) -> Attribute:
    attribute = estimate.domain.attribute(name)
    if not attribute.is_ordered:
        raise QueryError(
            f"{name!r} has no order (it is nominal, or has a category for missing answers): "
            "ask for its table instead"
        )
    return attribute


def _edges(attribute: Attribute) -> Array:
    """Bin edges; around ranks or integers, half a step to each side."""
    if attribute.edges is not None:
        return np.asarray(attribute.edges, dtype=np.float64)
    first = attribute.categories[0]
    numbers = attribute.categories if type(first) is int else range(attribute.size)
    values = np.asarray(numbers, dtype=np.float64)
    if (np.diff(values) <= 0).any():
        values = np.arange(attribute.size, dtype=np.float64)
    middles = (values[:-1] + values[1:]) / 2
    ends = values[0] - (middles[0] - values[0]), values[-1] + (values[-1] - middles[-1])
    return np.concatenate([[ends[0]], middles, [ends[1]]])
