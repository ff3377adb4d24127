"""Compiled passes of the latent class fit: everything that touches reports one by one.

All arrays have the classes on their last axis, so every inner loop runs over neighbours in memory.
The functions release the interpreter's lock; `in_parts` runs them on slices of the rows, always the
same number of them, so a fit does not depend on how many cores it ran on.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar

import numpy as np
from numba import njit

T = TypeVar("T")

_PARTS = 4
_SMALL = 4096


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count() or 1)


def in_parts(rows: int, work: Callable[[int, int], T]) -> list[T]:
    """`work(start, stop)` on slices of the rows, side by side, results in order."""
    if rows < _SMALL:
        return [work(0, rows)]
    cuts = [rows * i // _PARTS for i in range(_PARTS + 1)]
    return list(_pool().map(work, cuts[:-1], cuts[1:]))


@njit(nogil=True, cache=True, fastmath=True)
def expect(
    codes: Any,
    counts: Any,
    start: int,
    stop: int,
    like: Any,
    weights: Any,
    tallied: Any,
    sizes: Any,
) -> float:
    """The E-step over some reports, adding up responsibilities; returns their log-likelihood.

    `codes: (k, C)` points into the rows of `like: (u, Z)`, P(reported code | class) of all
    clusters stacked. r_z ∝ w_z Π_C like_C,z is added to `tallied: (u, Z)` at every reported code
    and to `sizes: (Z,)`. Products that become tiny are scaled up on the way.
    """
    classes = weights.shape[0]
    clusters = codes.shape[1]
    share = np.empty(classes)
    log_likelihood = 0.0
    for i in range(start, stop):
        scale = 0.0
        for z in range(classes):
            share[z] = weights[z]
        for c in range(clusters):
            row = codes[i, c]
            for z in range(classes):
                share[z] *= like[row, z]
            if c % 8 == 7:
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
        total = max(total, 1e-300)  # no class has such a person: a public answer it never saw
        log_likelihood += counts[i] * (np.log(total) + scale)
        factor = counts[i] / total
        for z in range(classes):
            share[z] *= factor
            sizes[z] += share[z]
        for c in range(clusters):
            row = codes[i, c]
            for z in range(classes):
                tallied[row, z] += share[z]
    return log_likelihood


@njit(nogil=True, cache=True, fastmath=True)
def multiply_rows(out: Any, table: Any, digits: Any, start: int, stop: int) -> None:
    """out[i] ← out[i] · table[digits[i]]: one attribute's share of a cell's probability."""
    for i in range(start, stop):
        row = digits[i]
        for z in range(out.shape[1]):
            out[i, z] *= table[row, z]


@njit(nogil=True, cache=True, fastmath=True)
def add_rows(out: Any, values: Any, digits: Any, start: int, stop: int) -> None:
    """out[digits[i]] ← out[digits[i]] + values[i]: cells added up by one attribute's category."""
    for i in range(start, stop):
        row = digits[i]
        for z in range(out.shape[1]):
            out[row, z] += values[i, z]


@njit(nogil=True, cache=True, fastmath=True)
def expect_cells(
    rows: Any,
    counts: Any,
    start: int,
    stop: int,
    tables: Any,
    signal: Any,
    floor: Any,
    weights: Any,
    sums: Any,
    sizes: Any,
) -> float:
    """The whole EM pass over reports that are one cell each; returns their log-likelihood.

    `rows: (k, a)` points into `tables: (Σr, Z)`, the distributions of all attributes stacked. With
    φ_z = Π θ, a report has likelihood Σ_z w_z (s·φ_z + o), and w_z·s·φ_z over it is added to `sums`
    at each of its attributes' categories. `signal` and `floor` are s and o of every report.
    """
    classes = weights.shape[0]
    attributes = rows.shape[1]
    truth = np.empty(classes)
    log_likelihood = 0.0
    for i in range(start, stop):
        for z in range(classes):
            truth[z] = weights[z]
        for j in range(attributes):
            row = rows[i, j]
            for z in range(classes):
                truth[z] *= tables[row, z]
        total = 0.0
        for z in range(classes):
            total += truth[z]
        total = signal[i] * total + floor[i]
        log_likelihood += counts[i] * np.log(total)
        factor = counts[i] / total
        for z in range(classes):
            truth[z] *= signal[i] * factor
            sizes[z] += truth[z] + floor[i] * factor * weights[z]
        for j in range(attributes):
            row = rows[i, j]
            for z in range(classes):
                sums[row, z] += truth[z]
    return log_likelihood
