"""How strongly two attributes go together: |Pearson r| or Cramér's V (section 4).

Three readings of a table: as it is, as it stands in randomized reports (attenuated, the paper's),
and debiased (unbiased table, with what its noise adds to χ² taken off).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from mdrr.columns import make_frame
from mdrr.design import Design
from mdrr.domain import Attribute, Domain
from mdrr.errors import EstimateError, SchemaError
from mdrr.estimation.margins import one_way
from mdrr.estimation.pairs import PairTable, reported_pair, unbiased_moment, unbiased_pair
from mdrr.estimation.project import nearest
from mdrr.estimation.unbiased import unbiased
from mdrr.matrix import Array
from mdrr.tallies import Tally


@dataclass(frozen=True, eq=False)
class Dependences:
    """The dependence of every pair of attributes: symmetric, between 0 and 1, 1 on the diagonal.

    Arguments:
        names: the attributes.
        values: `(m, m)`.
        margins: every attribute's own distribution, if it was learnt with them; plans use it.

    Example:
        >>> found = Dependences(("a", "b"), np.array([[1, 0.3], [0.3, 1]]))
        >>> found["b", "a"], found.ranked()
        (0.3, [('a', 'b', 0.3)])
    """

    names: tuple[str, ...]
    values: Array
    margins: tuple[Array, ...] | None = None

    def __post_init__(self) -> None:
        try:
            values = np.asarray(self.values, dtype=np.float64)
        except (TypeError, ValueError):
            raise SchemaError("dependences are numbers; some of these are not") from None
        if values.shape != (len(self.names),) * 2:
            raise SchemaError(f"{len(self.names)} attributes need as many rows and columns")
        if not np.isfinite(values).all() or (values < 0).any() or (values > 1 + 1e-12).any():
            raise SchemaError("a dependence lies between 0 and 1")
        if not np.array_equal(values, values.T):
            raise SchemaError("dependences are symmetric")
        object.__setattr__(self, "values", values)
        if self.margins is not None:
            object.__setattr__(self, "margins", _checked(self.margins, self.names))

    def __getitem__(self, pair: tuple[str, str]) -> float:
        try:
            first, second = (self.names.index(name) for name in pair)
        except ValueError:
            raise SchemaError(
                f"no dependence is known between {pair[0]!r} and {pair[1]!r}"
            ) from None
        return float(self.values[first, second])

    def ranked(self) -> list[tuple[str, str, float]]:
        """All pairs, the strongest first; ties in the domain's order."""
        pairs = [(a, b, self[a, b]) for a, b in combinations(self.names, 2)]
        return sorted(pairs, key=lambda pair: -pair[2])

    def to_frame(self, backend: str | None = None) -> Any:
        """One row per pair, the strongest first."""
        rows = self.ranked()
        columns = dict(zip(("first", "second", "dependence"), zip(*rows, strict=True), strict=True))
        return make_frame({name: list(column) for name, column in columns.items()}, backend)


def _checked(margins: Sequence[npt.ArrayLike], names: Sequence[str]) -> tuple[Array, ...]:
    if not isinstance(margins, Sequence) or len(margins) != len(names):
        raise SchemaError(f"{len(names)} attributes have as many margins, in a list")
    found = []
    for name, margin in zip(names, margins, strict=True):
        try:
            shares = np.asarray(margin, dtype=np.float64)
        except (TypeError, ValueError):
            shares = np.zeros(0)
        if shares.ndim != 1 or not (shares >= 0).all() or not abs(shares.sum() - 1) <= 1e-6:
            raise SchemaError(f"the margin of {name!r} is not a list of shares that sum to 1")
        found.append(shares / shares.sum())
    return tuple(found)


def cramers_v(table: npt.ArrayLike) -> float:
    """Cramér's V of a two-way table of counts or shares; 0 where a margin has one category.

    V = √(χ²/n / min(r−1, s−1)) with χ² = Σ (o − e)²/e, e the product of the margins. Empty
    categories have no expected count and are left out of the sum, not of r and s.

    >>> cramers_v([[10, 0], [0, 10]]), cramers_v([[5, 5], [5, 5]])
    (1.0, 0.0)
    """
    shares = _shares(table)
    return math.sqrt(_phi_squared(shares) / (min(shares.shape) - 1))


