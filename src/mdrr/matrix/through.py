"""A matrix seen through some of the attributes that its cells combine.

A constant matrix over r cells stays constant: of k combinations of the kept attributes the true one
is reported with probability s + o·r/k, each other one with o·r/k, and a reported cell shows which
one it is. Through any other matrix the kept part of a report is no channel of its own, but every
code still has a score f(x, y) for each kept combination x, with E[f(x, Y) | true cell] = 1 if the
kept part of that cell is x, else 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from mdrr.errors import MatrixError
from mdrr.matrix.constant import Constant
from mdrr.matrix.protocol import Array, Codes, Matrix
from mdrr.matrix.public import Public
from mdrr.matrix.subset import Subset

_MOST_ENTRIES = 2**24


@dataclass(frozen=True)
class Through:
    """What a matrix over the product of `shape` says of the attributes at some `places`.

    Example:
        >>> pair = Through(Constant(6, diagonal=40536, off=5000), (2, 3), (1,))
        >>> pair.cells, pair.codes(np.array([0, 4, 5])).tolist()
        (3, [0, 1, 2])
        >>> pair.likelihood(np.array([0])).round(3)
        array([[0.695, 0.153, 0.153]])
    """

    matrix: Matrix  # P, over the combinations of all attributes
    shape: tuple[int, ...]  # how many categories each attribute has
    places: tuple[int, ...]  # which are kept, increasing; the kept cells combine them so

    def __post_init__(self) -> None:
        if math.prod(self.shape) != self.matrix.cells:
            raise MatrixError(f"shape {self.shape} does not have {self.matrix.cells} combinations")
        known = [place for place in range(len(self.shape)) if place in self.places]
        if not known or list(self.places) != known:
            raise MatrixError(f"places {self.places} are not increasing places of {self.shape}")

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The kept attributes' category counts."""
        return tuple(self.shape[place] for place in self.places)

    @cached_property
    def cells(self) -> int:
        """k, the number of kept combinations."""
        return math.prod(self.sizes)

    @cached_property
    def constant(self) -> bool:
        """Whether codes are kept cells, all but the true one equally likely."""
        return isinstance(self.matrix, Constant | Public)

    @property
    def outcomes(self) -> int:
        """How many codes there are: kept cells if it is constant, else the matrix's own."""
        return self.cells if self.constant else self.matrix.outcomes

    @cached_property
    def whole(self) -> bool:
        """Whether all attributes are kept."""
        return len(self.places) == len(self.shape)

    @property
    def likely(self) -> bool:
        """Whether a code has a probability given a kept cell."""
        return self.constant or self.whole

    def codes(self, reported: Codes) -> npt.NDArray[np.int64]:
        """What the kept attributes see of reported codes, each below `outcomes`."""
        found = reported.astype(np.int64)
        return self._kept(found) if self.constant and not self.whole else found

    def _kept(self, cells: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The kept part of the matrix's cells."""
        kept = np.zeros_like(cells)
        for place in self.places:
            after = math.prod(self.shape[place + 1 :])
            kept = kept * self.shape[place] + cells // after % self.shape[place]
        return kept

    @cached_property
    def _flat(self) -> tuple[float, float]:
        """(s, o·r/k) of a constant channel: what the true cell has beyond the others, and they."""
        assert isinstance(self.matrix, Constant | Public)
        return self.matrix.signal, self.matrix.floor * self.matrix.cells / self.cells

    @cached_property
    def _two(self) -> tuple[float, float]:
        """The scores of a constant channel: of the cell that is reported, and of every other."""
        signal, floor = self._flat
        return (1 - floor) / signal, -floor / signal

    @cached_property
    def scores(self) -> Array:
        """f[cell, code]: written out, `(k, outcomes)`."""
        cells = self.cells if self.constant else self.matrix.cells
        if self.cells * cells > _MOST_ENTRIES:
            raise MatrixError(
                f"{self.cells:,} combinations seen through {cells:,} cells are too many to list"
            )
        if self.constant:
            return np.asarray(np.where(np.eye(self.cells, dtype=bool), *self._two))
        indicators = np.zeros((self.cells, cells))
        indicators[self._kept(np.arange(cells)), np.arange(cells)] = 1.0
        return self.matrix.scores(indicators)

    @cached_property
    def even(self) -> Array:
        """How likely each code is if all true cells are equally likely."""
        if self.constant:
            return np.full(self.cells, 1 / self.cells)
        return self.matrix.forward(np.full(self.matrix.cells, 1 / self.matrix.cells))

    def invert(self, table: Array, at: int = -1, power: int = 1) -> Array:
        """Σ_y f(x, y)^power · table(…, y, …): an axis of codes becomes one of cells."""
        if self.constant:
            hit, miss = (score**power for score in self._two)
            return np.asarray((hit - miss) * table + miss * table.sum(axis=at, keepdims=True))
        return np.moveaxis(np.moveaxis(table, at, -1) @ (self.scores**power).T, -1, at)

    def score(self, functional: Array, at: int = -1) -> Array:
        """Σ_x f(x, y) · functional(…, x, …): an axis of cells becomes one of codes."""
        if self.constant:
            return self.invert(functional, at)
        return np.moveaxis(np.moveaxis(functional, at, -1) @ self.scores, -1, at)

    def forward(self, table: Array, at: int = -1) -> Array:
        """Σ_x P(y | x) · table(…, x, …): an axis of cells becomes one of codes."""
        self._check_likely()
        if self.constant:
            signal, floor = self._flat
            return np.asarray(signal * table + floor * table.sum(axis=at, keepdims=True))
        return np.moveaxis(self.matrix.forward(np.moveaxis(table, at, -1)), -1, at)

    def backward(self, values: Array, at: int = -1) -> Array:
        """Σ_y P(y | x) · values(…, y, …): an axis of codes becomes one of cells."""
        if self.constant:
            return self.forward(values, at)
        self._check_likely()
        return np.moveaxis(self.matrix.backward(np.moveaxis(values, at, -1)), -1, at)

    def mean(self, values: Array, at: int = -1) -> Array:
        """As `backward`, the attributes left out taken as evenly distributed."""
        whole = self.matrix.backward(np.moveaxis(values, at, -1))
        gone = [i - len(self.shape) for i in range(len(self.shape)) if i not in self.places]
        kept = whole.reshape(*whole.shape[:-1], *self.shape).mean(axis=tuple(gone))
        return np.moveaxis(kept.reshape(*whole.shape[:-1], self.cells), -1, at)

    def likelihood(self, codes: Codes) -> Array:
        """P(y | x) for each code y: (u,) to (u, k)."""
        self._check_likely()
        if not self.constant:
            return self.matrix.likelihood(codes)
        signal, floor = self._flat
        rows = np.full((len(codes), self.cells), floor)
        rows[np.arange(len(codes)), codes] += signal
        return rows

    def _check_likely(self) -> None:
        if not self.likely:
            raise MatrixError(
                f"some of the attributes of a {self.matrix.kind} matrix have no channel of their "
                "own: keep all of them, or ask for scores"
            )

    @property
    def square(self) -> float:
        """Σ_x E f(x, Y)² if all true cells are equally likely; if constant, whatever they are."""
        if self.constant:
            hit, miss = self._two
            return hit**2 + (self.cells - 1) * miss**2
        return float((self.scores**2 @ self.even).sum())

    @property
    def swing(self) -> float:
        """The most that one report moves a cell's score."""
        return 1 / self._flat[0] if self.constant else float(np.ptp(self.scores, axis=1).max())

    @cached_property
    def evenness(self) -> float:
        """How evenly the noise of the cells is spread over all directions, at most 1.

        (Σλ)²/Σλ² of the eigenvalues of its covariance, if all cells were equally frequent, over the
        number of directions; 1 after constant matrices, and nearly so after subsets. A banded one's
        inverse has most of its noise in few.
        """
        if isinstance(self.matrix, Constant | Subset | Public) or not self.likely or self.cells < 3:
            return 1.0
        centred = self.scores - (self.scores @ self.even)[:, None]
        covariance = (centred * self.even) @ centred.T
        total = float(np.trace(covariance))
        return min(total**2 / float((covariance**2).sum()) / (self.cells - 1), 1.0)
