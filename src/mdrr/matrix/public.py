"""The matrix of a public attribute: what is reported is the truth.

It reads no random bytes and is outside ε: an answer that is no secret has no privacy to lose. In
every formula of the constant matrix it is the one with signal 1 and floor 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mdrr.errors import MatrixError
from mdrr.matrix.protocol import Array, Codes, check_integers, from_dict, to_dict


@dataclass(frozen=True, slots=True)
class Public:
    """The identity over r cells, for attributes that are declared public.

    Example:
        >>> region = Public(3)
        >>> region.epsilon, region.solve(np.array([0.2, 0.3, 0.5]))
        (0.0, array([0.2, 0.3, 0.5]))
    """

    cells: int
    kind: ClassVar[str] = "public"
    reports_cells: ClassVar[bool] = True
    total: ClassVar[int] = 1
    """D = 1: a draw of no bytes."""
    epsilon: ClassVar[float] = 0.0
    """What it adds to the ε of a design, which is of the attributes that are not public."""
    keep: ClassVar[float] = 1.0
    signal: ClassVar[float] = 1.0
    floor: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        check_integers(self, "cells")
        if self.cells < 2:
            raise MatrixError(f"a matrix over {self.cells} cells says nothing; it needs at least 2")

    @property
    def outcomes(self) -> int:
        """The reportable codes are the cells."""
        return self.cells

    def solve(self, observed: Array, /) -> Array:
        """λ itself."""
        return np.asarray(observed, dtype=np.float64)

    forward = backward = scores = solve

    def likelihood(self, codes: Codes, /) -> Array:
        """1 at the reported cell, 0 elsewhere."""
        rows = np.zeros((len(codes), self.cells))
        rows[np.arange(len(codes)), codes] = 1.0
        return rows

    def draw(self, true: Codes, uniform: Codes, /) -> Codes:
        """The truth, whatever u is."""
        return true.astype(np.uint64)

    to_dict, from_dict = to_dict, classmethod(from_dict)
