"""One cluster's randomization, simulated from counts: exact in distribution, and no record touched.

A constant matrix with signal s = p_u − p_d ≥ 0 sends the truth with probability s and otherwise a
uniform cell. So of the c_u people whose true cell is u, K_u ~ Binomial(c_u, s) send it, and the
n − ΣK_u others are one Multinomial over all cells: each person is in exactly one of those two
groups, independently of the others, and within the second her report has the same (uniform)
distribution whatever her truth. Hence K + M has the distribution of the counts that randomizing
record by record gives. With s < 0 (readings of the paper that lie more often than they tell) each
true cell's people are a Multinomial over their row of the matrix. Clusters are randomized
independently of each other, so their counts are independent given the true records.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mdrr.errors import MatrixError
from mdrr.estimation.project import project
from mdrr.matrix import Array

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Channel:
    """A constant matrix by its signal s: `floor + s` on the diagonal, `floor` elsewhere.

    Unlike the matrices of a design it may be singular (s = 0) or lie (s < 0), as some readings of
    the paper's formulas do, and its weights need not be integers.

    Example:
        >>> Channel(4, 0.5).solve(np.array([0.625, 0.125, 0.125, 0.125]))
        array([1., 0., 0., 0.])
    """

    cells: int
    signal: float

    def __post_init__(self) -> None:
        if self.cells < 2:
            raise MatrixError(f"a matrix over {self.cells} cells randomizes nothing")
        if not -1 / (self.cells - 1) - 1e-12 <= self.signal <= 1:
            raise MatrixError(f"signal {self.signal} over {self.cells} cells is no matrix")

    @property
    def floor(self) -> float:
        """The probability of each cell that is not the true one."""
        return (1 - self.signal) / self.cells

    @property
    def is_singular(self) -> bool:
        """Whether reports say nothing about the truth."""
        return abs(self.signal) < 1e-12

    @property
    def epsilon(self) -> float:
        """|ln(diagonal / floor)|."""
        keep = self.floor + self.signal
        if min(keep, self.floor) <= 0:
            return math.inf
        return abs(math.log(keep / self.floor))

    def simulate(self, true: Counts, rng: np.random.Generator) -> Counts:
        """Counts of reports, drawn from counts of true cells `(..., cells)` (proof above).

        Axes before the last are groups of people, each randomized on its own.
        """
        if self.signal >= 0:
            kept = rng.binomial(true, self.signal)
            rest = true.sum(axis=-1) - kept.sum(axis=-1)
            return np.asarray(kept + rng.multinomial(rest, np.full(self.cells, 1 / self.cells)))
        rows = np.full((self.cells, self.cells), self.floor)
        np.fill_diagonal(rows, max(self.floor + self.signal, 0.0))
        return np.asarray(rng.multinomial(true, rows).sum(axis=-2))

    def randomize(self, true: npt.NDArray[Any], rng: np.random.Generator) -> npt.NDArray[Any]:
        """Reported cells of true cells `(n,)`, record by record."""
        uniform = rng.integers(0, self.cells, len(true), dtype=true.dtype)
        if self.signal >= 0:
            return np.where(rng.random(len(true)) < self.signal, true, uniform)
        # Uniform over all cells with probability cells·keep, else over the cells that are not true.
        keep = max(self.floor + self.signal, 0.0)
        other = rng.integers(0, self.cells - 1, len(true), dtype=true.dtype)
        other += other >= true
        return np.where(rng.random(len(true)) < self.cells * keep, uniform, other)

    def solve(self, observed: Array) -> Array:
        """(λ − floor·Σλ)/s along the last axis: the unbiased estimate, uniform when singular.

        The uniform distribution is what the pseudo-inverse gives where nothing can be learnt.
        """
        mass = observed.sum(axis=-1, keepdims=True)
        if self.is_singular:
            return np.asarray(np.zeros_like(observed) + mass / self.cells)
        return np.asarray((observed - self.floor * mass) / self.signal)

    def estimate(self, reported: Counts, projection: str) -> Array:
        """The proper distribution made of counts of reports (sections 2.1 and 6.4)."""
        return project(self.solve(reported / reported.sum()), projection)  # type: ignore[arg-type]
