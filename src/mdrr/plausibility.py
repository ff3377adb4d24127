"""Whether reports can have come through their matrices. True answers given as reports cannot.

Whatever her true answer x is, a person reports the code y with a probability between min_x P[x, y]
and max_x P[x, y]. So a code can be neither too rare nor too frequent: the number of people who
report it has a mean between the sums of those bounds, and its tails, one person or more away from
that mean, are below those of the binomial distribution with the same mean (Hoeffding 1956). The
same holds for a category of an attribute, which is a set of codes, over all questionnaires that
ask for it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import betainc

from mdrr.design import Cluster, Design
from mdrr.matrix import Array, Constant, Matrix
from mdrr.tallies import Tally

FALSE_ALARMS = 1e-4
"""How often, at most, reports that are as they should be are doubted: once in 10,000 tallies."""

_SHOWN = 3
_AT_ONCE = 1024


@dataclass(eq=False)
class _Seen:
    """How many of n people reported each code, and the bounds of how many should have."""

    attributes: tuple[str, ...]
    are_cells: bool
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
        """The code that is furthest from what can be, and its distance in standard errors."""
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

    def sentence(self, code: int, design: Design) -> str:
        """What is strange about a code, in words."""
        what = f"the number {code}"
        if self.are_cells:
            attributes = [design.domain.attribute(name) for name in self.attributes]
            places = np.unravel_index(code, [a.size for a in attributes])
            what = ", ".join(repr(a.categories[i]) for a, i in zip(attributes, places, strict=True))
        count, least, most = int(self.counts[code]), self.least[code], self.most[code]
        bound = f"at least about {least:,.0f}" if count < least else f"at most about {most:,.0f}"
        return (
            f"{'+'.join(self.attributes)}: {count:,} of {self.n:,} reports say {what}, but "
            f"{bound} randomized ones would, whatever the true answers are"
        )


def doubts(tally: Tally, design: Design, *, rate: float = FALSE_ALARMS) -> tuple[str, ...]:
    """What speaks against these being randomized reports, in sentences; none if nothing does.

    Arguments:
        tally: the reports.
        design: the design they are said to be made under.
        rate: how likely, at most, reports that were made under the design are doubted, whatever
            the true answers are.

    Example:
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
    tests = 2 * sum(len(seen.counts) for seen in gathered)
    found = [(seen, s) for seen in gathered if (s := seen.strangest(rate / tests)) is not None]
    alone = {name for seen, _ in found if len(seen.attributes) == 1 for name in seen.attributes}
    # A cluster says nothing new when one of its attributes is in doubt already.
    found = [f for f in found if len(f[0].attributes) == 1 or not alone & {*f[0].attributes}]
    found.sort(key=lambda each: -each[1][0])
    said = [seen.sentence(code, design) for seen, (_, code) in found[:_SHOWN]]
    if len(found) > _SHOWN:
        said.append(f"The same holds for {len(found) - _SHOWN} more")
    if said:
        said.append(
            "These look like true answers, or reports of another design. Randomize true records "
            "first, or use the design the reports were made under"
        )
    return tuple(said)


def _gathered(tally: Tally, design: Design) -> list[_Seen]:
    """The codes of every cluster and the categories of every attribute, over all questionnaires."""
    gathered: dict[tuple[object, ...], _Seen] = {}
    for group, questionnaire in zip(tally.groups, design.questionnaires, strict=True):
        for j, cluster in enumerate(questionnaire.clusters):
            for seen in _cluster(group.marginal(j), group.n, cluster, design):
                key = (seen.attributes, seen.are_cells, len(seen.counts))
                if key in gathered:
                    gathered[key].add(seen)
                else:
                    gathered[key] = seen
    return [seen for seen in gathered.values() if seen.n]


def _cluster(
    counts: npt.NDArray[np.int64], n: int, cluster: Cluster, design: Design
) -> list[_Seen]:
    """A cluster's codes and, where they are cells of several attributes, the categories of each."""
    matrix, names = cluster.matrix, cluster.attributes
    low, high = _bounds(matrix, (matrix.outcomes,), 0)
    found = [_Seen(names, matrix.reports_cells, counts, n * low, n * high, n)]
    if matrix.reports_cells and len(names) > 1:
        shape = design.shape(cluster)
        for axis, name in enumerate(names):
            others = tuple(i for i in range(len(shape)) if i != axis)
            low, high = _bounds(matrix, shape, axis)
            margin = counts.reshape(shape).sum(axis=others)
            found.append(_Seen((name,), True, margin, n * low, n * high, n))
    return found


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
