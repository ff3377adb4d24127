"""Counting rows of codes, and the tables of all pairs of columns at once.

Where the rows that can occur are few, a row's mixed-radix number is the address of its counter.
Where they are many, rows are sorted.

All pair tables of m columns, the *Burt table* of correspondence analysis, would be m(m − 1)/2
increments a row. So columns are packed into a few blocks, of which only the block pairs are
counted, and every pair table is a sum over the cells of one of those. With Z the indicator matrix
of a block's cells by its columns' codes, the tables between blocks b and c are Z_bᵀ T_bc Z_c.
Together they are B = XᵀX, with X the rows as indicators.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from heapq import heapreplace
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from mdrr.cores import cores, threads
from mdrr.randomizer import COMPILED, Codes, cells_of, compiled, smallest_unsigned

Integers: TypeAlias = npt.NDArray[np.int64]

CHUNK = 1 << 15
"""Rows counted at a time: their packed codes stay in the processor's cache."""
MOST_ADDRESSES = 2**24
"""The most counters of a table: 128 MB."""
_SPARSE = 4
"""Addresses are used if there are at most so many of them per row, or few anyhow."""
_FEW = 1 << 14
_CACHED = (2**15, 2**18, 2**24)
_COSTS = (1.0, 2.0, 5.0, math.inf)
"""What an increment costs in a table of up to so many cells, by the cache that holds it."""
_PACKING = 0.5
"""What packing a block costs, in increments of a small table."""
_PACKED = 2**11
"""The most cells of a block of several columns, whose indicators are written out."""


