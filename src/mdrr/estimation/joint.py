"""Joint distributions that need not be written out, and give tables, masses of sets, and samples.

`ProductJoint` is the paper's, clusters independent of each other. All other estimates are a
`MixtureJoint` (`mixture.py`), which answers the same questions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from mdrr.domain import Domain
from mdrr.errors import EstimateError
from mdrr.matrix import Array
from mdrr.query import MOST_CELLS, Query, Term, cells_shape
from mdrr.randomizer import smallest_unsigned

Columns: TypeAlias = list[npt.NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Factor:
    """The distribution of some attributes; `values` has one axis per name."""

    names: tuple[str, ...]
    values: Array


@dataclass(frozen=True, eq=False)
class ProductJoint:
    """A product of factors over disjoint attributes that together are the domain (Protocol 1)."""

    domain: Domain
    factors: tuple[Factor, ...]

    def __post_init__(self) -> None:
        names = [name for factor in self.factors for name in factor.names]
        if sorted(names) != sorted(self.domain.names):
            raise EstimateError(f"the factors {names} are not a partition of the domain")
        for factor in self.factors:
            if factor.values.shape != self.domain.project(factor.names).shape:
                raise EstimateError(f"the factor of {factor.names} does not fit its attributes")

    def table(self, names: Sequence[str], /) -> Array:
        """The outer product of the factors' marginals."""
        cells_shape(names, self.domain)
        table = np.ones(())
        axes: list[str] = []
        for factor in self.factors:
            gone = tuple(at for at, name in enumerate(factor.names) if name not in names)
            if len(gone) < len(factor.names):
                table = np.multiply.outer(table, factor.values.sum(axis=gone))
                axes += [name for name in factor.names if name in names]
        return np.transpose(table, [axes.index(name) for name in names])

    def mass(self, query: Query, /) -> float:
        """The product, over groups of factors that a term ties together, of each group's mass."""
        total = 1.0
        for terms in tied(query, self.factors):
            part = Query(self.domain, terms)
            total *= float(self.table(part.attributes)[part.mask()].sum())
        return total

    def sample(self, n: int, rng: np.random.Generator, /) -> Columns:
        """Each factor is drawn on its own."""
        return self._columns([draw_cells(f.values.ravel(), n, rng) for f in self.factors])

    def _columns(self, cells: Sequence[npt.NDArray[np.int64]]) -> Columns:
        """Codes of the attributes, from the cells of each factor."""
        columns: dict[str, npt.NDArray[Any]] = {}
        for factor, each in zip(self.factors, cells, strict=True):
            columns.update(
                zip(factor.names, np.unravel_index(each, factor.values.shape), strict=True)
            )
        return typed([columns[name] for name in self.domain.names], self.domain)

    def combinations(self) -> tuple[Columns, Array]:
        """The product of the factors' supports."""
        supports = [np.flatnonzero(factor.values) for factor in self.factors]
        count = math.prod(len(support) for support in supports)
        if count > MOST_CELLS:
            raise EstimateError(
                f"the estimate has {count:,} combinations of positive probability, too many to "
                "write out; ask for tables or counts, or draw records with .sample(n)"
            )
        grids = np.unravel_index(np.arange(count), [len(support) for support in supports])
        cells = [support[at] for support, at in zip(supports, grids, strict=True)]
        probability = np.ones(count)
        for factor, each in zip(self.factors, cells, strict=True):
            probability *= factor.values.ravel()[each]
        return self._columns(cells), probability

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Every factor's attributes, as places in the domain, and its values."""
        arrays: dict[str, npt.NDArray[Any]] = {}
        for i, factor in enumerate(self.factors):
            arrays[f"places{i}"] = np.array([self.domain.index(name) for name in factor.names])
            arrays[f"factor{i}"] = factor.values
        return arrays

    @classmethod
    def from_arrays(cls, domain: Domain, arrays: Mapping[str, npt.NDArray[Any]]) -> ProductJoint:
        """The joint that `to_arrays` describes."""
        factors: list[Factor] = []
        while f"factor{len(factors)}" in arrays:
            names = tuple(domain.names[j] for j in arrays[f"places{len(factors)}"])
            factors.append(Factor(names, arrays[f"factor{len(factors)}"]))
        return cls(domain, tuple(factors))


def tied(query: Query, factors: Sequence[Factor]) -> Iterator[tuple[Term, ...]]:
    """The query's terms, grouped so that no factor meets two groups."""
    home = {name: i for i, factor in enumerate(factors) for name in factor.names}
    groups: list[tuple[set[int], list[Term]]] = []
    for term in query.terms:
        met = {home[name] for name in term.names}
        joined = [term]
        for group in [g for g in groups if g[0] & met]:
            groups.remove(group)
            met |= group[0]
            joined = group[1] + joined
        groups.append((met, joined))
    for _, terms in groups:
        yield tuple(terms)


def draw_cells(probabilities: Array, n: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """n cells drawn with the given probabilities, by inverting their cumulated sum."""
    cumulated = np.cumsum(probabilities)
    found = np.searchsorted(cumulated, rng.random(n) * cumulated[-1], side="right")
    return np.asarray(np.minimum(found, len(probabilities) - 1), dtype=np.int64)


def typed(columns: Columns, domain: Domain) -> Columns:
    """Code columns in the smallest unsigned types."""
    return [
        column.astype(smallest_unsigned(size))
        for column, size in zip(columns, domain.shape, strict=True)
    ]
