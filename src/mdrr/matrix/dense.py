"""Dense matrices: any row-stochastic nonsingular P (PRAM, FRAPP, banded for ordinals)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from mdrr.errors import MatrixError
from mdrr.matrix import written
from mdrr.matrix.protocol import Array, Codes, check_total, from_dict, to_dict

_CONDITION = 1e12


@dataclass(frozen=True)
class Dense:
    """A matrix given weight by weight.

    With u uniform on [0, D), the report is the first code whose cumulated weight in the true
    cell's row exceeds u. Finding it is a bisection, so its running time may depend on the answer.

    Arguments:
        weights: rows of non-negative integers, one row per true cell, each summing to D.

    Example:
        >>> pram = Dense(((65000, 536), (1000, 64536)))
        >>> pram.cells, pram.outcomes, round(pram.epsilon, 3)
        (2, 2, 4.791)
    """

    weights: tuple[tuple[int, ...], ...]
    kind: ClassVar[str] = "dense"

    def __post_init__(self) -> None:
        try:
            rows = tuple(tuple(row) for row in self.weights)
        except TypeError:
            raise MatrixError(
                "a dense matrix needs 'weights', a list of rows of integers"
            ) from None
        if len(rows) < 2 or len({len(row) for row in rows}) != 1:
            raise MatrixError("a dense matrix needs at least 2 rows, all of the same length")
        for u, row in enumerate(rows):
            if any(type(weight) is not int or weight < 0 for weight in row):
                raise MatrixError(f"row {u} has a weight that is not a non-negative integer")
        totals = {sum(row) for row in rows}
        if len(totals) != 1:
            raise MatrixError(f"the rows sum to different totals: {sorted(totals)[:3]}")
        check_total(totals.pop())
        object.__setattr__(self, "weights", rows)
        if self.outcomes < self.cells:
            raise MatrixError(
                f"{self.cells} cells cannot be told apart by {self.outcomes} reportable codes"
            )
        values = np.linalg.svd(self.probabilities, compute_uv=False)
        if values[-1] * _CONDITION < values[0]:
            twin = next((u for u, row in enumerate(rows) if row in rows[:u]), None)
            hint = "rows are dependent"
            if twin is not None:
                hint = f"rows {rows.index(rows[twin])} and {twin} are the same"
            raise MatrixError(
                f"the matrix is singular ({hint}): the true distribution cannot be told from the "
                "reports. Make the diagonal differ from the rest"
            )

    @property
    def cells(self) -> int:
        """Rows."""
        return len(self.weights)

    @property
    def outcomes(self) -> int:
        """Columns."""
        return len(self.weights[0])

    @property
    def total(self) -> int:
        """The sum of every row."""
        return sum(self.weights[0])

    @property
    def reports_cells(self) -> bool:
        """A square matrix reports cells."""
        return self.cells == self.outcomes

    @property
    def keep(self) -> float:
        """The smallest probability that the reported cell is the true one."""
        return float(np.diagonal(self.probabilities).min())

    epsilon = cached_property(written.epsilon)
    probabilities = cached_property(written.probabilities)
    inverse = cached_property(written.inverse)
    solve, forward, backward = written.solve, written.forward, written.backward
    scores, likelihood = written.scores, written.likelihood
    to_dict, from_dict = to_dict, classmethod(from_dict)

    def draw(self, true: Codes, uniform: Codes, /) -> Codes:
        """The first code whose cumulated weight exceeds u."""
        cumulated = np.cumsum(self.weights, axis=1).astype(np.uint64)
        codes = np.empty(len(true), dtype=np.uint64)
        for cell in np.unique(true):
            rows = true == cell
            codes[rows] = np.searchsorted(cumulated[cell], uniform[rows], side="right")
        return codes


def dense_matrix(probabilities: Sequence[Sequence[float]] | Array, *, total: int = 2**32) -> Dense:
    """The dense matrix nearest to given probabilities, rows rounded to integers that sum to D.

    A non-zero probability never becomes zero; what rounding leaves over goes to the largest
    remainders. ε is then that of the integers.

    Arguments:
        probabilities: `P[true, reported]`, every row non-negative and summing to 1 within 1e-9.
        total: D, one of 2^16, 2^32, 2^48.

    Example:
        >>> dense_matrix([[0.8, 0.2], [0.3, 0.7]]).probabilities.round(6)
        array([[0.8, 0.2],
               [0.3, 0.7]])
    """
    check_total(total)
    try:
        table = np.asarray(probabilities, dtype=np.float64)
    except (TypeError, ValueError):
        raise MatrixError("a matrix is rows of numbers, all of the same length") from None
    if table.ndim != 2:
        raise MatrixError(f"a matrix has 2 dimensions, not {table.ndim}")
    if not np.isfinite(table).all():
        raise MatrixError("the matrix has an entry that is not a finite number")
    if (table < 0).any():
        u, v = np.argwhere(table < 0)[0]
        raise MatrixError(f"P[{u}, {v}] = {table[u, v]} is negative")
    sums = table.sum(axis=1)
    if (np.abs(sums - 1) > 1e-9).any():
        u = int(np.argmax(np.abs(sums - 1)))
        raise MatrixError(f"row {u} sums to {sums[u]:.12g}, not 1: the matrix is not stochastic")
    return Dense(tuple(_round_row(row / row.sum(), total) for row in table))


def _round_row(row: Array, total: int) -> tuple[int, ...]:
    exact = [Fraction(float(p)) * total for p in row]
    weights = [max(int(x), 1) if x > 0 else 0 for x in exact]
    left = total - sum(weights)
    order = sorted(range(len(row)), key=lambda v: (exact[v] - weights[v], -v), reverse=left > 0)
    step = 1 if left > 0 else -1
    at = 0
    while left:
        v = order[at % len(order)]
        if weights[v] + step >= 1:  # fewer are left than weights that were rounded down
            weights[v] += step
            left -= step
        at += 1
    return tuple(weights)
