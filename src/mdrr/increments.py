"""Compiled loops over many rows of codes. For few, NumPy does the same.

The functions release the interpreter's lock, so that slices of the rows run side by side.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def draw_constant(
    out: Any, true: Any, stream: Any, column: int, width: int, inverse: float, cells: int
) -> None:
    """u // b where u < r·b, the truth elsewhere, as `Constant.draw`; inverse is 1/b, rounded up.

    u has `width` bytes, from a column of the stream on, which holds two bytes in each of its cells.

    The whole part of u·inverse is q = u // b although it is rounded. It is at least u/b. Rounding
    adds at most 2^-51 of u/b, which is below 1/b as u < 2^48, and u/b is 1/b or more below q + 1.
    The quotient must be below 2^31.
    """
    most = np.int32(cells)
    low = np.uintp(column)  # unsigned, so that it need not be asked whether it counts from the end
    middle, high = low + np.uintp(1), low + np.uintp(2)
    if width == 2:
        for i in range(out.shape[0]):
            out[i] = _chosen(stream[i, low], inverse, most, true[i])
    elif width == 4:
        for i in range(out.shape[0]):
            uniform = stream[i, low] | np.uint32(stream[i, middle]) << np.uint32(16)
            out[i] = _chosen(uniform, inverse, most, true[i])
    else:
        for i in range(out.shape[0]):
            upper = stream[i, middle] | np.uint32(stream[i, high]) << np.uint32(16)
            uniform = stream[i, low] | np.uint64(upper) << np.uint64(16)
            out[i] = _chosen(uniform, inverse, most, true[i])


@njit(inline="always")
def _chosen(uniform: Any, inverse: float, most: Any, true: Any) -> Any:
    noise = np.int32(np.float64(uniform) * inverse)
    truthful = -np.int32(noise >= most)  # a mask: a branch would be guessed wrong too often
    return noise ^ ((noise ^ true) & truthful)


@njit(nogil=True, cache=True)
def look_up(out: Any, table: Any, places: Any) -> None:
    """out ← table[places]; every place must be one of the table's."""
    for i in range(out.shape[0]):
        out[i] = table[places[i]]


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
