"""Compiled loops: the latent class fit over reports, the axes and pair tables over categories.

All arrays have the classes on their last axis, so every inner loop runs over neighbours in memory.
The functions release the interpreter's lock; `in_parts` runs them on slices of the rows, always the
same number of them, so a fit does not depend on how many cores it ran on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numba import njit

from mdrr.cores import threads

T = TypeVar("T")

_PARTS = 4
SMALL = 4096
"""Rows that are not worth dividing."""
LEAST = 1e-300
"""What is smaller is nothing."""


def in_parts(rows: int, work: Callable[[int, int], T]) -> list[T]:
    """`work(start, stop)` on slices of the rows, side by side, results in order."""
    if rows < SMALL:
        return [work(0, rows)]
    cuts = [rows * i // _PARTS for i in range(_PARTS + 1)]
    return list(threads().map(work, cuts[:-1], cuts[1:]))


@njit(nogil=True, cache=True, fastmath=True)
def expect(
    rows: Any,
    counts: Any,
    signal: Any,
    floor: Any,
    start: int,
    stop: int,
    tables: Any,
    weights: Any,
    sums: Any,
    sizes: Any,
) -> float:
    """The E-step over some reports, adding up responsibilities; returns their log-likelihood.

    `rows: (k, a)` points into `tables: (u, Z)`, the probabilities within classes of a few codes or
    categories together. With φ_z = Π tables, report i has likelihood Σ_z w_z (s_i·φ_z + o_i) and
    responsibilities of that proportion, which are added to `sizes: (Z,)`. The part of s·φ is added
    to `sums: (u, Z)` at each of its places. `signal` and `floor` are s and o. Where o is 0,
    products that become tiny are scaled up on the way.
    """
    classes = weights.shape[0]
    share = np.empty(classes)
    log_likelihood = 0.0
    for i in range(start, stop):
        scale = 0.0
        for z in range(classes):
            share[z] = weights[z]
        for j in range(rows.shape[1]):
            row = rows[i, j]
            for z in range(classes):
                share[z] *= tables[row, z]
            if j % 2 == 1 and floor[i] == 0.0:
                top = 0.0
                for z in range(classes):
                    top = max(top, share[z])
                if 0.0 < top < 1e-100:
                    scale += np.log(top)
                    for z in range(classes):
                        share[z] /= top
        total = 0.0
        for z in range(classes):
            total += share[z]
        total = signal[i] * total + floor[i]
        total = max(total, 1e-300)  # no class has such a person: a public answer it never saw
        log_likelihood += counts[i] * (np.log(total) + scale)
        factor = counts[i] / total
        for z in range(classes):
            share[z] *= signal[i] * factor
            sizes[z] += share[z] + floor[i] * factor * weights[z]
        for j in range(rows.shape[1]):
            row = rows[i, j]
            for z in range(classes):
                sums[row, z] += share[z]
    return log_likelihood


@njit(nogil=True, cache=True, fastmath=True)
def multiply_cells(out: Any, tables: Any, rows: Any, start: int, stop: int) -> None:
    """out[i] ← Π_j tables[rows[i, j]]: the probability of a cell within each class."""
    for i in range(start, stop):
        row = rows[i, 0]
        for z in range(out.shape[1]):
            out[i, z] = tables[row, z]
        for j in range(1, rows.shape[1]):
            row = rows[i, j]
            for z in range(out.shape[1]):
                out[i, z] *= tables[row, z]


@njit(nogil=True, cache=True, fastmath=True)
def through(
    like: Any, phi: Any, floor: Any, first: Any, entries: Any, ends: Any, start: int, stop: int
) -> None:
    """like[u] ← floor[u] + Σ_x entries[u, x]·phi[first[u] + x], over the entries of each code."""
    for u in range(start, stop):
        for z in range(like.shape[1]):
            like[u, z] = floor[u]
        begin = ends[u - 1] if u else 0
        for x in range(ends[u] - begin):
            entry = entries[begin + x]
            row = first[u] + x
            for z in range(like.shape[1]):
                like[u, z] += entry * phi[row, z]


@njit(nogil=True, cache=True, fastmath=True)
def back(truths: Any, like: Any, tallied: Any, first: Any, entries: Any, ends: Any) -> None:
    """truths[first[u] + x] ← that + entries[u, x]·tallied[u]/like[u]: from codes back to cells."""
    ratio = np.empty(like.shape[1])
    for u in range(like.shape[0]):
        for z in range(like.shape[1]):
            ratio[z] = tallied[u, z] / like[u, z] if like[u, z] > 0.0 else 0.0
        begin = ends[u - 1] if u else 0
        for x in range(ends[u] - begin):
            entry = entries[begin + x]
            row = first[u] + x
            for z in range(like.shape[1]):
                truths[row, z] += entry * ratio[z]


@njit(nogil=True, cache=True, fastmath=True)
def add_cells(out: Any, values: Any, rows: Any) -> None:
    """out[rows[i, j]] ← that + values[i]: cells added up by each attribute's category."""
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            row = rows[i, j]
            for z in range(out.shape[1]):
                out[row, z] += values[i, z]


