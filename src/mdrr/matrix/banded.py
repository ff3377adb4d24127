"""The banded matrix for ordered attributes: near answers are likelier than far ones.

A discrete Square Wave (Li et al. 2020): the r cells are reported on a scale of s = r + 2w codes,
and the 2w+1 codes around the truth weigh more than the rest. A report that misses still says
roughly where the truth is, so on long scales it beats the constant matrix by far at the same ε;
w = 0 is the constant matrix.

With u uniform on [0, D): if u < s·b report u // b; else report the truth's code x shifted by
k = (u − s·b) // c, or by w (its middle) for the few u left over, where c = (D − s·b) // (2w+1).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from mdrr.errors import MatrixError
from mdrr.matrix.protocol import (
    Array,
    Codes,
    check_total,
    fine_total,
    integers,
    odds_below,
)
from mdrr.matrix.written import (
    backward,
    forward,
    least_variance_inverse,
    likelihood,
    scores,
    solve,
    worst_ratio,
)

_MOST_CELLS = 4096


@dataclass(frozen=True)
class Banded:
    """Weight b on every code, about c more on the 2w+1 codes around the truth.

    Arguments:
        cells: r, the number of ordered true cells; at least 2.
        width: w, how far the band reaches to each side.
        low: b, the weight outside the band.
        total: D, the sum of a row: 2^16, 2^32 or 2^48.

    Example:
        >>> matrix = Banded(4, width=1, low=6553, total=65536)
        >>> matrix.outcomes, matrix.step, round(matrix.epsilon, 3)
        (6, 8739, 0.847)
        >>> matrix.weights[0].tolist()
        [15292, 15293, 15292, 6553, 6553, 6553]
    """

    cells: int
    width: int
    low: int
    total: int
    kind: ClassVar[str] = "banded"

    def __post_init__(self) -> None:
        fields = (self.cells, self.width, self.low, self.total)
        if any(type(value) is not int for value in fields):
            raise MatrixError(f"cells, width, low and total are integers, not {fields}")
        _check_cells(self.cells)
        if not 0 <= self.width < self.cells:
            raise MatrixError(f"width={self.width}: the band reaches 0 to {self.cells - 1} cells")
        check_total(self.total)
        if self.low <= 0:
            raise MatrixError(
                "low must be positive: without it far answers betray the truth (ε = ∞)"
            )
        if self.step <= 0:
            raise MatrixError(
                f"with low={self.low} nothing is left for the band: the matrix is singular. "
                "Choose a smaller low or a larger ε"
            )

    @property
    def outcomes(self) -> int:
        """s = r + 2w."""
        return self.cells + 2 * self.width

    @property
    def step(self) -> int:
        """c, the weight each code of the band has beyond b."""
        return (self.total - self.outcomes * self.low) // (2 * self.width + 1)

    @cached_property
    def epsilon(self) -> float:
        """ln of the largest ratio within a column, rounded up."""
        return worst_ratio(self.weights)

    @property
    def reports_cells(self) -> bool:
        """Codes are a longer scale than the cells, unless the band has no width."""
        return self.width == 0

    @property
    def keep(self) -> float:
        """The probability that the report is the middle of the truth's band."""
        return float(self.probabilities[0, self.width])

    @cached_property
    def weights(self) -> Codes:
        """The integers, `(r, s)`."""
        table = np.full((self.cells, self.outcomes), self.low, dtype=np.int64)
        left = self.total - self.outcomes * self.low - self.step * (2 * self.width + 1)
        for x in range(self.cells):
            table[x, x : x + 2 * self.width + 1] += self.step
            table[x, x + self.width] += left
        return table

    @cached_property
    def probabilities(self) -> Array:
        """P as floats, `(r, s)`."""
        return np.asarray(self.weights / self.total)

    @cached_property
    def inverse(self) -> Array:
        """The unbiased inverse of least variance, `(r, s)`."""
        return least_variance_inverse(self.probabilities)

    solve, forward, backward = solve, forward, backward
    scores, likelihood = scores, likelihood

    def draw(self, true: Codes, uniform: Codes, /) -> Codes:
        """u // b on the whole scale, else a code of the truth's band."""
        low, floor = np.uint64(self.low), np.uint64(self.outcomes * self.low)
        inside = uniform >= floor
        shift = (uniform - np.where(inside, floor, uniform)) // np.uint64(self.step)
        shift = np.where(shift > np.uint64(2 * self.width), np.uint64(self.width), shift)
        return np.where(inside, true.astype(np.uint64) + shift, uniform // low)

    def to_dict(self) -> dict[str, Any]:
        """The four integers."""
        return {
            "kind": self.kind,
            "cells": self.cells,
            "width": self.width,
            "low": self.low,
            "total": self.total,
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Banded:
        """The matrix described by `to_dict`, validated again."""
        return cls(*integers(fields, "cells", "width", "low", "total"))


def banded_matrix(cells: int, *, epsilon: float, width: int | None = None) -> Banded:
    """The banded matrix of a wanted ε, never less private than asked.

    Arguments:
        cells: the number of ordered cells.
        epsilon: the privacy budget, 0 < ε.
        width: how far the band reaches; the one that tells most by default (`best_width`).

    Example:
        >>> matrix = banded_matrix(74, epsilon=1.0)
        >>> matrix.width, matrix.epsilon <= 1.0
        (13, True)
    """
    odds, epsilon = odds_below(epsilon), float(epsilon)
    _check_cells(cells)
    width = best_width(cells, epsilon) if width is None else width
    band = 2 * width + 1
    share = 1 / (band * odds + cells - 1)
    codes = cells + 2 * width
    total = fine_total(share / band, (1 - codes * share) / codes)
    if total * share < 1:
        raise MatrixError(f"ε={epsilon} over {cells} cells needs more than 48 random bits a draw")
    low = math.ceil(total * share)
    found = Banded(cells, width, low, total)
    while found.epsilon > epsilon:
        low += 1
        found = Banded(cells, width, low, total)
    return found


def _check_cells(cells: int) -> None:
    if not 2 <= cells <= _MOST_CELLS:
        raise MatrixError(f"a banded matrix has 2 to {_MOST_CELLS} cells, not {cells}")


def best_width(cells: int, epsilon: float) -> int:
    """The width whose report says most about the truth: the largest mutual information.

    That is how Li et al. choose the Square Wave's band, here on the discrete scale and exactly,
    with all cells equally likely.

    >>> [best_width(16, epsilon) for epsilon in (0.5, 1, 2, 4)]
    [3, 2, 1, 0]
    """
    odds = math.exp(min(epsilon, 700.0))
    best, most = 0, -math.inf
    for width in range(cells):
        band = 2 * width + 1
        low = 1 / (band * odds + cells - 1)
        covered = np.minimum(np.arange(1, cells + 2 * width + 1), band)
        covered = np.minimum(np.minimum(covered, covered[::-1]), cells)
        mean = low * (1 + (odds - 1) * covered / cells)
        entropy = -float(mean @ np.log(mean))
        told = (
            entropy + band * low * odds * math.log(low * odds) + (cells - 1) * low * math.log(low)
        )
        if told > most + 1e-12:
            best, most = width, told
    return best
