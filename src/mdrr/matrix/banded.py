"""The banded matrix for ordered attributes: near answers are likelier than far ones.

A discrete Square Wave (Li et al. 2020): the r cells are reported on a scale of s = r + 2w codes,
and the 2w+1 codes around the truth weigh more than the rest. A report that misses still says
roughly where the truth is, so on long scales it beats the constant matrix by far at the same ε;
w = 0 is the constant matrix. How a code is drawn, `mdrr.matrix.written` says.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from mdrr.errors import MatrixError
from mdrr.matrix import written
from mdrr.matrix.protocol import Codes, check_integers, from_dict, odds_below, to_dict

_MOST_CELLS = 4096


@dataclass(frozen=True)
class Banded:
    """Weight b on every code, about c more on the 2w+1 codes around the truth.

    Example:
        >>> matrix = Banded(4, width=1, low=6553, total=65536)
        >>> matrix.outcomes, matrix.step, round(matrix.epsilon, 3)
        (6, 8739, 0.847)
        >>> matrix.weights[0].tolist()
        [15292, 15293, 15292, 6553, 6553, 6553]
    """

    cells: int  # r ordered cells, at least 2
    width: int  # w, how far the band reaches to each side
    low: int  # b, the weight outside the band
    total: int  # D, the sum of a row: 2^16, 2^32 or 2^48
    kind: ClassVar[str] = "banded"

    def __post_init__(self) -> None:
        check_integers(self, "cells", "width", "low", "total")
        _check_cells(self.cells)
        if not 0 <= self.width < self.cells:
            raise MatrixError(f"width={self.width}: the band reaches 0 to {self.cells - 1} cells")
        written.check_raised(self)

    @property
    def outcomes(self) -> int:
        """s = r + 2w."""
        return self.cells + 2 * self.width

    @property
    def size(self) -> int:
        """2w+1, the codes of a band."""
        return 2 * self.width + 1

    @property
    def middle(self) -> int:
        """w."""
        return self.width

    def around(self, true: Codes, place: Codes | int, /) -> Codes:
        """The codes of the truth's band."""
        return true + place

    @property
    def reports_cells(self) -> bool:
        """Codes are a longer scale than the cells, unless the band has no width."""
        return self.width == 0

    @property
    def keep(self) -> float:
        """The probability that the report is the middle of the truth's band."""
        return float(self.probabilities[0, self.width])

    step, weights = cached_property(written.step), cached_property(written.weights)
    draw = written.draw
    epsilon = cached_property(written.epsilon)
    probabilities = cached_property(written.probabilities)
    inverse = cached_property(written.inverse)
    solve, forward, backward = written.solve, written.forward, written.backward
    scores, likelihood = written.scores, written.likelihood
    to_dict, from_dict = to_dict, classmethod(from_dict)


def banded_matrix(cells: int, *, epsilon: float, width: int | None = None) -> Banded:
    """The banded matrix of a wanted ε, never less private than asked.

    The band has the width that tells most (`best_width`) unless one is given.

    Example:
        >>> matrix = banded_matrix(74, epsilon=1.0)
        >>> matrix.width, matrix.epsilon <= 1.0
        (13, True)
    """
    _check_cells(cells)
    wide = best_width(cells, epsilon) if width is None else width

    def make(low: int, total: int) -> Banded:
        return Banded(cells, wide, low, total)

    return written.raised_matrix(make, cells + 2 * wide, 2 * wide + 1, epsilon)


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
    odds = float(odds_below(epsilon))
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
