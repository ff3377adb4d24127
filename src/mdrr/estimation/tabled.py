"""A joint that answers from tables made when they are asked for, and what such tables need.

Tables of few attributes come from a maker; what is too large for a table comes from a base joint.
All tables agree with the same one-way margins. Records are the base's, raked to the pair tables.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Protocol

import numpy as np

from mdrr.domain import Domain
from mdrr.errors import EstimateError
from mdrr.estimation.joint import Columns, Joint, WeightedJoint, typed
from mdrr.matrix import Array
from mdrr.query import Query
from mdrr.randomizer import cells_of

_MOST_CELLS = 2**20
_FEWEST_RECORDS = 50_000


class Maker(Protocol):
    """Makes the proper table of some attributes, given in the domain's order."""

    def table(self, names: tuple[str, ...], /) -> Array:
        """One axis per name; its one-way margins are the maker's own."""
        ...


@dataclass(frozen=True, eq=False)
class TabledJoint:
    """Tables from a maker, kept once made; everything larger from a base joint.

    Arguments:
        domain: over what.
        base: a proper joint distribution.
        maker: makes the tables of few attributes.
    """

    domain: Domain
    base: Joint
    maker: Maker
    _known: dict[tuple[str, ...], Array] = field(default_factory=dict, repr=False)

    def table(self, names: Sequence[str], /) -> Array:
        """The table of some attributes, axes in the order given."""
        if not small(names, self.domain):
            return self.base.table(names)
        key = tuple(sorted(names, key=self.domain.index))
        if key not in self._known:
            self._known[key] = self.maker.table(key)
        return np.transpose(self._known[key], [key.index(name) for name in names])

    def mass(self, query: Query, /) -> float:
        """From the table of the query's attributes, or from the base where that is too large."""
        names = query.attributes
        if not names or not small(names, self.domain):
            return self.base.mass(query)
        return float(self.table(names)[query.mask()].sum())

    def sample(self, n: int, rng: np.random.Generator, /) -> Columns:
        """Records of the base, drawn by the weights that make them agree with all pair tables."""
        columns = self.base.sample(max(4 * n, _FEWEST_RECORDS), rng)
        ways = range(len(self.domain))
        targets = [
            (places, self.table([self.domain.names[j] for j in places]))
            for size in (1, 2)
            for places in combinations(ways, size)
        ]
        weights = rake_records(columns, self.domain.shape, targets)
        return WeightedJoint(self.domain, tuple(columns), weights).sample(n, rng)

    def combinations(self) -> tuple[Columns, Array]:
        """The whole domain where it is a small table, the base's combinations otherwise."""
        if not small(self.domain.names, self.domain):
            return self.base.combinations()
        values = self.table(self.domain.names).ravel()
        kept = np.flatnonzero(values > 0)
        columns = [np.asarray(c) for c in np.unravel_index(kept, self.domain.shape)]
        return typed(columns, self.domain), values[kept]


def small(names: Sequence[str], domain: Domain) -> bool:
    """Whether the table of some attributes is small enough to be made."""
    return math.prod(domain.attribute(name).size for name in names) <= _MOST_CELLS


def margin_of(table: Array, axis: int) -> Array:
    """The sums of a table over all axes but one."""
    return np.asarray(table.sum(axis=tuple(at for at in range(table.ndim) if at != axis)))


