"""Compiled loops of counting, for many rows. For few, `counting` does the same with NumPy.

The functions release the interpreter's lock, so that slices of the rows run side by side.
"""

from __future__ import annotations

from typing import Any

from numba import njit


@njit(nogil=True, cache=True)
def count_pairs(table: Any, first: Any, second: Any, width: int) -> None:
    """table[first·width + second] ← that + 1, for every row."""
    for i in range(first.shape[0]):
        table[first[i] * width + second[i]] += 1


@njit(nogil=True, cache=True)
def weigh_pairs(table: Any, first: Any, second: Any, width: int, weights: Any) -> None:
    """table[first·width + second] ← that + weight, for every row."""
    for i in range(first.shape[0]):
        table[first[i] * width + second[i]] += weights[i]


@njit(nogil=True, cache=True)
def occurring(table: Any, start: int, stop: int, cells: Any, counts: Any, at: int) -> int:
    """The cells from start to stop that are not empty, and their counts, written from `at` on."""
    for cell in range(start, stop):
        if table[cell]:
            cells[at] = cell
            counts[at] = table[cell]
            at += 1
    return at
