"""What an estimate answers: the table of some attributes, and a count of people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from mdrr.display import charts, count_html, on_white, table_html
from mdrr.domain import Domain
from mdrr.errors import EstimateError
from mdrr.matrix import Array
from mdrr.query import Query, Term

if TYPE_CHECKING:
    from mdrr.estimation.result import Estimate

_SHOWN = 12
"""Cells of a table in its repr."""

MOST_INTERVALS = 10_000
"""Cells of a table up to which their intervals are computed, one query each."""

RESULTS = ("probability", "low", "high")
"""The columns that stand beside the labels in a frame of a table."""


@dataclass(frozen=True)
class Count:
    """How many people are in a set: the estimate and its interval.

    `value` comes from the estimated distribution. The interval is made from the unbiased
    count. It contains `value` and lies between 0 and n.
    """

    value: float
    low: float
    high: float
    level: float
    n: int

    def _repr_html_(self) -> str:
        return count_html(self)

    @property
    def share(self) -> float:
        """The estimate as a share of all people."""
        return self.value / self.n


@dataclass(frozen=True, eq=False)
class Table:
    """The distribution of some attributes, axes in the order they were asked for."""

    attributes: tuple[str, ...]
    values: Array
    estimate: Estimate = field(repr=False)
    level: float = 0.95

    def __repr__(self) -> str:
        attributes = [self.estimate.domain.attribute(name) for name in self.attributes]
        rows = [
            f"{', '.join(str(a.categories[i]) for a, i in zip(attributes, cell, strict=True))}: "
            f"{self.values[cell]:.4f}"
            for cell in islice(np.ndindex(self.values.shape), _SHOWN)
        ]
        left = self.values.size - len(rows)
        more = [f"… and {left:,} more in .values and .to_frame()"] if left else []
        return "\n  ".join([f"<Table of {' × '.join(self.attributes)}", *rows, *more]) + ">"

    def _repr_html_(self) -> str:
        return table_html(self)

    def plot(self, *, truth: Array | None = None) -> Any:
        """A chart (Altair): one attribute with intervals, or two as a map of shares.

        Arguments:
            truth: the true shares of one attribute in its order, `(r,)`, in a simulation.
        """
        draw = charts()
        if len(self.attributes) == 1:
            return on_white(draw.shares(self, truth=truth))
        if truth is not None:
            raise EstimateError("the truth is drawn for one attribute at a time")
        return on_white(draw.cross_table(self))

    @cached_property
    def _bounds(self) -> tuple[Array, Array]:
        if self.values.size > MOST_INTERVALS:
            raise EstimateError(
                f"a table of {self.values.size:,} cells would need as many intervals (the most is "
                f"{MOST_INTERVALS:,}); ask for .values, a smaller table, or single counts"
            )
        low, high = np.empty(self.values.shape), np.empty(self.values.shape)
        domain = self.estimate.domain
        for cell in np.ndindex(self.values.shape):
            terms = []
            for name, code in zip(self.attributes, cell, strict=True):
                mask = np.zeros(domain.attribute(name).size, dtype=np.bool_)
                mask[code] = True
                terms.append(Term((name,), mask))
            count = self.estimate.count(Query(domain, tuple(terms)), level=self.level)
            low[cell], high[cell] = count.low / count.n, count.high / count.n
        return low, high

    @property
    def low(self) -> Array:
        """The lower ends of the cells' intervals."""
        return self._bounds[0]

    @property
    def high(self) -> Array:
        """The upper ends of the cells' intervals."""
        return self._bounds[1]

    def to_frame(self, backend: str | None = None, *, intervals: bool = False) -> Any:
        """One row per combination: labels and probability, and its interval if asked."""
        refuse_clash(self.attributes, RESULTS if intervals else RESULTS[:1])
        domain = self.estimate.domain
        grids = np.indices(self.values.shape).reshape(len(self.attributes), -1)
        columns: dict[str, Any] = {
            name: labels_of(domain, name, codes)
            for name, codes in zip(self.attributes, grids, strict=True)
        }
        columns["probability"] = self.values.ravel()
        if intervals:
            columns["low"], columns["high"] = self.low.ravel(), self.high.ravel()
        return self.estimate.frame(columns, backend)


def refuse_clash(names: Sequence[str], columns: Sequence[str]) -> None:
    """Refuse a frame in which a column of results would replace an attribute's labels."""
    for name in names:
        if name in columns:
            raise EstimateError(
                f"the attribute {name!r} has the name of a column of results. Read the numbers "
                "from .values, .low and .high of a table or, with mdrr estimate, write a .json file"
            )


def labels_of(domain: Domain, name: str, codes: Any) -> Any:
    """The labels of some codes of one attribute, as an array of its labels' type."""
    attribute = domain.attribute(name)
    kind = type(attribute.categories[0])
    dtype = {str: object, int: np.int64, bool: np.bool_}[kind]
    return np.array(attribute.categories, dtype=dtype)[codes]


def labelled(domain: Domain, columns: list[Any]) -> dict[str, Any]:
    """Code columns of the whole domain as label columns by name."""
    return {
        name: labels_of(domain, name, codes)
        for name, codes in zip(domain.names, columns, strict=True)
    }
