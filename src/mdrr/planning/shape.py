"""How uneven attributes are, as far as it is known, and what that makes of reports."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from mdrr.dependence import Dependences, unknown_spread
from mdrr.domain import Domain
from mdrr.errors import DesignError


def gain(cells: int, others: Sequence[float], signal: float) -> float:
    """G: what knowing which combinations of the other attributes occur adds to the information.

    `others` says how even each other attribute of the report is, see `Shape`. `signal` is the
    probability that the report is the truth and not noise; 0 for reported sets, which win only
    where it is small.

    >>> gain(3, [], 0.1), gain(3, [2 / 3], 1.0), gain(3, [2 / 3, 2 / 3], 0.0)
    (1.0, 1.0, 2.25)
    """
    told, noise = signal / cells, (1 - signal) / cells
    return (told + noise) / (told + noise * math.prod(others))


@dataclass(frozen=True)
class Shape:
    """What is known of an attribute's distribution: how uneven its k categories are.

    >>> some = Shape(2, 2 / 3)
    >>> some.held(math.inf), round(some.held(1e-4), 6), round(some.held(1e6), 3)
    (inf, 0.0001, 0.167)
    >>> round(Shape(2, 0.5).held(1e6), 3)  # even indeed, as whoever knows nothing guesses
    0.0
    """

    cells: int  # k
    square: float  # Σπ² ≥ 1/k; 2/(k + 1) is the mean of those drawn evenly from all there are

    @property
    def even(self) -> float:
        """1/(k·Σπ²), 1 if all categories are equally frequent."""
        return 1 / (self.cells * self.square)

    def held(self, variance: float) -> float:
        """Its squared error: the noise's V, or what it differs from the even one by, D."""
        if math.isinf(variance):
            return variance
        guess = self.guessed(variance)
        return (1 - guess) ** 2 * variance + guess**2 * max(self.square - 1 / self.cells, 0.0)

    def feared(self, variance: float) -> float:
        """What is held of an unknown distribution: never less for more noise."""
        if math.isinf(variance):
            return variance
        return unknown_spread(self.cells) * self.guessed(variance)

    def guessed(self, variance: float) -> float:
        """V/(V + S)."""
        return 1 / (1 + unknown_spread(self.cells) / variance) if variance > 0 else 0.0


def shapes_of(domain: Domain, dependences: Dependences | None) -> dict[str, Shape]:
    """Every attribute's, as its margin says or as an unknown one's."""
    sizes = {name: domain.attribute(name).size for name in domain.names}
    found = {name: Shape(size, 2 / (size + 1)) for name, size in sizes.items()}
    if dependences is not None and dependences.margins is not None:
        for name, margin in zip(dependences.names, dependences.margins, strict=True):
            if len(margin) != sizes.get(name, len(margin)):
                raise DesignError(
                    f"the dependences know {len(margin)} categories of {name!r}, the domain "
                    f"{sizes[name]}: they are of another domain"
                )
            found[name] = Shape(len(margin), float((margin**2).sum()))
    return found