@njit(nogil=True, cache=True)
def add_pairs(out: Any, values: Any, rows: Any) -> None:
    """out[rows[i, a], rows[i, b]] ← that + values[i]: cells added up by each pair of categories."""
    for i in range(rows.shape[0]):
        for a in range(rows.shape[1]):
            for b in range(rows.shape[1]):
                if a != b:
                    out[rows[i, a], rows[i, b]] += values[i]


@njit(nogil=True, cache=True, fastmath=True)
def grow(out: Any, toward: Any, half: Any, ratio: Any, rows: Any) -> None:
    """out[i] ← half + Σ_a toward[rows[i, a]] + Σ_{a > b} ratio[rows[i, a], rows[i, b]]."""
    for i in range(rows.shape[0]):
        pairs = 0.0
        for a in range(rows.shape[1]):
            for b in range(a):
                pairs += ratio[rows[i, a], rows[i, b]]
        for z in range(out.shape[1]):
            out[i, z] = half[z] + pairs
        for a in range(rows.shape[1]):
            row = rows[i, a]
            for z in range(out.shape[1]):
                out[i, z] += toward[row, z]


@njit(nogil=True, cache=True)
def posterior(told: Any, root: Any, drawn: Any, means: Any, squares: Any, unsure: Any) -> None:
    """The loadings of one attribute's categories given the others': `axes.fit_axes` says which.

    With R = diag(root[x]), category x has the covariance S = R(I + R·told·R)⁻¹R and the mean
    S·drawn[x]. The inverse is by elimination without pivots: I + R·told·R is positive definite.
    """
    count, size = root.shape
    unsure[:] = 0.0
    inverse = np.empty((size, size))
    for x in range(count):
        for k in range(size):
            for m in range(size):
                inverse[k, m] = root[x, k] * told[k, m] * root[x, m]
            inverse[k, k] += 1.0
        for p in range(size):
            pivot = 1.0 / inverse[p, p]
            inverse[p, p] = 1.0
            for m in range(size):
                inverse[p, m] *= pivot
            for k in range(size):
                if k != p:
                    factor = inverse[k, p]
                    inverse[k, p] = 0.0
                    for m in range(size):
                        inverse[k, m] -= factor * inverse[p, m]
        for k in range(size):
            mean = 0.0
            for m in range(size):
                spread = root[x, k] * inverse[k, m] * root[x, m]
                mean += spread * drawn[x, m]
                unsure[k, m] += spread * (count - 1) / count
                if k == m:
                    squares[x, k] = spread * (count - 1) / count
            means[x, k] = mean
            squares[x, k] += mean**2


@njit(nogil=True, cache=True, error_model="numpy")
def compare(model: Any, wanted: Any) -> float:
    """Σ|model − wanted| where something is wanted; `model` becomes wanted/model, elsewhere 0."""
    distance = 0.0
    for i in range(wanted.shape[0]):
        for j in range(wanted.shape[1]):
            if wanted[i, j] > 0.0:
                distance += abs(model[i, j] - wanted[i, j])
                model[i, j] = wanted[i, j] / model[i, j]
            else:
                model[i, j] = 0.0
    return distance
