"""Unbiased tables and counts over any few attributes, from any design, with exact variances.

Every questionnaire that asks all the attributes sees their table through the Kronecker product of
its clusters' matrices, which inverts axis by axis. A cluster's matrix seen through some of its
attributes stays constant where it was constant. With f_C(x, y) the score of cell x given report y,
E[f_C(x, Y) | true cell t] = 1[x = t], any linear functional w of the table is estimated by the mean
of Σ_x w(x) Π_C f_C(x_C, y_C).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from mdrr.design import Cluster, Design
from mdrr.errors import EstimateError, MdrrError
from mdrr.estimation.result import Deviation, Of
from mdrr.matrix import Array, Banded, Constant, Dense, Matrix
from mdrr.query import Query
from mdrr.randomizer import cells_of
from mdrr.tallies import Group, Tally
from mdrr.terms import cells_shape

_MOST_CELLS = 2**24


@dataclass(frozen=True, eq=False)
class Axis:
    """Some attributes of one cluster: the reported codes they give, and the scores of their cells.

    The score is `hit` where the code is the cell and `miss` elsewhere, or `scores[cell, code]`.
    `matrix` is the cluster's own where the axis is all of a cluster that is not constant.
    """

    codes: npt.NDArray[np.int64]
    cells: int
    outcomes: int
    hit: float = 0.0
    miss: float = 0.0
    scores: Array | None = None
    matrix: Matrix | None = None

    @property
    def likely(self) -> bool:
        """Whether a code has a probability given the cell: parts of a dense cluster have none."""
        return self.scores is None or self.matrix is not None

    @cached_property
    def evenness(self) -> float:
        """How evenly the noise of the cells is spread over all directions, at most 1.

        (Σλ)²/Σλ² of the eigenvalues of its covariance, if all cells were equally frequent, over the
        number of directions; 1 after constant matrices, and nearly so after subsets. A banded one's
        inverse has most of its noise in few.
        """
        if not isinstance(self.matrix, Banded | Dense) or self.scores is None or self.cells < 3:
            return 1.0
        shares = self.matrix.forward(np.full(self.cells, 1 / self.cells))
        centred = self.scores - (self.scores @ shares)[:, None]
        covariance = (centred * shares) @ centred.T
        total = float(np.trace(covariance))
        return min(total**2 / float((covariance**2).sum()) / (self.cells - 1), 1.0)

    def forward(self, table: Array, at: int) -> Array:
        """Σ_x P(y | x) · table(…, x, …): an axis of cells becomes one of codes."""
        if self.matrix is not None:
            return np.moveaxis(self.matrix.forward(np.moveaxis(table, at, -1)), -1, at)
        signal = 1 / (self.hit - self.miss)
        return np.asarray(signal * (table - self.miss * table.sum(axis=at, keepdims=True)))

    def backward(self, values: Array, at: int) -> Array:
        """Σ_y P(y | x) · values(…, y, …): an axis of codes becomes one of cells."""
        if self.matrix is not None:
            return np.moveaxis(self.matrix.backward(np.moveaxis(values, at, -1)), -1, at)
        return self.forward(values, at)

    def means(self, power: int) -> float:
        """The mean of the scores' power over all cells and codes."""
        if self.scores is not None:
            return float((self.scores**power).mean())
        return (self.hit**power + (self.cells - 1) * self.miss**power) / self.cells

    def invert(self, table: Array, at: int, power: int = 1) -> Array:
        """Σ_y f(x, y)^power · table(…, y, …): an axis of codes becomes one of cells."""
        if self.scores is not None:
            moved = np.tensordot(self.scores**power, table, axes=(1, at))
            return np.asarray(np.moveaxis(moved, 0, at))
        hit, miss = self.hit**power, self.miss**power
        return np.asarray((hit - miss) * table + miss * table.sum(axis=at, keepdims=True))

    def score(self, functional: Array, at: int) -> Array:
        """Σ_x f(x, y) · functional(…, x, …): an axis of cells becomes one of codes."""
        if self.scores is not None:
            moved = np.tensordot(self.scores, functional, axes=(0, at))
            return np.asarray(np.moveaxis(moved, 0, at))
        return self.invert(functional, at)


