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
    weights = np.array([1 / max(float(table.variances.mean()), 1e-300) for table in found])
    weights /= weights.sum()
    return PairTable(
        (first, second),
        np.asarray(sum(w * table.values for w, table in zip(weights, found, strict=True))),
        np.asarray(sum(w**2 * table.variances for w, table in zip(weights, found, strict=True))),
        sum(table.n for table in found),
    )


def _tables(tally: Tally, design: Design, first: str, second: str) -> Iterator[PairTable]:
    for questionnaire, group in zip(design.questionnaires, tally.groups, strict=True):
        places = {n: c for c, q in enumerate(questionnaire.clusters) for n in q.attributes}
        if first not in places or second not in places or not group.n:
            continue
        a, b = places[first], places[second]
        if a == b:
            yield _same(group, a, questionnaire.clusters[a], design, first, second)
        else:
            views = [
                _view(group, c, questionnaire.clusters[c], design, (name,))
                for c, name in ((a, first), (b, second))
            ]
            yield _across(group, views, (first, second))


def _across(
    group: Group, views: list[tuple[Array, Array]], names: tuple[str, str]
) -> PairTable:
    (codes_a, scores_a), (codes_b, scores_b) = views
    shape = (scores_a.shape[1], scores_b.shape[1])
    cells = codes_a.astype(np.int64) * shape[1] + codes_b.astype(np.int64)
    shares = np.bincount(cells, group.counts, shape[0] * shape[1]).reshape(shape) / group.n
    values = scores_a @ shares @ scores_b.T
    second = scores_a**2 @ shares @ (scores_b**2).T
    return PairTable(names, values, (second - values**2) / group.n, group.n)


def _same(
    group: Group, at: int, cluster: Cluster, design: Design, first: str, second: str
) -> PairTable:
    names = tuple(name for name in cluster.attributes if name in (first, second))
    codes, scores = _view(group, at, cluster, design, names)
    shares = np.bincount(codes.astype(np.int64), group.counts, scores.shape[1]) / group.n
    values = scores @ shares
    shape = tuple(design.domain.attribute(name).size for name in names)
    variances = (scores**2 @ shares - values**2) / group.n
    grids = [values.reshape(shape), variances.reshape(shape)]
    if names != (first, second):
        grids = [grid.T for grid in grids]
    return PairTable((first, second), grids[0], grids[1], group.n)


def _view(
    group: Group, at: int, cluster: Cluster, design: Design, names: tuple[str, ...]
) -> tuple[Array, Array]:
    """Reported codes of some of a cluster's attributes, and the scores of their categories.

    A constant matrix seen through some of its attributes is again a constant matrix, with the
    same signal and o·(cells left out) as floor; a dense one is inverted whole.
    """
    sizes = [design.domain.attribute(name).size for name in names]
    cells = int(np.prod(sizes))
    if isinstance(cluster.matrix, Constant):
        parts = [_reported_codes(cluster, group.codes[at], name, design) for name in names]
        codes = np.ravel_multi_index(parts, sizes)
        floor = cluster.matrix.floor * cluster.matrix.cells / cells
        return codes, (np.eye(cells) - floor) / cluster.matrix.signal
    shape = design.shape(cluster)
    axes = [cluster.attributes.index(name) for name in names]
    grids = np.indices(shape).reshape(len(shape), -1)[axes]
    kept = np.ravel_multi_index(list(grids), sizes)
    indicators = (kept[None, :] == np.arange(cells)[:, None]).astype(np.float64)
    return group.codes[at], cluster.matrix.scores(indicators)


def _reported_codes(cluster: Cluster, codes: Array, name: str, design: Design) -> Array:
    """One attribute's reported categories, from a cluster's reported cells."""
    if not cluster.matrix.reports_cells:
        raise EstimateError(f"the reports of {cluster.name!r} are not cells")
    shape = design.shape(cluster)
    at = cluster.attributes.index(name)
    below = int(np.prod(shape[at + 1 :]))
    return np.asarray(codes.astype(np.int64) // below % shape[at])