def count_blocks(
    columns: Sequence[Codes],
    sizes: Sequence[int],
    blocks: Sequence[Sequence[int]],
    pairs: Sequence[tuple[int, int]],
    counts: npt.NDArray[Any] | None,
    half: npt.NDArray[np.bool_] | None,
) -> list[Integers]:
    """The tables of pairs of blocks, flat; with halves, those of the first half come first.

    A pair of a block with itself stands for the block's own cells.
    """
    rows, doubled = len(columns[0]), 1 if half is None else 2
    cells = [math.prod(sizes[j] for j in block) for block in blocks]
    widths = [1 if b == c else cells[c] for b, c in pairs]
    weights = None if counts is None else counts.astype(np.int64, copy=False)
    add, small = _adder(rows), smallest_address(doubled * max(cells))

    def part(start: int, stop: int) -> list[Integers]:
        lengths = [doubled * cells[b] * width for (b, _), width in zip(pairs, widths, strict=True)]
        tables = [np.zeros(length, dtype=np.int64) for length in lengths]
        for at in range(start, stop, CHUNK):
            here = slice(at, min(at + CHUNK, stop))
            packed = [
                cells_of([columns[j][here] for j in b], [sizes[j] for j in b], small)
                for b in blocks
            ]
            firsts = packed
            if half is not None:
                firsts = [p + half[here] * small(c) for p, c in zip(packed, cells, strict=True)]
            nothing = np.zeros_like(packed[0]) if len(blocks) == 1 else None
            some = None if weights is None else weights[here]
            for (b, c), width, table in zip(pairs, widths, tables, strict=True):
                add(table, firsts[b], packed[c] if nothing is None else nothing, width, some)
        return tables

    workers = max(min(cores(), rows // COMPILED), 1)
    cuts = [rows * i // workers for i in range(workers + 1)]
    if workers == 1:
        return part(0, rows)
    first, *others = threads().map(part, cuts[:-1], cuts[1:])
    for tables in others:
        for table, more in zip(first, tables, strict=True):
            table += more
    return first


def smallest_address(cells: int) -> type[np.integer[Any]]:
    """A small type for numbers of cells. The loops are compiled for these three alone."""
    return np.uint16 if cells <= 2**16 else np.uint32 if cells <= 2**32 else np.int64


def _adder(rows: int) -> Callable[[Integers, Codes, Codes, int, Integers | None], None]:
    """What adds the rows' counts to a table: compiled for many rows, else NumPy."""
    loops = compiled(rows)

    def add(table: Any, first: Any, second: Any, width: int, weights: Any) -> None:
        if loops is not None and weights is None:
            loops.count_pairs(table, first, second, width)
        elif loops is not None:
            loops.weigh_pairs(table, first, second, width, weights)
        else:
            cells = first.astype(np.int64) * width + second
            np.add.at(table, cells, 1 if weights is None else weights)

    return add


def distinct_rows(
    columns: Sequence[Codes], counts: npt.NDArray[Any] | None, sizes: Sequence[int]
) -> tuple[tuple[Codes, ...], Integers]:
    """Equal rows as one, in lexicographic order, and how often each occurs.

    >>> codes, counts = distinct_rows([np.array([1, 0, 1]), np.array([2, 0, 2])], None, (2, 3))
    >>> [c.tolist() for c in codes], counts.tolist()
    ([[0, 1], [0, 2]], [1, 2])
    """
    if by_address(sizes, len(columns[0])):
        every = [tuple(range(len(sizes)))]
        (table,) = count_blocks(columns, sizes, every, [(0, 0)], counts, None)
        return occurring_rows(table, sizes)
    keys = row_keys(columns, sizes)
    if counts is None and math.prod(sizes) < 2**63:
        keys.sort()
        starts = _starts(keys)
        return _unpacked(keys[starts], sizes), np.diff(starts, append=len(keys))
    order = np.argsort(keys, kind="stable")
    starts = _starts(keys[order])
    if counts is None:
        times = np.diff(starts, append=len(keys))
    else:
        times = np.add.reduceat(counts[order].astype(np.int64, copy=False), starts)
    first = order[starts]
    return tuple(typed(c[first], s) for c, s in zip(columns, sizes, strict=True)), times


def count_rows(table: Integers, columns: Sequence[Codes], sizes: Sequence[int], rows: int) -> None:
    """Add rows to a table that has a cell for every row that can occur; so many come in all."""
    add = _adder(rows)
    for at in range(0, len(columns[0]), CHUNK):
        here = [column[at : at + CHUNK] for column in columns]
        cells = cells_of(here, sizes, smallest_address(len(table)))
        add(table, cells, np.zeros_like(cells), 1, None)


def occurring_rows(table: Integers, sizes: Sequence[int]) -> tuple[tuple[Codes, ...], Integers]:
    """The rows of a table that are not empty, in lexicographic order, and their counts."""
    loops = compiled(len(table))
    if loops is None:
        met = np.flatnonzero(table)
        return _unpacked(met, sizes), table[met]
    met = np.empty(int(np.count_nonzero(table)), dtype=np.int64)
    counts = np.empty_like(met)
    loops.occurring(table, met, counts)
    return _unpacked(met, sizes), counts


def by_address(sizes: Sequence[int], rows: int) -> bool:
    """Whether rows are counted by address: if not many more can occur than do."""
    cells = math.prod(sizes)
    return cells <= min(max(_SPARSE * rows, _FEW), MOST_ADDRESSES)


def _starts(ordered: Integers) -> Integers:
    """Where each run of equal numbers starts."""
    new = np.empty(len(ordered), dtype=np.bool_)
    new[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    return np.flatnonzero(new)


def _unpacked(cells: Integers, sizes: Sequence[int]) -> tuple[Codes, ...]:
    """The codes of each mixed-radix number, each column in its smallest type."""
    found = []
    for size in reversed(sizes[1:]):
        rest = cells // size
        found.append((cells - rest * size).astype(smallest_unsigned(size)))
        cells = rest
    return (cells.astype(smallest_unsigned(sizes[0])), *reversed(found))


def row_keys(columns: Sequence[Codes], sizes: Sequence[int]) -> Integers:
    """A number for each row of codes, equal and ordered as the rows are.

    It is the row's mixed-radix number, replaced by its rank whenever it would overflow.
    """
    key, room = columns[0].astype(np.int64), sizes[0]
    for column, size in zip(columns[1:], sizes[1:], strict=True):
        if room * size >= 2**63:
            values, key = np.unique(key, return_inverse=True)
            room = len(values)
        key = key * size + column.astype(np.int64, copy=False)
        room *= size
    return key


def typed(codes: Codes, size: int) -> Codes:
    """Codes below a size in the smallest unsigned type."""
    return codes.astype(smallest_unsigned(size), copy=False)


def recoded(places: Codes, table: Codes, size: int) -> Codes | None:
    """The codes below a size that a table has at each place; None if some place has none.

    The table says `size` where it has no code; a place behind its end is as its last.

    >>> recoded(np.array([0, 2]), np.array([1, 2, 0], dtype=np.uint8), 2)
    array([1, 0], dtype=uint8)
    """
    loops = compiled(len(places))
    if loops is None:
        codes = np.take(table, places, mode="clip")
    else:
        codes = np.empty(len(places), table.dtype)
        loops.look_up(codes, table, places)
    return None if codes.max(initial=0) == size else typed(codes, size)


def counted(codes: Codes, counts: npt.NDArray[Any], size: int) -> Integers:
    """How many people have each code below a size, `int64 (size,)`; exact below 2^53."""
    return np.rint(np.bincount(codes, weights=counts, minlength=size)).astype(np.int64)


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
