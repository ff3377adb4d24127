"""The true records an experiment runs on: Adult, and Adult6, which is Adult six times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from mdrr.datasets import adult, adult_domain
from mdrr.domain import Domain
from mdrr.frames import encode
from mdrr.randomizer import cells_of, smallest_unsigned

Attributes = tuple[int, ...]
"""Places of attributes in the domain."""


@dataclass(frozen=True, eq=False)
class Population:
    """True records as codes, each standing for `copies` people.

    Arguments:
        domain: their attributes.
        codes: one `unsigned (rows,)` array per attribute.
        copies: how often the records are repeated.

    Example:
        >>> from mdrr.domain import Attribute
        >>> domain = Domain((Attribute("a", ("x", "y")), Attribute("b", ("x", "y"))))
        >>> people = Population(domain, (np.array([0, 1, 1]), np.array([0, 0, 1])), copies=2)
        >>> people.n, people.counts((0, 1))
        (6, array([2, 0, 2, 2]))
    """

    domain: Domain
    codes: tuple[npt.NDArray[Any], ...]
    copies: int = 1
    _tables: dict[Attributes, npt.NDArray[np.int64]] = field(default_factory=dict, repr=False)

    @property
    def n(self) -> int:
        """How many people there are."""
        return len(self.codes[0]) * self.copies

    def shape(self, attributes: Attributes) -> tuple[int, ...]:
        """The category counts of some attributes."""
        return tuple(self.domain.shape[j] for j in attributes)

    def size(self, attributes: Attributes) -> int:
        """The number of combinations of some attributes."""
        return math.prod(self.shape(attributes))

    def cells(self, attributes: Attributes) -> npt.NDArray[Any]:
        """Every person's combination of some attributes, `unsigned (n,)`."""
        columns = [self.codes[j] for j in attributes]
        cells = cells_of(columns, self.shape(attributes))
        return np.tile(cells.astype(smallest_unsigned(self.size(attributes))), self.copies)

    def counts(self, attributes: Attributes) -> npt.NDArray[np.int64]:
        """How many people have each combination of some attributes; counted once and kept."""
        if attributes not in self._tables:
            cells = cells_of([self.codes[j] for j in attributes], self.shape(attributes))
            counted = np.bincount(cells, minlength=self.size(attributes)) * self.copies
            counted.flags.writeable = False
            self._tables[attributes] = counted
        return self._tables[attributes]

    def places(self, clusters: Sequence[Sequence[str]]) -> tuple[Attributes, ...]:
        """Clusters of names as clusters of places."""
        return tuple(tuple(self.domain.index(name) for name in names) for names in clusters)


@cache
def adult_population(copies: int = 1) -> Population:
    """The 32,561 records and eight attributes of the paper, `copies` times."""
    domain = adult_domain()
    return Population(domain, tuple(encode(adult(), domain)), copies)
