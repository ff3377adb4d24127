"""Unbiased tables of any few attributes, from any design, with their variances.

Every questionnaire that asks all the attributes sees their table through the Kronecker product of
its clusters' matrices, which inverts axis by axis. With f_C(x, y) the score of cell x given report
y (`mdrr.matrix.through`), E[Π_C f_C(x_C, Y_C) | true cell t] = 1[x = t].
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mdrr.design import Design
from mdrr.errors import EstimateError
from mdrr.matrix import Array, Public, Through
from mdrr.query import MOST_CELLS, cells_shape
from mdrr.randomizer import cells_of
from mdrr.tallies import Tally


@dataclass(frozen=True, eq=False)
class View:
    """What one questionnaire's n people say about some attributes.

    `reported` are the shares of the combinations of codes, one axis per cluster met; `order` puts
    the attributes, listed cluster by cluster, in the order asked for.
    """

    n: int
    axes: tuple[Through, ...]
    reported: Array
    shape: tuple[int, ...]
    order: tuple[int, ...]

    @property
    def noise(self) -> float:
        """The mean variance of one report's scores if all cells were equally likely."""
        squares = math.prod(axis.square / axis.cells for axis in self.axes)
        return max(squares - math.prod(1 / axis.cells for axis in self.axes) ** 2, 1e-300)

    def table(self, power: int = 1) -> Array:
        """The mean over people of every cell's score, or of its square."""
        table = self.reported
        for at, axis in enumerate(self.axes):
            table = axis.invert(table, at, power)
        return np.transpose(table.reshape(self.shape), self.order)

    def arranged(self, table: Array) -> Array:
        """A table of the attributes in the order asked for, with one axis per cluster."""
        back = np.transpose(table, np.argsort(self.order))
        return back.reshape([axis.cells for axis in self.axes])

    def scores(self, weights: Array) -> Array:
        """The score of Σ weights·table for every combination of codes."""
        scores = self.arranged(weights)
        for at, axis in enumerate(self.axes):
            scores = axis.score(scores, at)
        return scores

    def expected(self, values: Array) -> Array:
        """The mean of some numbers, one per combination of codes, for every true cell.

        Part of a cluster that is not constant has no channel of its own: the cluster's other
        attributes are then taken as evenly distributed.
        """
        for at, axis in enumerate(self.axes):
            values = axis.backward(values, at) if axis.likely else axis.mean(values, at)
        return np.transpose(values.reshape(self.shape), self.order)


@dataclass(frozen=True, eq=False)
class Unbiased:
    """The unbiased table of some attributes, pooled over the questionnaires that ask them all."""

    names: tuple[str, ...]  # one axis each
    views: tuple[View, ...]  # what each questionnaire says
    shares: tuple[float, ...]  # the pooling weights, from the design and numbers of people only
    people: int  # how many reported in all

    @cached_property
    def values(self) -> Array:
        """The table: it sums to 1, cells may be negative."""
        parts = [share * view.table() for share, view in zip(self.shares, self.views, strict=True)]
        return np.asarray(sum(parts))

    @property
    def exact(self) -> bool:
        """Whether all attributes are public: the table is then known, not estimated."""
        return all(isinstance(a.matrix, Public) for view in self.views for a in view.axes)

    @property
    def evenness(self) -> float:
        """How evenly the noise is spread over the table's directions, see `Through`."""
        each = (math.prod(axis.evenness for axis in view.axes) for view in self.views)
        return float(np.dot(self.shares, list(each)))

    def drawn(self, *, population: bool) -> float:
        """What the choice of people adds, per unit of variance between them.

        Who was asked what is drawn, Σ share²/n − 1/N; for a population so are the people, 1/N.
        """
        asked = sum(s**2 / v.n for s, v in zip(self.shares, self.views, strict=True))
        return asked if population else max(asked - 1 / self.people, 0.0)

    def variances(self, *, population: bool = False) -> Array:
        """The variance of every cell, about the people's own table or about the population's.

        Given the true records, Σ share²/n · (E f² − π) is the randomization's; who was asked what,
        and who was drawn from a population, add to it.
        """
        inside = np.clip(self.values, 0, 1)
        total = np.zeros(inside.shape)
        for share, view in zip(self.shares, self.views, strict=True):
            if not self.exact:
                total += share**2 / view.n * np.maximum(view.table(2) - inside, 0)
        return np.asarray(total + self.drawn(population=population) * (inside - inside**2))


def unbiased(tally: Tally, design: Design, names: Sequence[str]) -> Unbiased | None:
    """The unbiased table of attributes in any order, or None when nobody was asked all of them.

    Example:
        >>> from mdrr.domain import Attribute, Domain
        >>> from mdrr.protocols import independent
        >>> from mdrr.tallies import tally_codes
        >>> domain = Domain((Attribute("a", ("x", "y")), Attribute("b", ("x", "y"))))
        >>> design = independent(domain, p=0.5)
        >>> tally = tally_codes([[np.array([0, 0, 1, 1]), np.array([0, 0, 1, 0])]], design)
        >>> unbiased(tally, design, ["a", "b"]).values.round(2)
        array([[ 1. , -0.5],
               [ 0. ,  0.5]])
    """
    tally.check(design)
    cells_shape(names, design.domain)
    views = [view_of(tally, design, q, tuple(names)) for q in asking(tally, design, names)]
    return pooled(tuple(names), views, tally.n) if views else None


def asking(tally: Tally, design: Design, names: Sequence[str]) -> list[int]:
    """The questionnaires that ask all of the attributes and that somebody answered.

    Sums tell how two answers were given together, and not more.
    """

    def is_known(q: int) -> bool:
        clusters, group = design.questionnaires[q].clusters, tally.groups[q]
        met = (not set(names).isdisjoint(cluster.attributes) for cluster in clusters)
        return group.n > 0 and (group.sums is None or sum(met) <= 2)

    return [q for q in design.asking(names) if is_known(q)]


def pooled(names: tuple[str, ...], views: Sequence[View], people: int) -> Unbiased:
    """Views of the same attributes together, each weighing people over noise."""
    weights = [view.n / view.noise for view in views]
    return Unbiased(names, tuple(views), tuple(w / sum(weights) for w in weights), people)


def view_of(tally: Tally, design: Design, questionnaire: int, names: tuple[str, ...]) -> View:
    """What the people who answered one questionnaire say of attributes that it asks."""
    group = tally.groups[questionnaire]
    axes, places, listed = list[Through](), list[int](), list[str]()
    for at, cluster in enumerate(design.questionnaires[questionnaire].clusters):
        met = tuple(name for name in cluster.attributes if name in names)
        if met:
            kept = tuple(cluster.attributes.index(name) for name in met)
            axes.append(Through(cluster.matrix, design.shape(cluster), kept))
            places.append(at)
            listed += met
    sizes = [axis.outcomes for axis in axes]
    if math.prod(sizes) > MOST_CELLS:
        raise EstimateError(
            f"a table of {', '.join(names)} as reported has {math.prod(sizes):,} cells; "
            "ask for fewer attributes"
        )
    if len(places) == 2 and sizes == [group.sizes[at] for at in places]:
        table = group.pair(*places)
    else:
        reported, counts = group.reported(*places)
        codes = [axis.codes(each) for axis, each in zip(axes, reported, strict=True)]
        table = np.bincount(cells_of(codes, sizes), counts, math.prod(sizes)).reshape(sizes)
    shape = tuple(design.domain.attribute(name).size for name in listed)
    order = tuple(listed.index(name) for name in names)
    return View(group.n, tuple(axes), table / group.n, shape, order)
