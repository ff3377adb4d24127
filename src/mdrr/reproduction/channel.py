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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mdrr.errors import MatrixError
from mdrr.estimation.project import project
from mdrr.matrix import Array, constant_matrix
from mdrr.protocols import epsilon_of

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
        """(λ − floor·Σλ)/s: the unbiased estimate; uniform, by pseudo-inverse, when singular."""
        if self.is_singular:
            return np.full(self.cells, observed.sum() / self.cells)
        return np.asarray((observed - self.floor * observed.sum()) / self.signal)

    def estimate(self, reported: Counts, projection: str) -> Array:
        """The proper distribution made of counts of reports (sections 2.1 and 6.4)."""
        return project(self.solve(reported / reported.sum()), projection)  # type: ignore[arg-type]


def simulate_axes(channels: Sequence[Channel], true: Counts, rng: np.random.Generator) -> Counts:
    """Counts of joint reports of attributes that are randomized independently of each other.

    Axis by axis: given everybody's other reports and truths, one attribute is randomized within
    each cell of the others.

    Arguments:
        channels: one per axis.
        true: counts of the true combinations, one axis per attribute.
        rng: random numbers.
    """
    table = true
    for axis, link in enumerate(channels):
        table = np.moveaxis(link.simulate(np.moveaxis(table, axis, -1), rng), -1, axis)
    return table


def channel(reading: str, shape: Sequence[int], p: float) -> Channel:
    """The matrix that a reading of section 6.3 gives to a cluster.

    Arguments:
        reading: a key of `READINGS`.
        shape: category counts of the cluster's attributes; one for an attribute on its own.
        p: as the paper's.

    Example:
        >>> [round(channel(name, (6, 2, 2), 0.3).signal, 3) for name in READINGS]
        [0.32, 0.094, 0.036, 0.027, -0.015]
        >>> channel("printed", (9,), 0.1).is_singular
        True
    """
    return Channel(math.prod(shape), READINGS[reading](tuple(shape), p))


def _corrected(shape: tuple[int, ...], p: float) -> float:
    cells = math.prod(shape)
    if len(shape) == 1:
        return constant_matrix(cells, p=p).signal
    return constant_matrix(cells, epsilon=sum(epsilon_of(p, r) for r in shape)).signal


def _spending(cells: int, epsilon: float) -> float:
    """p_C − p_C·e^(−ε) with p_C = 1/(1 + (cells−1)·e^(−ε)), the sign put right."""
    return math.expm1(epsilon) / (math.exp(epsilon) + cells - 1)


def _log_odds(p: float, r: int) -> float:
    odds = p * r / (1 - p)
    return 0.0 if abs(odds - 1) < 1e-12 else math.log(odds)


def _printed(shape: tuple[int, ...], p: float) -> float:
    return _spending(math.prod(shape), sum(abs(_log_odds(p, r)) for r in shape))


def _signed(shape: tuple[int, ...], p: float) -> float:
    return _spending(math.prod(shape), sum(_log_odds(p, r) for r in shape))


def _power(shape: tuple[int, ...], p: float) -> float:
    return p ** len(shape)


def _power_diagonal(shape: tuple[int, ...], p: float) -> float:
    keep = p ** len(shape)
    return keep - (1 - keep) / (math.prod(shape) - 1)


READINGS: dict[str, Callable[[tuple[int, ...], float], float]] = {
    "corrected": _corrected,
    "printed": _printed,
    "signed": _signed,
    "power": _power,
    "power-diagonal": _power_diagonal,
}
"""The signal of a cluster under each reading of section 6.3.

- `corrected`: Corollary 1's mechanism, ε_A = ln(1 + p|A|/(1−p)), and Σ ε_A for a cluster: the
  integers that the designs of this package sample.
- `printed`: ε_A = |ln(p|A|/(1−p))| as printed, and p_C with its sign put right.
- `signed`: the same without the absolute value.
- `power`: a cluster keeps its joint value with probability p^|C|, else a uniform one is sent.
- `power-diagonal`: p^|C| on the diagonal, the rest shared by the other cells.
"""

MEANINGS = {
    "corrected": "equal ε by Corollary 1's mechanism: ε_A = ln(1 + p·r/(1−p)), Σ ε_A for a cluster",
    "printed": "equal ε as printed: ε_A = |ln(p·r/(1−p))|, p_C with its sign put right",
    "signed": "as printed, without the absolute value",
    "power": "a cluster keeps its joint value with probability p^|C|, else uniform over all cells",
    "power-diagonal": "p^|C| on the diagonal, the rest shared by the other cells",
}
