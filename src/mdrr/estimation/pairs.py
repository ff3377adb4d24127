"""Unbiased two-attribute tables from any design, with the variance of every cell.

Attributes of one cluster invert through its matrix. Attributes of two clusters invert axis by
axis: their pair goes through the Kronecker product of the two matrices, so randomizing attributes
separately does not lose their relation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mdrr.design import Cluster, Design
from mdrr.errors import EstimateError
from mdrr.matrix import Array, Constant
from mdrr.randomizer import Codes, cells_of
from mdrr.tallies import Group, Tally


@dataclass(frozen=True, eq=False)
class PairTable:
    """An unbiased table: `values[a, b]` sums to 1, `variances` are those of its cells."""

    names: tuple[str, str]
    values: Array
    variances: Array
    n: int


def reported_pair(tally: Tally, design: Design, first: str, second: str) -> Array:
    """How often two attributes' categories were reported together, as they stand in the reports."""
    tally.check(design)
    shape = tuple(design.domain.attribute(name).size for name in (first, second))
    total = np.zeros(shape)
    for questionnaire, group in zip(design.questionnaires, tally.groups, strict=True):
        places = {n: c for c, q in enumerate(questionnaire.clusters) for n in q.attributes}
        if first not in places or second not in places or not group.n:
            continue
        codes = [
            _reported_codes(questionnaire.clusters[places[n]], group.codes[places[n]], n, design)
            for n in (first, second)
        ]
        cells = codes[0] * shape[1] + codes[1]
        total += np.bincount(cells, group.counts, shape[0] * shape[1]).reshape(shape)
    if not total.sum():
        raise EstimateError(f"nobody reported both {first!r} and {second!r}")
    return total


def unbiased_pair(tally: Tally, design: Design, first: str, second: str) -> PairTable:
    """The unbiased table of two attributes, pooled over the questionnaires that ask both.

    Arguments:
        tally: the reports.
        design: how they were made.
        first: the attribute of the rows.
        second: the attribute of the columns.

    Returns:
        The table; its cells may be negative.
    """
    tally.check(design)
    found = list(_tables(tally, design, first, second))
    if not found:
        raise EstimateError(f"nobody reported both {first!r} and {second!r}")
    weights = np.array([part.n / part.noise for part in found])
    weights /= weights.sum()
    values = np.asarray(sum(w * part.values for w, part in zip(weights, found, strict=True)))
    variances = [w**2 * part.variances(values) for w, part in zip(weights, found, strict=True)]
    n = sum(part.n for part in found)
    return PairTable((first, second), values, np.asarray(sum(variances)), n)


def unbiased_moment(
    tally: Tally, design: Design, names: tuple[str, str], x: Array, y: Array
) -> tuple[float, float]:
    """The unbiased estimate of E[x(first)·y(second)] and its variance.

    Arguments:
        tally: the reports.
        design: how they were made.
        names: two attributes.
        x: a number for each category of the first.
        y: a number for each category of the second.
    """
    tally.check(design)
    found = []
    for group, views in _places(tally, design, *names):
        if len(views) == 1:
            ((at, cluster, order),) = views
            weights = np.outer(x, y) if order == names else np.outer(y, x)
            codes, scores = _view(group, at, cluster, design, order)
            each = (weights.ravel() @ scores)[codes.astype(np.int64)]
        else:
            parts = [_view(group, at, cluster, design, name) for at, cluster, name in views]
            each = np.ones(len(group.counts))
            for (codes, scores), numbers in zip(parts, (x, y), strict=True):
                each = each * (numbers @ scores)[codes.astype(np.int64)]
        mean = float(each @ group.counts) / group.n
        square = float(each**2 @ group.counts) / group.n
        found.append((mean, max(square - mean**2, 0.0) / group.n, group.n))
    if not found:
        raise EstimateError(f"nobody reported both {names[0]!r} and {names[1]!r}")
    people = sum(n for _, _, n in found)
    mean = sum(m * n for m, _, n in found) / people
    return mean, sum(v * (n / people) ** 2 for _, v, n in found)


