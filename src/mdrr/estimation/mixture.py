"""A mixture of products: the joint distribution of the latent class model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from mdrr.domain import Domain
from mdrr.errors import EstimateError
from mdrr.estimation.joint import MOST_COMBINATIONS, Columns, draw_cells, typed
from mdrr.matrix import Array
from mdrr.query import Query
from mdrr.terms import cells_shape

_LETTERS = "abcdefghijklmnopqrstuvwxy"


@dataclass(frozen=True, eq=False)
class MixtureJoint:
    """x ~ Σ_z w_z Π_j θ_zj(x_j): within a class the attributes are independent.

    Arguments:
        domain: over what.
        weights: w, `(Z,)`, summing to 1.
        tables: θ, one `(r_j, Z)` array per attribute, every column summing to 1.

    Example:
        >>> from mdrr.domain import Attribute
        >>> d = Domain((Attribute("a", ("x", "y")), Attribute("b", ("x", "y"))))
        >>> twin = MixtureJoint(d, np.array([0.5, 0.5]), (np.eye(2), np.eye(2)))
        >>> twin.table(["a", "b"])
        array([[0.5, 0. ],
               [0. , 0.5]])
    """

    domain: Domain
    weights: Array
    tables: tuple[Array, ...]

    def __post_init__(self) -> None:
        shapes = tuple(table.shape for table in self.tables)
        if shapes != tuple((size, len(self.weights)) for size in self.domain.shape):
            raise EstimateError(f"tables of shapes {shapes} do not fit the domain")
        if not np.isclose(self.weights.sum(), 1, atol=1e-6) or (self.weights < 0).any():
            raise EstimateError("the weights of a mixture are shares that sum to 1")
        for name, table in zip(self.domain.names, self.tables, strict=True):
            if not np.allclose(table.sum(axis=0), 1, atol=1e-6) or (table < 0).any():
                raise EstimateError(f"the classes' distributions of {name!r} do not sum to 1")

    def table(self, names: Sequence[str], /) -> Array:
        """Σ_z w_z ⊗_j θ_zj."""
        cells_shape(names, self.domain)
        if len(names) > len(_LETTERS):
            raise EstimateError(f"a table over {len(names)} attributes is too large; ask for fewer")
        tables = [self.tables[self.domain.index(name)] for name in names]
        if not tables:
            return np.ones(())
        letters = _LETTERS[: len(names)]
        inputs = ",".join(["z", *(f"{letter}z" for letter in letters)])
        return np.asarray(np.einsum(f"{inputs}->{letters}", self.weights, *tables, optimize=True))

    def mass(self, query: Query, /) -> float:
        """Σ_z w_z Π_terms (the class's mass of the term): terms share no attribute."""
        masses = self.weights.copy()
        for term in query.terms:
            tables = [self.tables[self.domain.index(name)] for name in term.names]
            inside = term.mask.astype(np.float64)[..., None]
            for at, table in enumerate(tables):
                shape = [1] * len(tables) + [len(self.weights)]
                shape[at] = len(table)
                inside = inside * table.reshape(shape)
            masses = masses * inside.reshape(-1, len(self.weights)).sum(axis=0)
        return float(masses.sum())

    def sample(self, n: int, rng: np.random.Generator, /) -> Columns:
        """A class is drawn for every record, then each attribute within it."""
        classes = np.sort(draw_cells(self.weights, n, rng))
        starts = np.searchsorted(classes, np.arange(len(self.weights) + 1))
        order = rng.permutation(n)
        columns = []
        for table in self.tables:
            column = np.empty(n, dtype=np.int64)
            for z, (start, stop) in enumerate(pairwise(starts)):
                column[start:stop] = draw_cells(table[:, z], stop - start, rng)
            columns.append(column[order])
        return typed(columns, self.domain)

    def combinations(self) -> tuple[Columns, Array]:
        """The whole domain, where it is small enough to write out."""
        size = math.prod(self.domain.shape)
        if size > MOST_COMBINATIONS:
            raise EstimateError(
                f"the domain has {size:,} combinations, too many to write out; "
                "ask for tables or counts, or draw records with .sample(n)"
            )
        values = self.table(self.domain.names).ravel()
        kept = np.flatnonzero(values > 0)
        columns = [np.asarray(c) for c in np.unravel_index(kept, self.domain.shape)]
        return typed(columns, self.domain), values[kept]


def average(mixtures: Sequence[MixtureJoint]) -> MixtureJoint:
    """The mean of several mixtures over one domain: again a mixture, of all their classes."""
    if len({mixture.domain for mixture in mixtures}) != 1:
        raise EstimateError("only mixtures over one domain have a mean")
    weights = np.concatenate([m.weights for m in mixtures]) / len(mixtures)
    tables = zip(*(m.tables for m in mixtures), strict=True)
    return MixtureJoint(
        mixtures[0].domain, weights, tuple(np.concatenate(parts, axis=1) for parts in tables)
    )