def pearson(table: npt.ArrayLike, rows: npt.ArrayLike, columns: npt.ArrayLike) -> float:
    """|Pearson r| of a two-way table whose categories stand for numbers.

    >>> round(pearson([[1, 0], [0, 1]], [0, 1], [0, 5]), 12)
    1.0
    """
    return _correlation(_shares(table), np.asarray(rows, float), np.asarray(columns, float))


def dependence(table: npt.ArrayLike, first: Attribute, second: Attribute) -> float:
    """|r| when both attributes are ordered, V otherwise."""
    if first.is_ordered and second.is_ordered:
        return pearson(table, first.scores, second.scores)
    return cramers_v(table)


def from_tables(tables: Mapping[tuple[str, str], npt.ArrayLike], domain: Domain) -> Dependences:
    """Dependences from one two-way table per pair, rows being the pair's first attribute.

    Arguments:
        tables: `{(first, second): counts (r, s)}`, each pair in either order.
        domain: gives kinds and scores.
    """
    sums: dict[str, list[Array]] = {name: [] for name in domain.names}

    def measure(first: Attribute, second: Attribute) -> float:
        if (first.name, second.name) in tables:
            table = np.asarray(tables[first.name, second.name])
        elif (second.name, first.name) in tables:
            table = np.asarray(tables[second.name, first.name]).T
        else:
            raise SchemaError(f"there is no table of {first.name!r} and {second.name!r}")
        if table.shape != (first.size, second.size):
            raise SchemaError(
                f"the table of {first.name!r} and {second.name!r} has shape {table.shape}, "
                f"not {(first.size, second.size)}"
            )
        for axis, name in ((1, first.name), (0, second.name)):
            sums[name].append(_shares(table).sum(axis=axis))
        return dependence(table, first, second)

    found = _each_pair(domain, measure)
    return replace(found, margins=tuple(np.mean(each, axis=0) for each in sums.values()))


def from_codes(codes: Sequence[npt.NDArray[Any]], domain: Domain) -> Dependences:
    """Dependences of true records as code columns: for simulation, since nobody holds them."""
    return from_tables(pair_tables(codes, domain), domain)


def pair_tables(
    codes: Sequence[npt.NDArray[Any]], domain: Domain
) -> dict[tuple[str, str], npt.NDArray[np.int64]]:
    """The two-way table of every pair of code columns; tables of chunks add up."""
    tables = {}
    for i, j in combinations(range(len(domain)), 2):
        shape = domain.shape[i], domain.shape[j]
        cells = codes[i].astype(np.int64) * shape[1] + codes[j]
        counts = np.bincount(cells, minlength=shape[0] * shape[1])
        tables[domain.names[i], domain.names[j]] = counts.reshape(shape)
    return tables


def from_tally(tally: Tally, design: Design, *, debias: bool = True) -> Dependences:
    """Dependences from randomized reports (section 4.1).

    Arguments:
        tally: the reports.
        design: how they were made.
        debias: invert the randomization first; otherwise the reports are read as they stand,
            attenuated, as the paper does, which may also reorder pairs.

    Returns:
        The dependences of all pairs; every pair must have been reported by somebody.
    """

    def measure(first: Attribute, second: Attribute) -> float:
        if debias and first.is_ordered and second.is_ordered:
            return _debiased_correlation(tally, design, first, second)
        if debias:
            return debiased(unbiased_pair(tally, design, first.name, second.name), first, second)
        return dependence(reported_pair(tally, design, first.name, second.name), first, second)

    found = _each_pair(design.domain, measure)
    return replace(found, margins=_margins(tally, design)) if debias else found


def _margins(tally: Tally, design: Design) -> tuple[Array, ...] | None:
    """Every attribute's distribution, unless noise has drawn one of them towards the even one."""
    for attribute in design.domain.attributes:
        found = unbiased(tally, design, [attribute.name])
        if found is None or is_vague(float(found.variances(population=True).sum()), attribute.size):
            return None
    return one_way(tally, design)


def is_vague(variance: float, categories: int) -> bool:
    """Whether noise is more than a tenth of what unknown distributions differ from the even by.

    >>> is_vague(0.01, 4), is_vague(0.02, 4)
    (False, True)
    """
    return variance > 0.1 * unknown_spread(categories)


