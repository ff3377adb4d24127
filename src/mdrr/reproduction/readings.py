"""The readings of section 6.3: which matrix a cluster gets at a p.

The printed formulas cannot all be meant (rows do not sum to 1, ε_A is 0 where it should not be, p_C
has a wrong sign), so each way to make sense of them is a reading, and the tables can be run again
under every one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from mdrr.errors import MdrrError
from mdrr.matrix import Array, constant_matrix
from mdrr.protocols import epsilon_of
from mdrr.reproduction.axes import Axes
from mdrr.reproduction.channel import Channel, Counts


class Link(Protocol):
    """How a cluster is randomized and estimated: a `Channel` or `Axes`."""

    @property
    def cells(self) -> int:
        """Combinations of the cluster."""
        ...

    @property
    def epsilon(self) -> float:
        """What one person spends on it."""
        ...

    def simulate(self, true: Counts, rng: np.random.Generator) -> Counts:
        """Counts of reports from counts of true cells."""
        ...

    def randomize(self, true: npt.NDArray[Any], rng: np.random.Generator) -> npt.NDArray[Any]:
        """Reports of true cells."""
        ...

    def estimate(self, reported: Counts, projection: str) -> Array:
        """A proper distribution from counts of reports."""
        ...


@dataclass(frozen=True)
class Reading:
    """A reading: the matrix of a cluster of some shape at p, and what it is, in a line."""

    link: Callable[[tuple[int, ...], float], Link]
    meaning: str


def channel(reading: str, shape: Sequence[int], p: float) -> Link:
    """The matrix that a reading gives to a cluster.

    Arguments:
        reading: a key of `READINGS`.
        shape: category counts of the cluster's attributes; one for an attribute on its own.
        p: as the paper's.

    Example:
        >>> [round(channel(name, (6, 2, 2), 0.3).epsilon, 2) for name in READINGS]
        [2.51, 1.25, 0.64, 0.51, 0.45, 0.41, 2.51]
        >>> channel("printed", (9,), 0.1).epsilon
        0.0
    """
    try:
        return READINGS[reading].link(tuple(shape), p)
    except KeyError:
        raise MdrrError(
            f"there is no reading {reading!r}. Known: {', '.join(map(repr, READINGS))}"
        ) from None


def single(reading: str, categories: int, p: float) -> Channel:
    """The matrix that a reading gives to an attribute on its own: always a constant one."""
    link = channel(reading, (categories,), p)
    assert isinstance(link, Channel)
    return link


def _corrected(shape: tuple[int, ...], p: float) -> Channel:
    cells = math.prod(shape)
    if len(shape) == 1:
        return Channel(cells, constant_matrix(cells, p=p).signal)
    matrix = constant_matrix(cells, epsilon=sum(epsilon_of(p, r) for r in shape))
    return Channel(cells, matrix.signal)


def _log_odds(p: float, r: int) -> float:
    odds = p * r / (1 - p)
    return 0.0 if abs(odds - 1) < 1e-12 else math.log(odds)


def _spending(cells: int, epsilon: float) -> Channel:
    """p_C = 1/(1 + (cells−1)·e^(−ε)), the sign put right, and p_C·e^(−ε) off the diagonal."""
    return Channel(cells, math.expm1(epsilon) / (math.exp(epsilon) + cells - 1))


def _printed(shape: tuple[int, ...], p: float) -> Channel:
    return _spending(math.prod(shape), sum(abs(_log_odds(p, r)) for r in shape))


def _signed(shape: tuple[int, ...], p: float) -> Channel:
    return _spending(math.prod(shape), sum(_log_odds(p, r) for r in shape))


def _power(shape: tuple[int, ...], p: float) -> Channel:
    return Channel(math.prod(shape), p ** len(shape))


def _power_diagonal(shape: tuple[int, ...], p: float) -> Channel:
    keep = p ** len(shape)
    return Channel(math.prod(shape), keep - (1 - keep) / (math.prod(shape) - 1))


def _power_printed(shape: tuple[int, ...], p: float) -> Channel:
    keep, cells = p ** len(shape), math.prod(shape)
    return _spending(cells, _log_odds(keep, cells))


def _each(shape: tuple[int, ...], p: float) -> Link:
    if len(shape) == 1:
        return _corrected(shape, p)
    return Axes(tuple(_corrected((r,), p) for r in shape))


READINGS: dict[str, Reading] = {
    "corrected": Reading(
        _corrected,
        "equal ε by Corollary 1's mechanism: ε_A = ln(1 + p·r/(1−p)) and Σ ε_A for a cluster",
    ),
    "printed": Reading(
        _printed, "equal ε as printed: ε_A = |ln(p·r/(1−p))|, p_C with its sign put right"
    ),
    "signed": Reading(_signed, "as `printed`, without the absolute value"),
    "power": Reading(
        _power, "a cluster keeps its joint value with probability p^|C|, else uniform over all"
    ),
    "power-diagonal": Reading(
        _power_diagonal, "p^|C| on the diagonal, the rest shared by the other cells"
    ),
    "power-printed": Reading(
        _power_printed,
        "p^|C| on the diagonal, (1−p^|C|)/cells elsewhere as printed for one attribute, rows "
        "rescaled to sum 1",
    ),
    "each": Reading(
        _each,
        "attributes of a cluster randomized one by one at p and inverted together: equal ε too",
    ),
}
"""Every reading, by the name `--matrix` knows it under."""
