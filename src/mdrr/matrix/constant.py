"""The constant matrix (k-ary randomized response): a on the diagonal, b everywhere else.

With u uniform on [0, D): if u < r·b report u // b, otherwise report the truth. Each of the r codes
thus has weight b, and the true one a−b more. Among all matrices with the same ε it propagates the
least error (paper section 2.3), and its inverse is a vector operation at any size.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from mdrr.errors import MatrixError, is_number
from mdrr.matrix.protocol import (
    Array,
    Codes,
    check_integers,
    check_total,
    fine_total,
    from_dict,
    log_ratio,
    most_epsilon,
    odds_below,
    shown_below,
    to_dict,
)


@dataclass(frozen=True, slots=True)
class Constant:
    """Keep the truth with weight `diagonal`, send each other cell with weight `off`.

    Arguments:
        cells: r, the number of true cells and of reportable codes; at least 2.
        diagonal: a, the weight of the true cell.
        off: b, the weight of each other cell; 0 < b < a and a + (r−1)·b is 2^16, 2^32 or 2^48.

    Example:
        >>> coin = Constant(2, diagonal=49152, off=16384)
        >>> coin.keep, round(coin.epsilon, 4)
        (0.75, 1.0986)
        >>> coin.solve(np.array([0.5, 0.5]))
        array([0.5, 0.5])
    """

    cells: int
    diagonal: int
    off: int
    kind: ClassVar[str] = "constant"
    reports_cells: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_integers(self, "cells", "diagonal", "off")
        r, a, b = self.cells, self.diagonal, self.off
        if r < 2:
            raise MatrixError(f"a matrix over {r} cells randomizes nothing; it needs at least 2")
        if b <= 0:
            raise MatrixError(
                f"with off={b} the truth is always sent (ε = ∞); choose p below 1 or a finite ε"
            )
        if a == b:
            raise MatrixError(
                f"with diagonal = off = {a} the matrix is singular: reports say nothing about the "
                "truth. Choose p above 0 or a larger ε"
            )
        if a < b:
            raise MatrixError(f"diagonal={a} is below off={b}: the truth must be the likeliest")
        check_total(self.total)

    @property
    def outcomes(self) -> int:
        """The reportable codes are the cells."""
        return self.cells

    @property
    def total(self) -> int:
        """D = a + (r−1)·b."""
        return self.diagonal + (self.cells - 1) * self.off

    @property
    def epsilon(self) -> float:
        """ln(a / b), rounded up."""
        return log_ratio(self.diagonal, self.off)

    @property
    def keep(self) -> float:
        """The probability that the reported cell is the true one, a / D."""
        return self.diagonal / self.total

    @property
    def floor(self) -> float:
        """o = b / D: the probability of each cell that is not the true one."""
        return self.off / self.total

    @property
    def signal(self) -> float:
        """s = (a−b) / D: the probability that the report is the truth and not a uniform cell."""
        return (self.diagonal - self.off) / self.total

    def solve(self, observed: Array, /) -> Array:
        """(λ − o·Σλ) / s, which is (Pᵀ)⁻¹λ (paper eq. 2) in closed form."""
        mass = observed.sum(axis=-1, keepdims=True)
        return np.asarray((observed - self.floor * mass) / self.signal)

    def forward(self, distribution: Array, /) -> Array:
        """s·π + o·Σπ."""
        mass = distribution.sum(axis=-1, keepdims=True)
        return np.asarray(self.signal * distribution + self.floor * mass)

    backward, scores = forward, solve  # P is symmetric

    def likelihood(self, codes: Codes, /) -> Array:
        """o everywhere and o + s at the reported cell."""
        rows = np.full((len(codes), self.cells), self.floor)
        rows[np.arange(len(codes)), codes] += self.signal
        return rows

    def draw(self, true: Codes, uniform: Codes, /) -> Codes:
        """u // b where u < r·b, the truth elsewhere: chosen by masks, which costs no branches."""
        noise = uniform // uniform.dtype.type(self.off)
        kind = np.min_scalar_type(self.cells - 1)
        truthful = np.negative((noise >= uniform.dtype.type(self.cells)).astype(kind))
        sent = noise.astype(kind)
        return np.asarray(sent ^ ((sent ^ true.astype(kind)) & truthful))

    to_dict, from_dict = to_dict, classmethod(from_dict)


def constant_matrix(
    cells: int, *, p: float | None = None, epsilon: float | None = None
) -> Constant:
    """The constant matrix of a wanted p or ε, never less private than asked.

    With p the truth is kept with probability p and otherwise drawn uniformly from all r cells
    (Corollary 1), so ε = ln(1 + p·r/(1−p)). With ε the diagonal is e^ε times the rest. b is rounded
    up, so the realised ε is at most what was asked. That takes less than one unit from b's side
    and less than r units from the signal a−b: the smallest D is taken on which b is at least 1024
    units and the signal 1024·r, or 2^48 where even that is too coarse.

    Arguments:
        cells: the number of cells r.
        p: probability of keeping the truth, 0 < p < 1.
        epsilon: the privacy budget, 0 < ε.

    Example:
        >>> constant_matrix(9, p=0.7)
        Constant(cells=9, diagonal=48056, off=2185)
        >>> constant_matrix(4, epsilon=1.0).epsilon <= 1.0
        True
    """
    if (p is None) == (epsilon is None):
        raise MatrixError("give p or epsilon, exactly one of them")
    cells = operator.index(cells)
    if cells < 2:
        raise MatrixError(f"a matrix over {cells} cells randomizes nothing; it needs at least 2")
    if epsilon is None:
        asked, share = f"p={p}", _off_share_of_p(cells, p)
    else:
        asked, share = f"ε={epsilon}", 1 / (odds_below(epsilon) + cells - 1)
    total = fine_total(share, (1 - cells * share) / cells)
    if total * share < 1:
        most = most_epsilon(cells)
        advice = "put the attributes into several clusters"
        if most > 0:
            advice = f"choose ε of at most {shown_below(most)}, or a smaller p"
        raise MatrixError(
            f"{asked} over {cells:,} cells needs more than 48 random bits a draw; {advice}"
        )
    off = math.ceil(total * share)
    diagonal = total - (cells - 1) * off
    if diagonal <= off:
        raise MatrixError(
            f"{asked} over {cells} cells leaves no signal (diagonal {diagonal}, off {off}): "
            "the matrix would be singular. Ask for more, or for fewer combinations"
        )
    return Constant(cells, diagonal, off)


def _off_share_of_p(cells: int, p: float | None) -> Fraction:
    if not is_number(p):
        raise MatrixError(f"p={p!r} is not a number")
    if p <= 0:
        raise MatrixError(
            f"p={p}: the truth would never be kept and the matrix would be singular. Choose p > 0"
        )
    if p >= 1:
        raise MatrixError(f"p={p}: the truth would always be sent (ε = ∞). Choose p < 1")
    return (1 - Fraction(str(p))) / cells