def unknown_spread(categories: int) -> float:
    """S: how far (squared) a distribution drawn evenly from all there are is from the even one.

    >>> unknown_spread(2)  # the mean of 2·(p − ½)²
    0.16666666666666666
    """
    return (categories - 1) / (categories * (categories + 1))


def debiased(table: PairTable, first: Attribute, second: Attribute) -> float:
    """The dependence of an unbiased table, with what its noise adds taken off.

    Noise alone makes a table look dependent: Σ Var(π̂_ab)/(π_a π_b) is added to χ²/n on average,
    so it is subtracted, and what remains is cut to [0, 1]. A cell is left out when the noise of
    its term, about √2·Var/(π_a π_b), exceeds all it could add, min(π_a, π_b): rare categories
    would otherwise drown the rest. The choice looks at margins only, so it picks no winners. For
    ordered attributes the variance of the covariance, cells taken as uncorrelated, is subtracted
    from its square.

    Arguments:
        table: an unbiased table and the variances of its cells.
        first: the attribute of the rows.
        second: the attribute of the columns.
    """
    rows, columns = (nearest(table.values.sum(axis=axis)) for axis in (1, 0))
    if first.is_ordered and second.is_ordered:
        x, y = _centred(first, rows), _centred(second, columns)
        noise = float(x**2 @ table.variances @ y**2)
        return _shrunk(
            float(x @ table.values @ y), noise, float(rows @ x**2), float(columns @ y**2)
        )
    expected = np.outer(rows, columns)
    most = np.minimum.outer(rows, columns)
    counted = (expected > 0) & (math.sqrt(2) * table.variances <= most * expected)
    gap = (table.values - expected)[counted] ** 2 - table.variances[counted]
    phi_squared = float((gap / expected[counted]).sum())
    return math.sqrt(min(max(phi_squared, 0.0) / (min(expected.shape) - 1), 1.0))


def _debiased_correlation(
    tally: Tally, design: Design, first: Attribute, second: Attribute
) -> float:
    """|r| from the unbiased covariance and its exact variance."""
    table = unbiased_pair(tally, design, first.name, second.name)
    rows, columns = (nearest(table.values.sum(axis=axis)) for axis in (1, 0))
    x, y = _centred(first, rows), _centred(second, columns)
    covariance, noise = unbiased_moment(tally, design, (first.name, second.name), x, y)
    return _shrunk(covariance, noise, float(rows @ x**2), float(columns @ y**2))


def _centred(attribute: Attribute, shares: Array) -> Array:
    scores = np.asarray(attribute.scores)
    return np.asarray(scores - shares @ scores)


def _shrunk(covariance: float, noise: float, first: float, second: float) -> float:
    spread = first * second
    return math.sqrt(min(max(covariance**2 - noise, 0.0) / spread, 1.0)) if spread > 0 else 0.0


def _each_pair(domain: Domain, measure: Callable[[Attribute, Attribute], float]) -> Dependences:
    if len(domain) < 2:
        raise EstimateError("dependence needs at least two attributes")
    values = np.eye(len(domain))
    for i, j in combinations(range(len(domain)), 2):
        values[i, j] = values[j, i] = measure(domain.attributes[i], domain.attributes[j])
    return Dependences(domain.names, values)


def _shares(table: npt.ArrayLike) -> Array:
    array = np.asarray(table, dtype=np.float64)
    if array.ndim != 2 or min(array.shape) < 2:
        raise SchemaError(f"a two-way table needs 2 rows and 2 columns, not shape {array.shape}")
    if not np.isfinite(array).all() or (array < 0).any() or not array.sum() > 0:
        raise SchemaError("a two-way table holds counts: finite, not negative, not all zero")
    return np.asarray(array / array.sum())


def _phi_squared(shares: Array) -> float:
    expected = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    seen = expected > 0
    return float(((shares - expected)[seen] ** 2 / expected[seen]).sum())


def _correlation(shares: Array, rows: Array, columns: Array) -> float:
    first, second = shares.sum(axis=1), shares.sum(axis=0)
    x, y = rows - first @ rows, columns - second @ columns
    spread = math.sqrt(float(first @ x**2) * float(second @ y**2))
    return min(abs(float(x @ shares @ y)) / spread, 1.0) if spread > 0 else 0.0