@dataclass(frozen=True, eq=False)
class View:
    """What one questionnaire's n people say about some attributes.

    `reported` are the shares of the combinations of codes, one axis per cluster met; `order` puts
    the attributes, listed cluster by cluster, in the order asked for.
    """

    n: int
    axes: tuple[Axis, ...]
    reported: Array
    shape: tuple[int, ...]
    order: tuple[int, ...]

    @property
    def noise(self) -> float:
        """One report's variance if all codes were equally likely: reports are not looked at."""
        squares = math.prod(axis.means(2) for axis in self.axes)
        return max(squares - math.prod(axis.means(1) for axis in self.axes) ** 2, 1e-300)

    def table(self, power: int = 1) -> Array:
        """The mean over people of every cell's score, or of its square."""
        table = self.reported
        for at, axis in enumerate(self.axes):
            table = axis.invert(table, at, power)
        return np.transpose(table.reshape(self.shape), self.order)

    def functional(self, weights: Array) -> tuple[float, float]:
        """Mean and mean square over people of the score of Σ weights·table."""
        back = np.argsort(self.order)
        scores = np.transpose(weights, back).reshape([axis.cells for axis in self.axes])
        for at, axis in enumerate(self.axes):
            scores = axis.score(scores, at)
        return float((scores * self.reported).sum()), float((scores**2 * self.reported).sum())

    def contrast(self, mask: npt.NDArray[np.bool_]) -> float:
        """How much larger the score of a set squares to if a person is in it than if she is not.

        E[f(Y)² | x] averaged over the cells x inside and outside: what the reports are is not
        looked at. Parts of a dense cluster have no likelihood of their own: it is taken for 1.
        """
        if not all(axis.likely for axis in self.axes) or mask.all() or not mask.any():
            return 1.0
        inside = np.transpose(mask, np.argsort(self.order)).reshape([a.cells for a in self.axes])
        squares = inside.astype(np.float64)
        for at, axis in enumerate(self.axes):
            squares = axis.score(squares, at)
        squares = squares**2
        for at, axis in enumerate(self.axes):
            squares = axis.backward(squares, at)
        return float(squares[inside].mean() - squares[~inside].mean())


@dataclass(frozen=True, eq=False)
class Unbiased:
    """The unbiased table of some attributes, pooled over the questionnaires that ask them all.

    Arguments:
        names: the attributes, one axis each.
        views: what each questionnaire says.
        shares: the pooling weights, from the design and the numbers of people only.
        people: how many people reported in all.
    """

    names: tuple[str, ...]
    views: tuple[View, ...]
    shares: tuple[float, ...]
    people: int

    @property
    def values(self) -> Array:
        """The table: it sums to 1, cells may be negative."""
        parts = [share * view.table() for share, view in zip(self.shares, self.views, strict=True)]
        return np.asarray(sum(parts))

    @property
    def evenness(self) -> float:
        """How evenly the noise is spread over the table's directions, see `Axis`."""
        each = (math.prod(axis.evenness for axis in view.axes) for view in self.views)
        return float(np.dot(self.shares, list(each)))

    @property
    def _sampling(self) -> float:
        """Σ share²/n − 1/N: what drawing the people who were asked adds, per unit of variance."""
        drawn = sum(s**2 / v.n for s, v in zip(self.shares, self.views, strict=True))
        return max(drawn - 1 / self.people, 0.0)

    def variances(self, *, population: bool = False) -> Array:
        """The variance of every cell, about the people's own table or about the population's.

        Given the true records, Σ share²/n · (E f² − π) is the randomization's; who was asked what
        adds (π − π²)(Σ share²/n − 1/N), and the draw of the people from a population (π − π²)/N.
        """
        table = self.values
        inside = np.clip(table, 0, 1)
        total = np.zeros(table.shape)
        for share, view in zip(self.shares, self.views, strict=True):
            total += share**2 / view.n * np.maximum(view.table(2) - inside, 0)
        drawn = self._sampling + (1 / self.people if population else 0.0)
        return np.asarray(total + drawn * (inside - inside**2))

    def margin_variances(self, axis: int) -> Array:
        """The variances of the table's sums over all axes but one, about the people's own."""
        shape = self.values.shape
        found = []
        for at in range(shape[axis]):
            mask = np.zeros(shape)
            np.moveaxis(mask, axis, 0)[at] = 1.0
            found.append(self.count(mask)[1])
        return np.array(found)

    def count(self, mask: Array, *, population: bool = False) -> tuple[float, float]:
        """The unbiased mass of a set of cells, and its variance."""
        value = noise = 0.0
        for share, view in zip(self.shares, self.views, strict=True):
            mean, square = view.functional(mask)
            value += share * mean
            noise += share**2 / view.n * square
        inside = min(max(value, 0.0), 1.0)
        asked = sum(s**2 / v.n for s, v in zip(self.shares, self.views, strict=True))
        drawn = self._sampling + (1 / self.people if population else 0.0)
        return value, max(noise - asked * inside, 0.0) + drawn * (inside - inside**2)

    def deviation(self, mask: npt.NDArray[np.bool_], *, population: bool = False) -> Deviation:
        """The unbiased mass p̂ of a set of cells, and its variance if the mass were p.

        The noise of one report, E f² − p, is linear in p: with D = E[f² | inside] − E[f² | outside]
        it is f²'s mean, plus D·(p − f's mean), less p. Who was asked and drawn adds ~ (p − p²).
        """
        value = floor = change = 0.0
        for share, view in zip(self.shares, self.views, strict=True):
            mean, square = view.functional(mask.astype(np.float64))
            contrast = view.contrast(mask)
            value += share * mean
            floor += share**2 / view.n * (square - contrast * mean)
            change += share**2 / view.n * (contrast - 1)
        inside = min(max(value, 0.0), 1.0)
        drawn = self._sampling + (1 / self.people if population else 0.0)
        variance = max(floor + change * inside, 0.0) + drawn * (inside - inside**2)
        slope = change + drawn * (1 - 2 * inside)
        return Deviation(value, math.sqrt(variance), slope, -drawn, proper=False)


