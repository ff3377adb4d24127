"""Subset selection: report a set of cells that likely holds the truth, for small budgets.

At ε ≤ 2 one cell says little: among r of them the truth is hardly likelier than the rest. A set of
about r/(e^ε + 1) cells is reported instead, P(S | x) = α if x ∈ S else β (Ye and Barg 2018). The
sets are the v shifts of one block, so a report is a number t below v: the set of cells x with
(x − t) mod v in the block. A block of one is the constant matrix. How a code is drawn,
`mdrr.matrix.written` says: the code at place i around x is (x − block[i]) mod v.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from mdrr.errors import MatrixError
from mdrr.matrix import written
from mdrr.matrix.constant import Constant, constant_matrix
from mdrr.matrix.differences import Block, Shape, shapes
from mdrr.matrix.protocol import (
    LEAST_EPSILON,
    Codes,
    check_integers,
    from_dict,
    odds_below,
    to_dict,
)


@dataclass(frozen=True)
class Subset:
    """Weight b on every shift of the block, about c more on those that hold the truth.

    Example:
        >>> matrix = Subset(6, codes=7, block=(1, 2, 4), low=6000, total=65536)
        >>> matrix.outcomes, matrix.step, round(matrix.epsilon, 3)
        (7, 7845, 0.836)
        >>> [int(t) for t in np.flatnonzero(matrix.weights[0] > 6000)]  # sets that hold cell 0
        [3, 5, 6]
    """

    cells: int  # r, at least 2
    codes: int  # v ≥ r, the number of shifts
    block: Block  # k residues mod v, increasing
    low: int  # b, the weight of a set that does not hold the truth
    total: int  # D, the sum of a row: 2^16, 2^32 or 2^48
    kind: ClassVar[str] = "subset"
    reports_cells: ClassVar[bool] = False
    middle: ClassVar[int] = 0

    def __post_init__(self) -> None:
        check_integers(self, "cells", "codes", "low", "total")
        if not isinstance(self.block, tuple | list) or any(type(i) is not int for i in self.block):
            raise MatrixError("a subset matrix needs a 'block', a list of integers")
        object.__setattr__(self, "block", tuple(self.block))
        if not 2 <= self.cells <= self.codes:
            raise MatrixError(f"{self.cells} cells: a subset matrix has 2 to {self.codes} (codes)")
        inside = self.block and self.block[0] >= 0 and self.block[-1] < self.codes
        if not inside or list(self.block) != sorted(set(self.block)):
            raise MatrixError(f"the block is increasing residues below {self.codes}")
        if len(self.block) == self.codes:
            raise MatrixError("a block of all residues says nothing: the matrix is singular")
        written.check_raised(self)
        kernel = np.zeros(self.codes)
        kernel[list(self.block)] = 1
        eigenvalues = np.abs(np.fft.rfft(kernel))  # of the circulant whose rows are the shifts
        if eigenvalues.min() <= 1e-6 and np.linalg.matrix_rank(self.probabilities) < self.cells:
            raise MatrixError(
                "the shifts of this block cannot tell all cells apart: it is singular"
            )

    @property
    def outcomes(self) -> int:
        """v."""
        return self.codes

    @property
    def size(self) -> int:
        """k."""
        return len(self.block)

    def around(self, true: Codes, place: Codes | int, /) -> Codes:
        """The shifts that hold the truth."""
        return np.asarray((true - np.asarray(self.block)[place]) % self.codes)

    @property
    def keep(self) -> float:
        """The probability that the reported set holds the truth."""
        return (self.total - (self.codes - len(self.block)) * self.low) / self.total

    step, weights = cached_property(written.step), cached_property(written.weights)
    draw = written.draw
    epsilon = cached_property(written.epsilon)
    probabilities = cached_property(written.probabilities)
    inverse = cached_property(written.inverse)
    solve, forward, backward = written.solve, written.forward, written.backward
    scores, likelihood = written.scores, written.likelihood
    to_dict, from_dict = to_dict, classmethod(from_dict)


def best_shape(
    cells: int, epsilon: float, *, most_codes: int = 4096, least_gain: float = 0.0
) -> Shape | None:
    """The difference set of least variance for some cells, or None where single cells do as well.

    Its variance must undercut the constant matrix's by a share of `least_gain`.
    """
    best: Shape | None = None
    least = (1 - least_gain) * Shape(cells, 1, 0).rare_variance(epsilon)
    for shape in shapes():
        if cells <= shape.codes <= most_codes and shape.rare_variance(epsilon) < least:
            best, least = shape, shape.rare_variance(epsilon)
    return best


def subset_matrix(
    cells: int, *, epsilon: float, most_codes: int = 4096, least_gain: float = 0.0
) -> Subset | Constant:
    """The subset matrix of least predicted variance at an ε, or the constant one where that wins.

    For a (v, k, λ) block, P(x ∈ S) is p₁ = k·α for the truth and p₀ = λ·α + (k−λ)·β for any other
    cell, and the variance of a rare cell's estimate is p₀(1−p₀)/(p₁−p₀)² per report.

    The realised ε is at most the wanted one. `least_gain` is as in `best_shape`.

    Example:
        >>> len(subset_matrix(135, epsilon=1.0).block)
        121
        >>> subset_matrix(10, epsilon=4.0).kind
        'constant'
    """
    odds_below(epsilon)  # refuses what is no ε
    epsilon = float(epsilon)
    if epsilon < LEAST_EPSILON:
        raise MatrixError(f"ε={epsilon:g} says nothing in 48 random bits; choose a larger ε")
    best = best_shape(cells, epsilon, most_codes=most_codes, least_gain=least_gain)
    if best is None:
        return constant_matrix(cells, epsilon=epsilon)
    codes, block = best.codes, best.block()

    def make(low: int, total: int) -> Subset:
        return Subset(cells, codes, block, low, total)

    return written.raised_matrix(make, codes, len(block), epsilon)
