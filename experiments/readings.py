"""The readings of section 6.3: which matrices a cluster gets at a p.

The printed formulas cannot all be meant: rows do not sum to 1, ε_A is 0 where it should not be, and
p_C has a wrong sign. Each way to make sense of them is a reading, and the tables are run under all.

A reading gives the matrices of a cluster: one over all its combinations, or one per attribute. None
stands for a matrix without signal, whose reports say nothing (the uniform distribution is then what
the pseudo-inverse estimates).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from mdrr.matrix import Matrix, constant_matrix, dense_matrix
from mdrr.protocols import epsilon_of

Matrices = tuple[Matrix | None, ...]

NO_SIGNAL = 1e-9


@cache
def with_signal(cells: int, signal: float) -> Matrix | None:
    """The matrix with `signal` more on the diagonal than elsewhere; it may lie (signal < 0).

    >>> with_signal(9, 0.0) is None, with_signal(2, -0.5).probabilities
    (True, array([[0.25, 0.75],
           [0.75, 0.25]]))
    """
    if abs(signal) < NO_SIGNAL:
        return None
    if signal > 0:
        return constant_matrix(cells, p=signal)
    return dense_matrix(np.full((cells, cells), (1 - signal) / cells) + signal * np.eye(cells))


def _spending(cells: int, epsilon: float) -> Matrices:
    """p_C = 1/(1 + (cells−1)·e^(−ε)), the sign put right, and p_C·e^(−ε) off the diagonal."""
    return (with_signal(cells, math.expm1(epsilon) / (math.exp(epsilon) + cells - 1)),)


def _log_odds(p: float, r: int) -> float:
    odds = p * r / (1 - p)
    return 0.0 if abs(odds - 1) < 1e-12 else math.log(odds)


def _corrected(shape: tuple[int, ...], p: float) -> Matrices:
    if len(shape) == 1:
        return (constant_matrix(shape[0], p=p),)
    return (constant_matrix(math.prod(shape), epsilon=sum(epsilon_of(p, r) for r in shape)),)


def _printed(shape: tuple[int, ...], p: float) -> Matrices:
    return _spending(math.prod(shape), sum(abs(_log_odds(p, r)) for r in shape))


def _signed(shape: tuple[int, ...], p: float) -> Matrices:
    return _spending(math.prod(shape), sum(_log_odds(p, r) for r in shape))


def _power(shape: tuple[int, ...], p: float) -> Matrices:
    return (with_signal(math.prod(shape), p ** len(shape)),)


def _power_diagonal(shape: tuple[int, ...], p: float) -> Matrices:
    keep, cells = p ** len(shape), math.prod(shape)
    return (with_signal(cells, keep - (1 - keep) / (cells - 1)),)


def _power_printed(shape: tuple[int, ...], p: float) -> Matrices:
    cells = math.prod(shape)
    return _spending(cells, _log_odds(p ** len(shape), cells))


def _each(shape: tuple[int, ...], p: float) -> Matrices:
    return tuple(constant_matrix(r, p=p) for r in shape)


READINGS: dict[str, tuple[Callable[[tuple[int, ...], float], Matrices], str]] = {
    "corrected": (
        _corrected,
        "equal ε by Corollary 1's mechanism: ε_A = ln(1 + p·r/(1−p)), and Σ ε_A for a cluster",
    ),
    "printed": (
        _printed,
        "equal ε as printed: ε_A = |ln(p·r/(1−p))|, p_C with its sign put right",
    ),
    "signed": (_signed, "as `printed`, without the absolute value"),
    "power": (
        _power,
        "a cluster keeps its joint value with probability p^|C|, else uniform over all",
    ),
    "power-diagonal": (
        _power_diagonal,
        "p^|C| on the diagonal, the rest shared by the other cells",
    ),
    "power-printed": (
        _power_printed,
        "p^|C| on the diagonal, (1−p^|C|)/cells elsewhere, rows rescaled to sum 1",
    ),
    "each": (
        _each,
        "attributes of a cluster randomized one by one at p and inverted together: equal ε too",
    ),
}
"""Every reading by its name: the matrices of a cluster of some shape at p, and what it means."""
