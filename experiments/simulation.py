"""Queries, reports and estimates of many runs at once, simulated from counts.

A constant matrix with signal s sends the truth with probability s and otherwise a uniform cell. So
of the c_u people whose true cell is u, K_u ~ Binomial(c_u, s) send it, and the n − ΣK_u others are
one Multinomial over all cells: each person is in exactly one of the two groups, independently of
all others, and within the second her report is uniform whatever her truth. Hence K + M has the
distribution of the counts that randomizing record by record gives. Under any other matrix the
people of a true cell are a Multinomial over its row. Attributes that are randomized on their own
are done one after the other, each within the cells of all others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from experiments.readings import READINGS, Matrices
from mdrr.datasets import adult, adult_domain
from mdrr.domain import Domain
from mdrr.estimation.project import nearest
from mdrr.frames import encode
from mdrr.matrix import Constant
from mdrr.randomizer import cells_of

Attributes = tuple[int, ...]
Counts = npt.NDArray[np.int64]
Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class People:
    """True records as codes, one `unsigned (rows,)` array per attribute, `copies` times over."""

    domain: Domain
    codes: tuple[npt.NDArray[Any], ...]
    copies: int = 1
    _tables: dict[Attributes, Counts] = field(default_factory=dict, repr=False)

    @property
    def n(self) -> int:
        return len(self.codes[0]) * self.copies

    def shape(self, attributes: Attributes) -> tuple[int, ...]:
        return tuple(self.domain.shape[j] for j in attributes)

    def names(self, attributes: Attributes) -> tuple[str, ...]:
        return tuple(self.domain.names[j] for j in attributes)

    def table(self, attributes: Attributes) -> Counts:
        """How many people have each combination, one axis per attribute; counted once."""
        if attributes not in self._tables:
            shape = self.shape(attributes)
            cells = cells_of([self.codes[j] for j in attributes], shape)
            counted = np.bincount(cells, minlength=math.prod(shape)) * self.copies
            self._tables[attributes] = counted.reshape(shape)
        return self._tables[attributes]


@cache
def adult_people(copies: int = 1) -> People:
    """The 32,561 records and eight attributes of the paper."""
    domain = adult_domain()
    return People(domain, tuple(encode(adult(), domain)), copies)


@dataclass(frozen=True)
class Choices:
    """What the paper leaves open, and what is chosen.

    Arguments:
        rounding: of σ·(number of combinations): `nearest` (ties up), `down` or `up`; at least 1.
        empty: a query that nobody satisfies (X_S = 0, no relative error): `redraw` it, or let its
            relative error be `infinite`.
        repeated: whether the random attributes of a query may be the same one.
        size: how many attributes a query is over.
        projection: how estimates become proper: `clip` (the paper's) or `euclidean`.
    """

    rounding: str = "nearest"
    empty: str = "redraw"
    repeated: bool = False
    size: int = 2
    projection: str = "clip"

    def combinations(self, coverage: float, cells: int) -> int:
        """How many of the cells a query of coverage σ holds; exact, so 0.3·10 is 3.

        >>> Choices().combinations(0.1, 35), Choices(rounding="down").combinations(0.1, 35)
        (4, 3)
        """
        exact = Fraction(str(coverage)) * cells
        if self.rounding == "nearest":
            return max(math.floor(exact + Fraction(1, 2)), 1)
        return max(math.floor(exact) if self.rounding == "down" else math.ceil(exact), 1)


@dataclass(frozen=True, eq=False)
class Asked:
    """The queries over some attributes: whose runs they are, S as `bool (k, cells)`, and X_S."""

    attributes: Attributes
    runs: npt.NDArray[np.int64]
    chosen: npt.NDArray[np.bool_]
    truth: Counts

    def errors(self, tables: Array, n: int) -> tuple[Array, Array]:
        """e_S = |Y_S − X_S| and r_S = e_S/X_S, Y_S being n times the mass of S.

        Arguments:
            tables: estimated distributions, `(k, cells)`, one per query.
            n: how many people.
        """
        absolute = np.abs(np.einsum("kc,kc->k", tables, self.chosen) * n - self.truth)
        with np.errstate(divide="ignore", invalid="ignore"):
            relative = absolute / self.truth
        return absolute, np.where(absolute == 0, 0.0, relative)


def ask(
    people: People, runs: int, coverage: float, choices: Choices, seed: Sequence[int]
) -> list[Asked]:
    """One random query of coverage σ per run, grouped by the attributes they are over.

    With the same seed, runs have the same attributes at every σ, and S grows with σ (but where a
    query had to be drawn again): differences between coverages, methods and data sets are then
    compared run by run.
    """
    rng = np.random.default_rng(seed)
    left = np.arange(runs)
    found: dict[Attributes, list[tuple[Any, Any, Any]]] = {}
    while len(left):
        drawn = rng.integers(len(people.domain), size=(len(left), choices.size))
        if not choices.repeated:
            order = rng.random((len(left), len(people.domain))).argsort(axis=1)
            drawn = order[:, : choices.size]
        rows, which = np.unique(np.sort(drawn, axis=1), axis=0, return_inverse=True)
        again = []
        for k, row in enumerate(rows):
            attributes = tuple(sorted({int(j) for j in row}))
            at = left[which.ravel() == k]
            counts = people.table(attributes).ravel()
            held = choices.combinations(coverage, len(counts))
            keys = rng.random((len(at), len(counts)))
            chosen = keys <= np.partition(keys, held - 1, axis=1)[:, held - 1 : held]
            truth = chosen @ counts
            kept = (truth > 0) | (choices.empty == "infinite")
            found.setdefault(attributes, []).append((at[kept], chosen[kept], truth[kept]))
            again.append(at[~kept])
        left = np.concatenate(again)
    groups = [
        Asked(attributes, *(np.concatenate(part) for part in zip(*parts, strict=True)))
        for attributes, parts in sorted(found.items())
    ]
    return [group for group in groups if len(group.runs)]


def reported(true: Counts, matrices: Matrices, rng: np.random.Generator) -> Counts:
    """Counts of reports, drawn from counts of true cells (proof above).

    Arguments:
        true: `(…, r_1, …, r_k)`, the last axes one per matrix; the first are runs.
        matrices: of attributes that are randomized on their own, or one over a whole cluster.
        rng: random numbers.
    """
    table = true
    for axis, matrix in enumerate(matrices, start=-len(matrices)):
        groups = np.moveaxis(table, axis, -1)
        cells = groups.shape[-1]
        if matrix is None or isinstance(matrix, Constant):
            kept = rng.binomial(groups, 0.0 if matrix is None else matrix.signal)
            rest = groups.sum(axis=-1) - kept.sum(axis=-1)
            groups = kept + rng.multinomial(rest, np.full(cells, 1 / cells))
        else:
            rows = matrix.likelihood(np.arange(cells)).T
            groups = rng.multinomial(groups, rows).sum(axis=-2)
        table = np.moveaxis(groups, -1, axis)
    return table


def estimated(counts: Counts, matrices: Matrices, projection: str) -> Array:
    """The proper distribution of every run, `(runs, r_1, …, r_k)`, from its counts of reports."""
    values = counts / counts.reshape(len(counts), -1).sum(axis=1).reshape(-1, *[1] * len(matrices))
    for axis, matrix in enumerate(matrices, start=1):
        if matrix is None:
            values = np.zeros_like(values) + values.mean(axis=axis, keepdims=True)
        else:
            values = np.moveaxis(matrix.solve(np.moveaxis(values, axis, -1)), -1, axis)
    flat = values.reshape(len(values), -1)
    if projection == "euclidean":
        flat = np.array([nearest(row) for row in flat])
    else:  # the paper's order of steps: clip, then rescale
        flat = np.maximum(flat, 0)
        flat = flat / flat.sum(axis=1, keepdims=True)
    return np.asarray(flat.reshape(values.shape))


Partition = tuple[tuple[Attributes, Matrices], ...]
"""Clusters of attributes with their matrices."""


def partition(
    people: People, clusters: Sequence[Sequence[str]], reading: str, p: float
) -> Partition:
    """Clusters of names with the matrices that a reading of section 6.3 gives them."""
    places = [tuple(people.domain.index(name) for name in names) for names in clusters]
    return tuple((members, READINGS[reading][0](people.shape(members), p)) for members in places)


def margins(
    people: People,
    parts: Partition,
    attributes: Attributes,
    runs: int,
    projection: str,
    rng: np.random.Generator,
) -> list[tuple[Attributes, Array]]:
    """Every run's estimate of each cluster that holds some of the attributes."""
    found = []
    for members, matrices in parts:
        if not set(members) & set(attributes):
            continue
        shape = people.shape(members) if len(matrices) > 1 else (-1,)
        true = people.table(members).reshape(shape)
        counts = reported(np.broadcast_to(true, (runs, *true.shape)), matrices, rng)
        estimate = estimated(counts, matrices, projection)
        found.append((members, estimate.reshape(runs, *people.shape(members))))
    return found


def product(factors: Sequence[tuple[Attributes, Array]], attributes: Attributes) -> Array:
    """The tables of some attributes, `(runs, cells)`, with clusters taken as independent."""
    table: Array = np.ones((len(factors[0][1]),))
    axes: list[int] = []
    for members, estimate in factors:
        kept = [j for j in members if j in attributes]
        if kept:
            gone = tuple(a for a, j in enumerate(members, start=1) if j not in attributes)
            margin = estimate.sum(axis=gone)
            wide = table.reshape(*table.shape, *[1] * len(kept))
            table = wide * margin.reshape(len(margin), *[1] * len(axes), *margin.shape[1:])
            axes += kept
    order = [0, *(1 + axes.index(j) for j in attributes)]
    return np.transpose(table, order).reshape(len(table), -1)
