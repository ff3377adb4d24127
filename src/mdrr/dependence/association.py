"""How strongly the two attributes of a table go together: V, |r| or |covariance|.

Read from a table that is known (`measured`), or from an unbiased one whose noise would pass for
dependence (`debiased`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from mdrr.dependence.noise import NoisyTable
from mdrr.domain import Attribute
from mdrr.errors import SchemaError
from mdrr.estimation.project import nearest
from mdrr.matrix import Array

Measure: TypeAlias = Literal["auto", "cramers_v", "pearson", "covariance"]
MEASURES: dict[str, str] = {"cramers_v": "V", "pearson": "|r|", "covariance": "|cov|"}
"""The measures of a pair and their symbols; `auto` is |r| of two ordered attributes, else V."""


def measure_of(first: Attribute, second: Attribute, measure: Measure = "auto") -> str:
    """Which measure a pair gets; only ordered attributes have |r| and covariances."""
    ordered = first.is_ordered and second.is_ordered
    if measure == "auto":
        return "pearson" if ordered else "cramers_v"
    if measure not in MEASURES:
        raise SchemaError(f"measure={measure!r} is not known. Known: auto, {', '.join(MEASURES)}")
    if measure != "cramers_v" and not ordered:
        odd = first if not first.is_ordered else second
        raise SchemaError(
            f"{odd.name!r} is not ordered, so it has no {MEASURES[measure]}: leave it out, or "
            "take the measure 'auto'"
        )
    return measure


def cramers_v(table: npt.ArrayLike) -> float:
    """Cramér's V of a two-way table of counts or shares; 0 where a margin has one category.

    V = √(χ²/n / min(r−1, s−1)) with χ² = Σ (o − e)²/e, e the product of the margins. Empty
    categories have no expected count and are left out of the sum, not of r and s.

    >>> cramers_v([[10, 0], [0, 10]]), cramers_v([[5, 5], [5, 5]])
    (1.0, 0.0)
    """
    shares = shares_of(table)
    expected = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    seen = expected > 0
    phi_squared = float(((shares - expected)[seen] ** 2 / expected[seen]).sum())
    return math.sqrt(phi_squared / (min(shares.shape) - 1))


def pearson(table: npt.ArrayLike, rows: npt.ArrayLike, columns: npt.ArrayLike) -> float:
    """|Pearson r| of a two-way table whose categories stand for numbers.

    >>> round(pearson([[1, 0], [0, 1]], [0, 1], [0, 5]), 12)
    1.0
    """
    return scored(moments(shares_of(table), rows, columns), 0.0, "pearson")


def measured(
    table: npt.ArrayLike, first: Attribute, second: Attribute, measure: Measure = "auto"
) -> float:
    """The dependence in a known table of counts or shares: |r| of ordered pairs, else V."""
    chosen = measure_of(first, second, measure)
    if chosen == "cramers_v":
        return cramers_v(table)
    return scored(moments(shares_of(table), first.scores, second.scores), 0.0, chosen)


def debiased(
    table: NoisyTable, first: Attribute, second: Attribute, measure: Measure = "auto"
) -> float:
    """The dependence of an unbiased table, with what its noise adds taken off.

    Noise alone makes a table look dependent: Σ Var(π̂_ab)/(π_a π_b) is added to χ²/n on average,
    so it is subtracted, and what remains is cut to [0, 1]. A cell is left out when the noise of
    its term, about √2·Var/(π_a π_b), exceeds all it could add, min(π_a, π_b): rare categories
    would otherwise drown the rest. The choice looks at margins only, so it picks no winners. For
    ordered attributes the variance of the covariance, cells taken as uncorrelated, is subtracted
    from its square.
    """
    chosen = measure_of(first, second, measure)
    if chosen != "cramers_v":
        at = moments(table.values, first.scores, second.scores)
        return scored(at, float(at.x**2 @ table.variances @ at.y**2), chosen)
    rows, columns = (nearest(table.values.sum(axis=axis)) for axis in (1, 0))
    expected = np.outer(rows, columns)
    most = np.minimum.outer(rows, columns)
    counted = (expected > 0) & (math.sqrt(2) * table.variances <= most * expected)
    gap = (table.values - expected)[counted] ** 2 - table.variances[counted]
    phi_squared = float((gap / expected[counted]).sum())
    return math.sqrt(min(max(phi_squared, 0.0) / (min(expected.shape) - 1), 1.0))


@dataclass(frozen=True, eq=False)
class Moments:
    """Centred scores, their covariance and their standard deviations."""

    x: Array
    y: Array
    covariance: float
    deviations: tuple[float, float]

    @property
    def scale(self) -> float:
        """What turns the covariance into r."""
        return self.deviations[0] * self.deviations[1]


def moments(shares: Array, first: npt.ArrayLike, second: npt.ArrayLike) -> Moments:
    """The moments of a table whose categories stand for numbers; cells may be negative."""
    centred, deviations, left = [], [], []
    for axis, scores in ((1, first), (0, second)):
        own, numbers = shares.sum(axis=axis), np.asarray(scores, np.float64)
        margin = nearest(own)
        centred.append(numbers - margin @ numbers)
        deviations.append(math.sqrt(float(margin @ centred[-1] ** 2)))
        left.append(float(own @ centred[-1]))  # 0 unless a share is negative
    x, y = centred
    return Moments(x, y, float(x @ shares @ y) - left[0] * left[1], (deviations[0], deviations[1]))


def scored(at: Moments, noise: float, measure: str) -> float:
    """|Cov| or |r| with the variance of the covariance taken off its square."""
    size = math.sqrt(max(at.covariance**2 - noise, 0.0))
    if measure == "covariance":
        return size
    return min(size / at.scale, 1.0) if at.scale > 0 else 0.0


def shares_of(table: npt.ArrayLike) -> Array:
    """A two-way table of counts or shares, as shares."""
    array = np.asarray(table, dtype=np.float64)
    if array.ndim != 2 or min(array.shape) < 2:
        raise SchemaError(f"a two-way table needs 2 rows and 2 columns, not shape {array.shape}")
    if not np.isfinite(array).all() or (array < 0).any() or not array.sum() > 0:
        raise SchemaError("a two-way table holds counts: finite, not negative, not all zero")
    return np.asarray(array / array.sum())