def fit_margins(
    table: Array, margins: Sequence[Array], *, tolerance: float = 1e-10, sweeps: int = 100
) -> Array:
    """Iterative proportional fitting of a table to one-way margins (Deming and Stephan 1940).

    A row that is empty takes its margin spread as the other margins are, so any margins can be met.
    """
    if len(margins) == 1:
        return margins[0]
    table = np.asarray(table, dtype=np.float64)
    spread = margins[0]
    for margin in margins[1:]:
        spread = np.multiply.outer(spread, margin)
    table = table + 1e-12 * spread
    for _ in range(sweeps):
        worst = 0.0
        for at, margin in enumerate(margins):
            sums = margin_of(table, at)
            worst = max(worst, float(np.abs(sums - margin).sum()))
            shape = [1] * table.ndim
            shape[at] = len(margin)
            ratio = np.divide(margin, sums, out=np.zeros_like(margin), where=sums > 0)
            table = table * ratio.reshape(shape)
        if worst < tolerance:
            break
    else:
        table = _met(table, margins)
    total = table.sum()
    if not total > 0:
        raise EstimateError("the margins leave no cell possible")
    return np.asarray(table / total)


def _met(table: Array, margins: Sequence[Array]) -> Array:
    """A table whose margins are met though fitting has not ended (Altschuler et al. 2017).

    What exceeds a margin is scaled down, axis by axis; what is then missing of every margin is
    added as the product of the missing parts.
    """
    for at, margin in enumerate(margins):
        sums = margin_of(table, at)
        ratio = np.minimum(np.divide(margin, sums, out=np.ones_like(margin), where=sums > 0), 1.0)
        table = table * ratio.reshape([-1 if axis == at else 1 for axis in range(table.ndim)])
    missing: Array = np.ones(())
    for at, margin in enumerate(margins):
        part = np.maximum(margin - margin_of(table, at), 0.0)
        missing = np.multiply.outer(missing, part / part.sum() if part.sum() > 0 else part)
    return np.asarray(table + max(1 - float(table.sum()), 0.0) * missing)


def fit_pairs(
    table: Array,
    pairs: Mapping[tuple[int, int], Array],
    *,
    tolerance: float = 1e-8,
    sweeps: int = 30,
) -> Array:
    """Iterative proportional fitting of a table to two-way margins, given by pairs of axes.

    Where it has not ended after some sweeps, one-way margins are met and two-way ones nearly.
    """
    table = np.asarray(table, dtype=np.float64)
    for _ in range(sweeps):
        worst = 0.0
        for (first, second), target in pairs.items():
            axes = tuple(axis for axis in range(table.ndim) if axis not in (first, second))
            sums = table.sum(axis=axes)
            worst = max(worst, float(np.abs(sums - target).sum()))
            shape = [1] * table.ndim
            shape[first], shape[second] = target.shape
            ratio = np.divide(target, sums, out=np.zeros_like(target), where=sums > 0)
            table = table * ratio.reshape(shape)
        if worst < tolerance:
            break
    else:
        table = _met(table, [_margin(axis, pairs) for axis in range(table.ndim)])
    return np.asarray(table / table.sum())


def _margin(axis: int, pairs: Mapping[tuple[int, int], Array]) -> Array:
    """One axis's own margin, as its first pair has it."""
    pair = next(pair for pair in pairs if axis in pair)
    return np.asarray(pairs[pair].sum(axis=1 - pair.index(axis)))


def rake_records(
    columns: Columns,
    shape: tuple[int, ...],
    targets: Sequence[tuple[tuple[int, ...], Array]],
    sweeps: int = 20,
) -> Array:
    """Weights of records whose tables are the targets, as nearly as the records allow."""
    weights = np.full(len(columns[0]), 1 / len(columns[0]))
    cells = [
        cells_of([columns[j] for j in places], [shape[j] for j in places]) for places, _ in targets
    ]
    for _ in range(sweeps):
        moved = 0.0
        for at, (_, target) in zip(cells, targets, strict=True):
            flat = target.ravel()
            sums = np.bincount(at, weights, flat.size)
            reached = np.where(sums > 0, flat, 0.0)
            ratio = np.divide(
                reached / reached.sum(), sums, out=np.zeros_like(sums), where=sums > 0
            )
            moved = max(moved, float(np.abs(ratio * sums - sums).sum()))
            weights = weights * ratio[at]
        if moved < 1e-6:
            break
    return np.asarray(weights / weights.sum())
