"""Reports as the latent class fit sees them: what each distinct code says about a class.

A cluster's cells have probability φ_z = Π_j θ_zj within class z. A constant matrix reports the true
cell with probability s and any cell with probability o, so P(y | z) = s·φ_z(y) + o, needed only at
the codes that occur. Any other matrix is split the same way, into the smallest entry o_y of each
column and the rest: P(y | z) = o_y + Σ_x φ_z(x)·(P(y | x) − o_y). What is o's says nothing of the
truth and is left out of the sums, which makes EM converge faster without moving its fixed points.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mdrr.design import Cluster, Design
from mdrr.errors import EstimateError
from mdrr.estimation.kernel import (
    SMALL,
    add_cells,
    back,
    in_parts,
    multiply_cells,
    through,
)
from mdrr.groups import Group
from mdrr.matrix import Array, Constant, Public
from mdrr.tallies import Tally

_MOST_ENTRIES = 2**26
_MOST_TOGETHER = 1024
"""Combinations of places that are one place: so few that the tables of 40 classes fit a cache."""
_MOST_COLUMNS = 4
"""Places that are one place: products of so many probabilities are not too small yet."""


@dataclass(frozen=True, eq=False)
class Seen:
    """Distinct codes that were reported, and what each says about a class.

    `rows` are the cells that matter, the reported ones for constant matrices, else all: places in
    the attributes' stacked tables, whose product is φ. Where a cell has fewer attributes than
    others, the place is that of a row of ones below them.
    """

    rows: npt.NDArray[np.int32]  # (cells, a)
    floor: Array  # o of each code, (u,)
    first: npt.NDArray[np.int64]  # the first of the cells that each code may come from, (u,)
    entries: Array  # s for those cells, code after code
    ends: npt.NDArray[np.int64]  # where each code's entries end

    def likelihood(self, tables: Array) -> tuple[Array, Array]:
        """φ at the cells that matter, `(cells, Z)`, and P(y | z) at the codes seen, `(u + 1, Z)`.

        The last row is of ones, for reports of fewer codes.
        """
        phi = multiplied(tables, self.rows)
        like = np.ones((len(self.floor) + 1, tables.shape[1]))
        seen = (self.floor, self.first, self.entries, self.ends)
        in_parts(len(self.floor), lambda a, b: through(like, phi, *seen, a, b))
        return phi, like

    def collect(self, phi: Array, like: Array, tallied: Array, sums: Array) -> None:
        """Add to the attributes' stacked sums the responsibilities that are the truth's share."""
        truths = np.zeros_like(phi)
        back(truths, like[:-1], tallied[:-1], self.first, self.entries, self.ends)
        truths *= phi
        add_cells(sums, truths, self.rows)


def multiplied(table: Array, rows: npt.NDArray[np.int32]) -> Array:
    """Π_j table[rows[i, j]], `(cells, Z)`."""
    found = np.empty((len(rows), table.shape[1]))
    in_parts(len(rows), lambda a, b: multiply_cells(found, table, rows, a, b))
    return found


def packed(
    places: npt.NDArray[np.int32], ones: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Neighbouring columns as one, while few combinations of them occur among many rows.

    Gives each row's places among the combinations, `(k, b)`, and the places of each combination,
    `(u, w)`: where one has fewer than others, `ones` is added.
    """
    most = min(len(places) // 8, _MOST_TOGETHER)
    codes: list[npt.NDArray[np.int64]] = []
    cells: list[npt.NDArray[np.int32]] = []
    for column in places.T:
        single, at = np.unique(column, return_inverse=True)
        if cells and cells[-1].shape[1] < _MOST_COLUMNS:
            met, both = np.unique(codes[-1] * len(single) + at.ravel(), return_inverse=True)
            if len(met) <= most:
                before, last = np.divmod(met, len(single))
                cells[-1] = np.column_stack([cells[-1][before], single[last]])
                codes[-1] = both.ravel()
                continue
        cells.append(single[:, None])
        codes.append(at.ravel())
    starts = np.cumsum([0, *map(len, cells)])
    widest = max(block.shape[1] for block in cells)
    return (
        np.stack([c + s for c, s in zip(codes, starts, strict=False)], axis=1).astype(np.int32),
        np.concatenate([_padded(block, widest, ones) for block in cells]).astype(np.int32),
    )


def _padded(rows: npt.NDArray[np.int32], width: int, ones: int) -> npt.NDArray[np.int32]:
    return np.pad(rows, ((0, 0), (0, width - rows.shape[1])), constant_values=ones)


@dataclass(frozen=True, eq=False)
class Stack:
    """Reports of several codes each, whose places are among the codes seen.

    Reports to questionnaires of a single constant cluster are one cell each: `seen` is None, places
    are categories, and the likelihood is s·φ + o of `signal` and `floor`, which need not be kept.
    """

    rows: npt.NDArray[np.int32]  # each report's places among `cells`, (k, b)
    cells: npt.NDArray[np.int32]  # places that often stand together, (u, w): see `packed`
    counts: Array
    signal: Array  # s of each report; 1 where codes are seen
    floor: Array  # o of each report; 0 where codes are seen
    seen: Seen | None


_Part = tuple[Group, Sequence[Cluster]]


def stacks(tally: Tally, design: Design) -> list[Stack]:
    """The whole tally: questionnaires with few reports together, each large one for itself."""
    tally.need_reports("the latent class fit")
    single, few, many = list[_Part](), list[_Part](), list[list[_Part]]()
    for questionnaire, group in zip(design.questionnaires, tally.groups, strict=True):
        clusters = questionnaire.clusters
        if group.n and len(clusters) == 1 and isinstance(clusters[0].matrix, Constant):
            single.append((group, clusters))
        elif group.n and len(group.counts) < SMALL:
            few.append((group, clusters))
        elif group.n:
            many.append([(group, clusters)])
    found = [_stack(parts, design) for parts in (few, *many) if parts]
    return [*found, _cells(single, design)] if single else found


def _cells(parts: Sequence[_Part], design: Design) -> Stack:
    seen = [_seen(cluster, group.codes[0].astype(np.int64), design) for group, (cluster,) in parts]
    merged = _merged(seen, design)
    counts = np.concatenate([group.counts for group, _ in parts]).astype(np.float64)
    places = packed(merged.rows, sum(design.domain.shape))
    return Stack(*places, counts, merged.entries, merged.floor, None)


def _stack(parts: Sequence[_Part], design: Design) -> Stack:
    widest = max(len(clusters) for _, clusters in parts)
    stacked, found, base = [], [], 0
    for group, clusters in parts:
        codes = np.full((len(group.counts), widest), -1, dtype=np.int32)
        for c, cluster in enumerate(clusters):
            distinct, at = np.unique(group.codes[c], return_inverse=True)
            codes[:, c] = at.ravel() + base
            base += len(distinct)
            found.append(_seen(cluster, distinct.astype(np.int64), design))
        stacked.append(codes)
    counts = np.concatenate([group.counts for group, _ in parts]).astype(np.float64)
    places = np.concatenate(stacked)
    places[places < 0] = base  # the row of ones below the codes seen
    ones, zeros = np.ones_like(counts), np.zeros_like(counts)
    return Stack(*packed(places, base), counts, ones, zeros, _merged(found, design))


def _merged(parts: Sequence[Seen], design: Design) -> Seen:
    """The codes of several clusters as one list."""
    widest = max(seen.rows.shape[1] for seen in parts)
    ones = sum(design.domain.shape)
    rows = [_padded(seen.rows, widest, ones) for seen in parts]
    cells = np.cumsum([0, *(len(seen.rows) for seen in parts)])
    entries = np.cumsum([0, *(len(seen.entries) for seen in parts)])
    return Seen(
        np.concatenate(rows),
        np.concatenate([seen.floor for seen in parts]),
        np.concatenate([seen.first + at for seen, at in zip(parts, cells[:-1], strict=True)]),
        np.concatenate([seen.entries for seen in parts]),
        np.concatenate([seen.ends + at for seen, at in zip(parts, entries[:-1], strict=True)]),
    )


def _seen(cluster: Cluster, codes: npt.NDArray[np.int64], design: Design) -> Seen:
    matrix, many = cluster.matrix, len(codes)
    if isinstance(matrix, Constant | Public):
        each = np.arange(many)
        floor, signal = np.full(many, matrix.floor), np.full(many, matrix.signal)
        return Seen(_rows(codes, cluster, design), floor, each, signal, each + 1)
    if matrix.cells * many > _MOST_ENTRIES:
        raise EstimateError(
            f"the matrix of {cluster.name!r} is too large for the latent class fit: "
            f"{matrix.cells:,} cells by {many:,} codes"
        )
    entries = matrix.likelihood(codes)
    floor = entries.min(axis=1)
    rows = _rows(np.arange(math.prod(design.shape(cluster))), cluster, design)
    ends = len(rows) * np.arange(1, many + 1)
    return Seen(rows, floor, np.zeros(many, np.int64), (entries - floor[:, None]).ravel(), ends)


def _rows(cells: npt.NDArray[np.int64], cluster: Cluster, design: Design) -> npt.NDArray[np.int32]:
    """Where the categories of each cell stand in the attributes' stacked tables."""
    offsets = np.cumsum([0, *design.domain.shape])
    digits = np.unravel_index(cells, design.shape(cluster))
    places = [offsets[design.domain.index(name)] for name in cluster.attributes]
    return np.stack([d + p for d, p in zip(digits, places, strict=True)], axis=1).astype(np.int32)