def unbiased(tally: Tally, design: Design, names: Sequence[str]) -> Unbiased | None:
    """The unbiased table of some attributes, or None when nobody was asked all of them.

    Arguments:
        tally: the reports.
        design: how they were made.
        names: the attributes, in the order of the axes wanted.

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
    views = list(_views(tally, design, tuple(names)))
    if not views:
        return None
    weights = [view.n / view.noise for view in views]
    shares = tuple(weight / sum(weights) for weight in weights)
    return Unbiased(tuple(names), tuple(views), shares, tally.n)


def of_query(tally: Tally, design: Design, query: Query, of: Of) -> Deviation | None:
    """The unbiased count of a set, or None when nobody was asked all of it or it is too large."""
    try:
        found = unbiased(tally, design, query.attributes)
    except MdrrError:
        return None
    return None if found is None else found.deviation(query.mask(), population=of == "population")


def _views(tally: Tally, design: Design, names: tuple[str, ...]) -> Iterator[View]:
    cells_shape(names, design.domain)
    for questionnaire, group in zip(design.questionnaires, tally.groups, strict=True):
        if not group.n or not set(names) <= set(questionnaire.attributes):
            continue
        axes: list[Axis] = []
        listed: list[str] = []
        for at, cluster in enumerate(questionnaire.clusters):
            met = tuple(name for name in cluster.attributes if name in names)
            if met:
                axes.append(_axis(group, at, cluster, design, met))
                listed += met
        sizes = [axis.outcomes for axis in axes]
        if math.prod(sizes) > _MOST_CELLS:
            raise EstimateError(
                f"a table of {', '.join(names)} as reported has {math.prod(sizes):,} cells; "
                "ask for fewer attributes"
            )
        codes = cells_of([axis.codes for axis in axes], sizes)
        shares = np.bincount(codes, group.counts, math.prod(sizes)).reshape(sizes) / group.n
        shape = tuple(design.domain.attribute(name).size for name in listed)
        order = tuple(listed.index(name) for name in names)
        yield View(group.n, tuple(axes), shares, shape, order)


def _axis(group: Group, at: int, cluster: Cluster, design: Design, names: tuple[str, ...]) -> Axis:
    shape = design.shape(cluster)
    places = [cluster.attributes.index(name) for name in names]
    sizes = [shape[place] for place in places]
    cells = math.prod(sizes)
    codes = group.codes[at].astype(np.int64)
    matrix = cluster.matrix
    if isinstance(matrix, Constant):
        digits = [codes // math.prod(shape[place + 1 :]) % shape[place] for place in places]
        floor = matrix.floor * matrix.cells / cells
        hit, miss = (1 - floor) / matrix.signal, -floor / matrix.signal
        return Axis(cells_of(digits, sizes), cells, cells, hit, miss)
    if cells * matrix.cells > _MOST_CELLS:
        raise EstimateError(f"a table of {', '.join(names)} within {cluster.name!r} is too large")
    grids = np.unravel_index(np.arange(matrix.cells), shape)
    kept = cells_of([grids[place] for place in places], sizes)
    indicators = np.zeros((cells, matrix.cells))
    indicators[kept, np.arange(matrix.cells)] = 1.0
    whole = matrix if len(names) == len(shape) else None
    return Axis(codes, cells, matrix.outcomes, scores=matrix.scores(indicators), matrix=whole)
