"""A cluster whose attributes are randomized one by one, and inverted together.

The pair (or more) goes through the Kronecker product of the attributes' matrices, which inverts
axis by axis, and spends exactly the sum of their ε.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mdrr.estimation.project import project
from mdrr.matrix import Array
from mdrr.reproduction.channel import Channel, Counts


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


@dataclass(frozen=True, slots=True)
class Axes:
    """One channel per attribute of a cluster, the first attribute most significant in a cell.

    Example:
        >>> pair = Axes((Channel(2, 0.5), Channel(3, 0.4)))
        >>> pair.cells, round(pair.epsilon - Channel(2, 0.5).epsilon - Channel(3, 0.4).epsilon, 12)
        (6, 0.0)
    """

    channels: tuple[Channel, ...]

    @property
    def cells(self) -> int:
        """The combinations of the attributes."""
        return math.prod(self.shape)

    @property
    def shape(self) -> tuple[int, ...]:
        """The categories of each attribute."""
        return tuple(link.cells for link in self.channels)

    @property
    def epsilon(self) -> float:
        """The sum over attributes."""
        return sum(link.epsilon for link in self.channels)

    def simulate(self, true: Counts, rng: np.random.Generator) -> Counts:
        """Counts of reported cells, drawn from counts of true cells `(cells,)`."""
        return simulate_axes(self.channels, true.reshape(self.shape), rng).ravel()

    def randomize(self, true: npt.NDArray[Any], rng: np.random.Generator) -> npt.NDArray[Any]:
        """Reported cells of true cells `(n,)`, record by record."""
        columns = np.unravel_index(true, self.shape)
        reported = [
            link.randomize(column.astype(np.int64), rng)
            for link, column in zip(self.channels, columns, strict=True)
        ]
        return np.ravel_multi_index(reported, self.shape).astype(true.dtype)

    def estimate(self, reported: Counts, projection: str) -> Array:
        """The proper distribution made of counts of reports, `(cells,)`."""
        table = (reported / reported.sum()).reshape(self.shape)
        for axis, link in enumerate(self.channels):
            table = np.moveaxis(link.solve(np.moveaxis(table, axis, -1)), -1, axis)
        return project(table.ravel(), projection)  # type: ignore[arg-type]
