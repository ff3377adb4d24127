"""The people of a data set: true records as codes, over a declared domain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

import mdrr
from mdrr.randomizer import cells_of


@dataclass(frozen=True, eq=False)
class People:
    """True records as codes, one column per attribute, and where they come from."""

    name: str
    domain: mdrr.Domain
    codes: tuple[np.ndarray, ...]
    about: str

    @cached_property
    def n(self) -> int:
        return len(self.codes[0])

    def some(self, places: np.ndarray) -> People:
        """Those in some places."""
        return replace(self, codes=tuple(column[places] for column in self.codes))

    def table(self, names: Sequence[str]) -> np.ndarray:
        """The true shares of the combinations of some attributes."""
        at = [self.domain.index(name) for name in names]
        shape = [self.domain.shape[j] for j in at]
        cells = cells_of([self.codes[j] for j in at], shape)
        return np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape) / self.n


def coded(name: str, columns: dict[str, np.ndarray], sizes: dict[str, int], about: str) -> People:
    """People from a column of codes per attribute; its categories are called c0, c1, …"""
    attributes = tuple(
        mdrr.Attribute(key, tuple(f"c{i}" for i in range(size))) for key, size in sizes.items()
    )
    codes = tuple(np.asarray(columns[key]).astype(np.int64) for key in sizes)
    return People(name, mdrr.Domain(attributes), codes, about)
