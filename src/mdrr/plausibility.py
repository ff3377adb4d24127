"""Whether reports can have come through their matrices. True answers given as reports cannot.

Whatever her true answer x is, a person reports the code y with a probability between min_x P[x, y]
and max_x P[x, y]. So a code can be neither too rare nor too frequent: the number of people who
report it has a mean between the sums of those bounds, and its tails, one person or more away from
that mean, are below those of the binomial distribution with the same mean (Hoeffding 1956). The
same holds for a category of an attribute, which is a set of codes, over all questionnaires that
ask for it, and for a pair of codes of two clusters: what she reports of the one does not depend on
what she reports of the other, so the bounds of a pair are products of the bounds of its parts. Of
public attributes the counts are known: they are never doubted, and bound what is reported beside.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import nsmallest
from itertools import combinations

import numpy as np
import numpy.typing as npt
from scipy.special import betainc

from mdrr.counting import counted
from mdrr.design import Cluster, Design
from mdrr.groups import Group
from mdrr.matrix import Array, Constant, Matrix, Public
from mdrr.tallies import Tally

FALSE_ALARMS = 1e-4
"""How often, at most, reports that are as they should be are doubted: once in 10,000 tallies."""

_SHOWN = 3
_AT_ONCE = 1024
_LISTED = 2**20
"""Up to so many codes, those that nobody reported are tested too."""
_PAIR_CELLS = 2**16
_PAIRS = 500
"""At most so many pairs of clusters are tested, those of fewest cells."""


@dataclass(eq=False)
class _Seen:
    """How many of n people reported each code, and the bounds of how many should have.

    `codes` are all codes below `size` or, where those are many, the codes that occur.
    """

    attributes: tuple[str, ...]
    are_cells: bool
    size: int
    codes: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]
    least: Array
    most: Array
    n: int

    def add(self, other: _Seen) -> None:
        """The same codes, reported to another questionnaire."""
        self.counts = self.counts + other.counts
        self.least = self.least + other.least
        self.most = self.most + other.most
        self.n += other.n

    def strangest(self, threshold: float) -> tuple[float, int] | None:
        """The distance in standard errors of the code furthest from what can be, and its place."""
        n, counts = self.n, self.counts
        few = np.flatnonzero(counts <= self.least - 1)
        few = few[betainc(n - counts[few], counts[few] + 1, 1 - self.least[few] / n) < threshold]
        many = np.flatnonzero(counts >= self.most + 1)
        many = many[betainc(counts[many], n - counts[many] + 1, self.most[many] / n) < threshold]
        distance = np.concatenate(
            [
                (self.least[few] - counts[few]) / np.sqrt(self.least[few]),
                (counts[many] - self.most[many]) / np.sqrt(self.most[many]),
            ]
        )
        if not len(distance):
            return None
        return float(distance.max()), int(np.concatenate([few, many])[distance.argmax()])

    def sentence(self, place: int, design: Design) -> str:
        """What is strange about the code at a place, in words."""
        code = self.codes[place]
        what = f"the number {code}"
        if self.are_cells:
            attributes = [design.domain.attribute(name) for name in self.attributes]
            places = np.unravel_index(code, [a.size for a in attributes])
            what = ", ".join(repr(a.categories[i]) for a, i in zip(attributes, places, strict=True))
        count, least, most = int(self.counts[place]), self.least[place], self.most[place]
        bound = f"at least about {least:,.0f}" if count < least else f"at most about {most:,.0f}"
        return (
            f"{'+'.join(self.attributes)}: {count:,} of {self.n:,} reports say {what}, but "
            f"{bound} randomized ones would, whatever the true answers are"
        )


def doubts(tally: Tally, design: Design, *, rate: float = FALSE_ALARMS) -> tuple[str, ...]:
    """What speaks against these being randomized reports, in sentences; none if nothing does.

    `rate` is how likely, at most, reports that were made under the design are doubted, whatever
    the true answers are.

    >>> from mdrr.domain import Attribute, Domain
    >>> from mdrr.protocols import independent
    >>> from mdrr.tallies import tally_codes
    >>> design = independent(Domain((Attribute("a", ("x", "y")),)), p=0.5)
    >>> doubts(tally_codes([[[0, 1]]], design, counts=[[700, 300]]), design)
    ()
    >>> print(doubts(tally_codes([[[0, 1]]], design, counts=[[999, 1]]), design)[0][:75])
    a: 1 of 1,000 reports say 'y', but at least about 250 randomized ones would
    """
    tally.check(design)
    gathered = _gathered(tally, design)
    tests = 2 * sum(seen.size for seen in gathered)
    found = [(seen, s) for seen in gathered if (s := seen.strangest(rate / tests)) is not None]
    alone = {name for seen, _ in found if len(seen.attributes) == 1 for name in seen.attributes}
    # A cluster says nothing new when one of its attributes is in doubt already.
    found = [f for f in found if len(f[0].attributes) == 1 or not alone & {*f[0].attributes}]
    found.sort(key=lambda each: -each[1][0])
    said = [seen.sentence(place, design) for seen, (_, place) in found[:_SHOWN]]
    if len(found) > _SHOWN:
        said.append(f"The same holds for {len(found) - _SHOWN} more")
    if said:
        said.append(
            "These look like true answers, or reports of another design. Randomize true records "
            "first, or use the design the reports were made under"
        )
    return tuple(said)


def _gathered(tally: Tally, design: Design) -> list[_Seen]:
    """Codes of clusters and of pairs of them, and categories, over all questionnaires."""
    gathered: dict[tuple[object, ...], _Seen] = {}
    pairs = _pairs(design)
    for q, (group, questionnaire) in enumerate(
        zip(tally.groups, design.questionnaires, strict=True)
    ):
        if not group.n:
            continue
        clusters = questionnaire.clusters
        found = [_codes(group, j, cluster) for j, cluster in enumerate(clusters)]
        for j, cluster in enumerate(clusters):
            found += _margins(group, j, cluster, design)
        for i, j in combinations(range(len(clusters)), 2):
            if clusters[i].attributes + clusters[j].attributes in pairs:
                found.append(_pair(group, i, j, found[i], found[j]))
        for seen in found:
            # Codes that merely occur differ from questionnaire to questionnaire.
            alone = q if len(seen.codes) < seen.size else None
            key = (seen.attributes, seen.are_cells, seen.size, alone)
            if key in gathered:
                gathered[key].add(seen)
            else:
                gathered[key] = seen
    return list(gathered.values())


def _pairs(design: Design) -> set[tuple[str, ...]]:
    """The attributes of the pairs of clusters that are tested. Reports have no say in it."""
    cells: dict[tuple[str, ...], int] = {}
    for questionnaire in design.questionnaires:
        labelled = [c for c in questionnaire.clusters if c.matrix.reports_cells]
        for first, second in combinations(labelled, 2):
            if isinstance(first.matrix, Public) and isinstance(second.matrix, Public):
                continue
            size = first.matrix.outcomes * second.matrix.outcomes
            if size <= _PAIR_CELLS:
                cells[first.attributes + second.attributes] = size
    return set(nsmallest(_PAIRS, cells, key=cells.__getitem__))


def _codes(group: Group, j: int, cluster: Cluster) -> _Seen:
    """The codes of a cluster: all of them, or those that occur where they are many."""
    matrix, n, size = cluster.matrix, group.n, cluster.matrix.outcomes
    if isinstance(matrix, Constant) and size > _LISTED:
        codes, inverse = np.unique(group.codes[j], return_inverse=True)
        counts = counted(inverse, group.counts, len(codes))
        low = np.full(len(codes), matrix.floor)
        high = low + matrix.signal
    else:
        codes, counts = np.arange(size), group.marginal(j)
        exact = isinstance(matrix, Public)
        low, high = (counts / n,) * 2 if exact else _bounds(matrix, (size,), 0)
    names, are_cells = cluster.attributes, matrix.reports_cells
    return _Seen(names, are_cells, size, codes.astype(np.int64), counts, n * low, n * high, n)


def _margins(group: Group, j: int, cluster: Cluster, design: Design) -> list[_Seen]:
    """The categories of each attribute of a cluster, where its codes are cells of several."""
    names, n = cluster.attributes, group.n
    if not cluster.matrix.reports_cells or len(names) == 1:
        return []
    shape = design.shape(cluster)
    (codes,), times = group.reported(j)
    places = np.unravel_index(codes.astype(np.int64), shape)
    found = []
    for axis, (name, size) in enumerate(zip(names, shape, strict=True)):
        low, high = _bounds(cluster.matrix, shape, axis)
        counts = counted(places[axis], times, size)
        found.append(_Seen((name,), True, size, np.arange(size), counts, n * low, n * high, n))
    return found


def _pair(group: Group, i: int, j: int, first: _Seen, second: _Seen) -> _Seen:
    """The pairs of codes of two clusters."""
    n, names = group.n, first.attributes + second.attributes
    counts = group.pair(i, j).ravel()
    least = np.outer(first.least, second.least).ravel() / n
    most = np.outer(first.most, second.most).ravel() / n
    return _Seen(names, True, len(counts), np.arange(len(counts)), counts, least, most, n)


def _bounds(matrix: Matrix, shape: tuple[int, ...], axis: int) -> tuple[Array, Array]:
    """The least and largest probability, over true cells, of each place on an axis of the codes."""
    size = shape[axis]
    if isinstance(matrix, Constant):
        low = np.full(size, matrix.off * (matrix.cells // size) / matrix.total)
        return low, low + matrix.signal
    places = np.unravel_index(np.arange(matrix.outcomes), shape)[axis]
    table = np.zeros((size, matrix.cells))
    for start in range(0, matrix.outcomes, _AT_ONCE):
        codes = np.arange(start, min(start + _AT_ONCE, matrix.outcomes))
        np.add.at(table, places[codes], matrix.likelihood(codes))
    return table.min(axis=1), table.max(axis=1)