def _places(
    tally: Tally, design: Design, first: str, second: str
) -> Iterator[tuple[Group, list[tuple[int, Cluster, tuple[str, ...]]]]]:
    """Where a pair was reported: in one cluster, or each attribute in its own."""
    for questionnaire, group in zip(design.questionnaires, tally.groups, strict=True):
        places = {n: c for c, q in enumerate(questionnaire.clusters) for n in q.attributes}
        if first not in places or second not in places or not group.n:
            continue
        a, b = places[first], places[second]
        clusters = questionnaire.clusters
        if a == b:
            order = tuple(n for n in clusters[a].attributes if n in (first, second))
            yield group, [(a, clusters[a], order)]
        else:
            yield group, [(a, clusters[a], (first,)), (b, clusters[b], (second,))]


@dataclass(frozen=True, eq=False)
class _Part:
    """What one questionnaire says: mean and mean square of the cells' scores over its n people.

    `noise` is a report's variance if all codes were equally likely: weights made from it do not
    look at the reports, so pooling stays unbiased.
    """

    values: Array
    squares: Array
    noise: float
    n: int

    def variances(self, mean: Array) -> Array:
        """E(f − mean)² / n: about the pooled mean, so that a single person's counts as well."""
        return np.asarray((self.squares - 2 * mean * self.values + mean**2) / self.n)

    @property
    def turned(self) -> _Part:
        """The same with the two attributes exchanged."""
        return _Part(self.values.T, self.squares.T, self.noise, self.n)


def _tables(tally: Tally, design: Design, first: str, second: str) -> Iterator[_Part]:
    for group, views in _places(tally, design, first, second):
        found = [_view(group, at, cluster, design, names) for at, cluster, names in views]
        if len(found) == 2:
            yield _across(group, found)
        else:
            part = _same(group, *found[0], design.domain.project(views[0][2]).shape)
            yield part if views[0][2] == (first, second) else part.turned


def _across(group: Group, views: list[tuple[Codes, Array]]) -> _Part:
    (codes_a, scores_a), (codes_b, scores_b) = views
    shape = (scores_a.shape[1], scores_b.shape[1])
    cells = codes_a.astype(np.int64) * shape[1] + codes_b.astype(np.int64)
    shares = np.bincount(cells, group.counts, shape[0] * shape[1]).reshape(shape) / group.n
    squares = scores_a**2 @ shares @ (scores_b**2).T
    means = np.outer(scores_a.mean(axis=1), scores_b.mean(axis=1))
    noise = np.outer((scores_a**2).mean(axis=1), (scores_b**2).mean(axis=1)) - means**2
    return _Part(scores_a @ shares @ scores_b.T, squares, float(noise.mean()), group.n)


def _same(group: Group, codes: Codes, scores: Array, shape: tuple[int, ...]) -> _Part:
    shares = np.bincount(codes.astype(np.int64), group.counts, scores.shape[1]) / group.n
    noise = float(((scores**2).mean(axis=1) - scores.mean(axis=1) ** 2).mean())
    values, squares = (scores @ shares).reshape(shape), (scores**2 @ shares).reshape(shape)
    return _Part(values, squares, noise, group.n)


def _view(
    group: Group, at: int, cluster: Cluster, design: Design, names: tuple[str, ...]
) -> tuple[Codes, Array]:
    """Reported codes of some of a cluster's attributes, and the scores of their categories.

    A constant matrix seen through some of its attributes is again a constant matrix, with the
    same signal and o·(cells left out) as floor; a dense one is inverted whole.
    """
    sizes = [design.domain.attribute(name).size for name in names]
    cells = int(np.prod(sizes))
    if isinstance(cluster.matrix, Constant):
        parts = [_reported_codes(cluster, group.codes[at], name, design) for name in names]
        codes = cells_of(parts, sizes)
        floor = cluster.matrix.floor * cluster.matrix.cells / cells
        return codes, (np.eye(cells) - floor) / cluster.matrix.signal
    shape = design.shape(cluster)
    axes = [cluster.attributes.index(name) for name in names]
    grids = np.indices(shape).reshape(len(shape), -1)[axes]
    kept = cells_of(list(grids), sizes)
    indicators = (kept[None, :] == np.arange(cells)[:, None]).astype(np.float64)
    return group.codes[at], cluster.matrix.scores(indicators)


def _reported_codes(cluster: Cluster, codes: Codes, name: str, design: Design) -> Codes:
    """One attribute's reported categories, from a cluster's reported cells."""
    if not cluster.matrix.reports_cells:
        raise EstimateError(f"the reports of {cluster.name!r} are not cells")
    shape = design.shape(cluster)
    at = cluster.attributes.index(name)
    below = int(np.prod(shape[at + 1 :]))
    return np.asarray(codes.astype(np.int64) // below % shape[at])
