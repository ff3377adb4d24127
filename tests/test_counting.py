"""Counting against brute force: one row after the other, whatever path is taken."""

import math
import subprocess
import sys
from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from mdrr import counting, randomizer
from mdrr.counting import blocks_of, burt_tables, by_address, distinct_rows, recoded

ADULT = (9, 16, 7, 15, 6, 5, 2, 2)


def rows_of(sizes, n, seed=0, kind=np.uint16):
    rng = np.random.default_rng(seed)
    return [np.minimum(rng.geometric(0.4, n) - 1, size - 1).astype(kind) for size in sizes]


def burt_by_hand(columns, sizes, counts):
    shown = np.concatenate(
        [np.eye(size, dtype=np.int64)[c] for c, size in zip(columns, sizes, strict=True)], axis=1
    )
    return shown.T @ (shown * np.asarray(counts, np.int64)[:, None])


@pytest.fixture(params=["numpy", "compiled", "two cores"])
def path(request, monkeypatch):
    """Every way to count the same rows."""
    most = 10**9 if request.param == "numpy" else 1
    monkeypatch.setattr(counting, "COMPILED", most)
    monkeypatch.setattr(randomizer, "COMPILED", most)
    monkeypatch.setattr(counting, "CHUNK", 64)
    monkeypatch.setattr(counting, "cores", lambda: 2 if request.param == "two cores" else 1)


@pytest.mark.parametrize(
    "sizes", [(3,), (2, 3), (2, 3, 4), ADULT, (300, 4, 2), (40, 41, 42), (3,) * 20, (1, 2, 1)]
)
def test_all_pair_tables_are_those_of_the_indicators(path, sizes):
    columns = rows_of(sizes, 500)
    times = np.random.default_rng(1).integers(1, 2**40, 500)
    half = np.random.default_rng(2).random(500) < 0.3
    ones = np.ones(500)
    assert np.array_equal(burt_tables(columns, sizes), [burt_by_hand(columns, sizes, ones)])
    found = burt_tables(columns, sizes, times)
    assert np.array_equal(found, [burt_by_hand(columns, sizes, times)])
    first, second = burt_tables(columns, sizes, None, half)
    assert np.array_equal(first, burt_by_hand(columns, sizes, ~half))
    assert np.array_equal(second, burt_by_hand(columns, sizes, half))


@pytest.mark.parametrize(
    "sizes", [(3,), (2, 3), ADULT, (5000, 5000), (2,) * 62, (2,) * 63, (4,) * 60]
)
@pytest.mark.parametrize("n", [0, 1, 700])
def test_distinct_rows_are_counted_in_order(path, sizes, n):
    columns = rows_of(sizes, n)
    times = np.random.default_rng(1).integers(1, 2**40, n)
    listed = list(zip(*(c.tolist() for c in columns), strict=True))
    for counts in (None, times):
        wanted = Counter()
        for row, each in zip(listed, [1] * n if counts is None else counts.tolist(), strict=True):
            wanted[row] += each
        codes, found = distinct_rows(columns, counts, sizes)
        rows = list(zip(*(c.tolist() for c in codes), strict=True))
        assert rows == sorted(wanted)
        assert found.tolist() == [wanted[row] for row in rows]
        assert all(c.dtype == np.min_scalar_type(s - 1) for c, s in zip(codes, sizes, strict=True))


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.int64, np.uint64, np.int32])
def test_codes_of_any_type_are_counted(path, kind):
    columns = rows_of(ADULT, 300, kind=kind)
    assert np.array_equal(
        burt_tables(columns, ADULT)[0], burt_by_hand(columns, ADULT, np.ones(300))
    )
    assert distinct_rows(columns, None, ADULT)[1].sum() == 300


@pytest.mark.parametrize("rows", [1, 10**4, 10**8])
@pytest.mark.parametrize("sizes", [(2,), ADULT, (4,) * 60, (1000, 1000), (2000, 3, 3), (2,) * 300])
def test_blocks_hold_every_column_once_and_stay_small(sizes, rows):
    blocks = blocks_of(sizes, rows)
    assert sorted(j for block in blocks for j in block) == list(range(len(sizes)))
    cells = [math.prod(sizes[j] for j in block) for block in blocks]
    assert all(c <= 2**11 for block, c in zip(blocks, cells, strict=True) if len(block) > 1)
    pairs = [a * b for a, b in combinations(sizes, 2)]  # blocks of one column each would cost less
    work = rows * (5 * len(pairs) + len(sizes)) + sum(pairs)
    assert sum(a * b for a, b in combinations(cells, 2)) <= work


def test_adult_needs_three_increments_a_row():
    assert len(blocks_of(ADULT, 10**7)) == 3


def test_rows_are_counted_by_address_only_where_few_can_occur():
    assert by_address(ADULT, 10**6)
    assert not by_address(ADULT, 10**5)
    assert not by_address((4,) * 60, 10**9)
    assert by_address((2, 3), 0)


def test_small_tallies_load_no_compiler():
    program = (
        "import sys, mdrr, numpy as np\n"
        "d = mdrr.independent(mdrr.Domain((mdrr.Attribute('a', ('x', 'y')),)), p=0.5)\n"
        "assert mdrr.tally([[np.arange(1000) % 2]], d).n == 1000\n"
        "assert 'numba' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_counting_goes_on_without_the_compiled_loops(monkeypatch):
    monkeypatch.setattr(randomizer, "COMPILED", 1)
    monkeypatch.setitem(sys.modules, "mdrr.increments", None)
    assert counting.compiled(10) is None
    columns = rows_of(ADULT, 200)
    wanted = burt_by_hand(columns, ADULT, np.ones(200))
    assert np.array_equal(burt_tables(columns, ADULT)[0], wanted)


@pytest.mark.parametrize("compiled", [1, 2**17])
@pytest.mark.parametrize("kind", ["int8", "uint8", "int32", "uint32", "int64"])
def test_codes_by_a_table(kind, compiled, monkeypatch):
    monkeypatch.setattr("mdrr.randomizer.COMPILED", compiled)
    table = np.array([3, 1, 0, 3, 2, 3], dtype=np.uint8)  # 3 stands for no code
    assert recoded(np.array([1, 2, 4, 1], dtype=kind), table, 3).tolist() == [1, 0, 2, 1]
    for place in (0, 3, 5, 100):
        assert recoded(np.array([1, place], dtype=kind), table, 3) is None
    assert recoded(np.array([], dtype=kind), table, 3).tolist() == []
    wide = np.arange(257, dtype=np.uint16)
    assert recoded(np.array([7], dtype=kind), wide, 256).dtype == np.uint8
