"""Compiled loops over many rows of codes. For few, NumPy does the same.

The functions release the interpreter's lock, so that slices of the rows run side by side.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def draw_constant(out: Any, true: Any, uniform: Any, inverse: Any, cells: int) -> None:
    """u // b where u < r·b, the truth elsewhere, as `Constant.draw`.

    `inverse` has one number, 1/b rounded up; `randomizer.inverse_of` says why its product with u
    has the whole part u // b.
    """
    number, most = inverse.dtype.type, np.int32(cells)
    for i in range(out.shape[0]):
        noise = np.int32(number(uniform[i]) * inverse[0])
        truthful = -np.int32(noise >= most)  # a mask: a branch would be guessed wrong too often
        out[i] = noise ^ ((noise ^ true[i]) & truthful)


@njit(nogil=True, cache=True)
def look_up(out: Any, table: Any, places: Any) -> None:
    """out ← table[places], with the table's last value for places behind its end; none is < 0."""
    last = np.uint32(table.shape[0] - 1)
    for i in range(out.shape[0]):
        out[i] = table[min(np.uint32(places[i]), last)]


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
def occurring(table: Any, cells: Any, counts: Any) -> None:
    """The cells of a table that are not empty, and their counts."""
    at = 0
    for cell in range(table.shape[0]):
        if table[cell]:
            cells[at] = cell
            counts[at] = table[cell]
            at += 1
