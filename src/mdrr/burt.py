"""The tables of all pairs of columns at once: the *Burt table* of correspondence analysis.

All pair tables of m columns would be m(m − 1)/2 increments a row. So columns are packed into a few
blocks, of which only the block pairs are counted, and every pair table is a sum over the cells of
one of those. With Z the indicator matrix of a block's cells by its columns' codes, the tables
between blocks b and c are Z_bᵀ T_bc Z_c. Together they are B = XᵀX, with X the rows as indicators.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from heapq import heapreplace
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from mdrr.counting import Integers, count_blocks
from mdrr.randomizer import Codes

_CACHED = (2**15, 2**18, 2**24)
_COSTS = (1.0, 2.0, 5.0, math.inf)
"""What an increment costs in a table of up to so many cells, by the cache that holds it."""
_PACKING = 0.5
"""What packing a block costs, in increments of a small table."""
_PACKED = 2**11
"""The most cells of a block of several columns, whose indicators are written out."""


def blocks_of(sizes: Sequence[int], rows: int) -> tuple[tuple[int, ...], ...]:
    """The columns of each block: of some ways to pack them, the one that counts cheapest.

    For every number of blocks, columns go, the largest first, to the block that has the fewest
    cells. Small tables stay in the cache; large ones cost more per row, and once for their size.

    >>> blocks_of((9, 16, 7, 15, 6, 5, 2, 2), 10**6)
    ((1, 5, 7), (3, 4), (0, 2, 6))
    """
    least = math.inf
    best: tuple[tuple[int, ...], ...] = tuple((j,) for j in range(len(sizes)))
    largest_first = sorted(range(len(sizes)), key=lambda j: -sizes[j])
    for count in range(1, len(sizes) + 1):
        blocks: list[list[int]] = [[] for _ in range(count)]
        smallest = [(1, at) for at in range(count)]
        for j in largest_first:
            cells, at = smallest[0]
            blocks[at].append(j)
            heapreplace(smallest, (cells * sizes[j], at))
        if any(cells > _PACKED and len(blocks[at]) > 1 for cells, at in smallest):
            continue
        each = np.array([cells for cells, _ in smallest], dtype=np.float64)
        tables = np.outer(each, each)[np.triu_indices(count, 1)] if count > 1 else each
        cost = rows * (float(_cost(tables).sum()) + _PACKING * count) + float(tables.sum())
        if cost < least:
            best, least = tuple(tuple(sorted(block)) for block in blocks), cost
        elif count * (count - 1) / 2 * rows > least:
            break  # more blocks have more pairs
    return best


def _cost(cells: Any) -> Any:
    """What an increment costs in tables of so many cells."""
    return np.array(_COSTS)[np.searchsorted(_CACHED, cells)]


def burt_tables(
    columns: Sequence[Codes],
    sizes: Sequence[int],
    counts: npt.NDArray[Any] | None = None,
    half: npt.NDArray[np.bool_] | None = None,
) -> Integers:
    """How often every two codes of any columns occur together, `int64 (2 or 1, C, C)`, C = Σ sizes.

    Arguments:
        columns: one `int (n,)` array each.
        sizes: how many codes each has.
        counts: how often each row occurs; once by default.
        half: which of two tables each row goes to, `bool (n,)`; all to one by default.

    >>> burt_tables([np.array([0, 1, 1]), np.array([1, 1, 0])], (2, 2))[0]
    array([[1, 0, 0, 1],
           [0, 2, 1, 1],
           [0, 1, 1, 0],
           [1, 1, 0, 2]])
    """
    blocks = blocks_of(sizes, len(columns[0]))
    cells = [math.prod(sizes[j] for j in block) for block in blocks]
    pairs = list(combinations(range(len(blocks)), 2)) or [(0, 0)]
    tables = count_blocks(columns, sizes, blocks, pairs, counts, half)
    out = np.zeros((1 if half is None else 2, sum(sizes), sum(sizes)), dtype=np.int64)
    ends = np.cumsum([0, *sizes])
    places = [np.concatenate([np.arange(ends[j], ends[j + 1]) for j in b]) for b in blocks]
    shown = [_indicators([sizes[j] for j in block]) for block in blocks]
    within: dict[int, Any] = {}
    for (b, c), flat in zip(pairs, tables, strict=True):
        table = flat.astype(np.float64).reshape(len(out), cells[b], -1)
        within[b], within[c] = table.sum(axis=2), table.sum(axis=2 if b == c else 1)
        if b != c:
            seen = _seen(_seen(table, shown[b], 1), shown[c], 2)
            out[:, places[b][:, None], places[c]] = np.rint(seen)
            out[:, places[c][:, None], places[b]] = np.rint(seen).transpose(0, 2, 1)
    for b, each in within.items():
        for h, margin in enumerate(each):
            z = np.eye(cells[b]) if shown[b] is None else shown[b]
            together = np.diag(margin) if shown[b] is None else (z * margin[:, None]).T @ z
            out[h][places[b][:, None], places[b]] = np.rint(together)
    return out


def _seen(tables: Any, indicators: Any, axis: int) -> Any:
    """Tables over a block's cells as tables over its columns' codes."""
    if indicators is None:
        return tables
    return np.moveaxis(np.tensordot(tables, indicators, (axis, 0)), -1, axis)


def _indicators(sizes: Sequence[int]) -> Any:
    """Z: which codes each cell of a block has, `(cells, Σ sizes)`; None for a single column."""
    if len(sizes) == 1:
        return None
    digits = np.unravel_index(np.arange(math.prod(sizes)), sizes)
    return np.concatenate([np.eye(s)[d] for s, d in zip(sizes, digits, strict=True)], axis=1)
