"""The dependence of every pair of attributes, and how sure it is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import combinations
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from mdrr.columns import make_frame
from mdrr.dependence.association import Measure
from mdrr.display import ROWS, charts, dependences_html, on_white
from mdrr.errors import SchemaError
from mdrr.matrix import Array

LEVEL = 0.95


@dataclass(frozen=True, eq=False)
class Dependences:
    """The dependence of every pair of attributes, and how sure it is.

    Arguments:
        names: the attributes.
        values: `(m, m)`, symmetric. Between 0 and 1, with 1 on the diagonal; covariances are not
            negative, with variances on the diagonal.
        margins: every attribute's own distribution, if it was learnt with them; plans use it.
        low: `(m, m)`, where each pair's interval starts; None if the values are exact.
        high: `(m, m)`, where it ends.
        level: the probability that an interval covers the true value.
        measure: `auto` (|r| of ordered pairs, V of others), `cramers_v`, `pearson`, `covariance`.
        clear: `(m, m)`, which pairs can be told from 0, all pairs considered; None takes every
            pair whose interval excludes 0.
        library: of the frame in which the reports came; `to_frame` gives such a frame.

    Example:
        >>> found = Dependences(("a", "b"), np.array([[1, 0.3], [0.3, 1]]))
        >>> found["b", "a"], found.ranked()
        (0.3, [('a', 'b', 0.3)])
    """

    names: tuple[str, ...]
    values: Array
    margins: tuple[Array, ...] | None = None
    low: Array | None = None
    high: Array | None = None
    level: float = LEVEL
    measure: Measure = "auto"
    clear: npt.NDArray[np.bool_] | None = None
    library: str | None = None

    def __post_init__(self) -> None:
        if self.measure not in get_args(Measure):
            raise SchemaError(f"measure={self.measure!r} is not one of {get_args(Measure)}")
        if not 0 < self.level < 1:
            raise SchemaError(f"level={self.level}: a probability lies strictly between 0 and 1")
        for field in ("values", "low", "high"):
            if getattr(self, field) is not None:
                object.__setattr__(self, field, self._square(getattr(self, field)))
        if (self.low is None) != (self.high is None):
            raise SchemaError("an interval has two ends: give low and high, or neither")
        if self.low is not None and self.high is not None:
            slack = 1e-9 * (1 + self.values)
            if (self.low > self.values + slack).any() or (self.values > self.high + slack).any():
                raise SchemaError("a dependence lies inside its interval, from low to high")
        if self.clear is not None:
            object.__setattr__(self, "clear", self._told(self.clear))
        if self.margins is not None:
            object.__setattr__(self, "margins", _checked(self.margins, self.names))

    def __repr__(self) -> str:
        rows = [f"{a} · {b}: {value:.3f}" for a, b, value in self.ranked()]
        left = len(rows) - ROWS
        more = [f"… and {left:,} more in .to_frame()"] if left > 0 else []
        head = f"Dependences of {len(self.names)} attributes, the strongest first"
        return "\n  ".join([f"<{head}", *rows[:ROWS], *more]) + ">"

    def _repr_html_(self) -> str:
        return dependences_html(self)

    def _square(self, given: npt.ArrayLike) -> Array:
        try:
            values = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError):
            raise SchemaError("dependences are numbers; some of these are not") from None
        if values.shape != (len(self.names),) * 2:
            raise SchemaError(f"{len(self.names)} attributes need as many rows and columns")
        most = math.inf if self.measure == "covariance" else 1 + 1e-12
        if not np.isfinite(values).all() or (values < 0).any() or (values > most).any():
            raise SchemaError(
                "a covariance is taken without its sign: finite, not negative"
                if self.measure == "covariance"
                else "a dependence lies between 0 and 1"
            )
        if not np.array_equal(values, values.T):
            raise SchemaError("dependences are symmetric")
        return values

    def _told(self, given: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        clear = np.asarray(given)
        if clear.dtype != np.bool_ or clear.shape != self.values.shape or (clear != clear.T).any():
            raise SchemaError("clear is true or false for every pair, the same in either order")
        if self.low is None or (clear & (self.low <= 0)).any():
            raise SchemaError("a pair is told from 0 only if its interval excludes 0")
        return clear

    def __getitem__(self, pair: tuple[str, str]) -> float:
        return float(self.values[self._at(pair)])

    def _at(self, pair: tuple[str, str]) -> tuple[int, int]:
        if not set(pair) <= set(self.names):
            raise SchemaError(f"no dependence is known between {pair[0]!r} and {pair[1]!r}")
        return self.names.index(pair[0]), self.names.index(pair[1])

    def interval(self, first: str, second: str) -> tuple[float, float] | None:
        """What the dependence of two attributes may be at `level`; None if it is exact."""
        at = self._at((first, second))
        if self.low is None or self.high is None:
            return None
        return float(self.low[at]), float(self.high[at])

    def is_clear(self, first: str, second: str) -> bool:
        """Whether the dependence can be told from 0, among all pairs that were looked at.

        Of the pairs told from 0, a share of at most (1 − level)/2 is expected to be independent:
        2.5 % at level 0.95 (Benjamini & Hochberg 1995). Each interval is for its own pair, so
        some exclude 0 by chance where there are many. Exact dependences are always clear.
        """
        if self.clear is not None:
            return bool(self.clear[self._at((first, second))])
        found = self.interval(first, second)
        return found is None or found[0] > 0

    def ranked(self) -> list[tuple[str, str, float]]:
        """All pairs, the strongest first; last, in their order, what cannot be told from 0."""
        pairs = [(a, b, self[a, b]) for a, b in combinations(self.names, 2)]
        return sorted(pairs, key=lambda pair: -pair[2] if self.is_clear(*pair[:2]) else 1.0)

    def plot(self, *, clusters: Sequence[Sequence[str]] = ()) -> Any:
        """A map (Altair) of all pairs, darker where stronger; clusters are framed."""
        return on_white(charts().heat_map(self, clusters=clusters))

    def to_frame(self, backend: str | None = None) -> Any:
        """One row per pair, in the order of `ranked`; with `low` and `high` unless exact."""
        names = ["first", "second", "dependence", *(() if self.low is None else ("low", "high"))]
        rows = [(*row, *(self.interval(*row[:2]) or ())) for row in self.ranked()]
        columns = {name: [row[k] for row in rows] for k, name in enumerate(names)}
        return make_frame(columns, backend or self.library)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready values; `from_dict` reads them."""

        def plain(value: Any) -> Any:
            if isinstance(value, np.ndarray):
                return value.tolist()
            return [plain(each) for each in value] if isinstance(value, tuple) else value

        kept = [field.name for field in fields(self) if field.name != "library"]
        return {name: plain(getattr(self, name)) for name in kept}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Dependences:
        """The dependences described by `to_dict`, validated again; other keys are ignored."""
        known = ("margins", "low", "high", "level", "measure", "clear")
        try:
            names = tuple(given["names"])
            if not all(isinstance(name, str) for name in names):
                raise TypeError
            return cls(names, given["values"], **{k: given[k] for k in known if k in given})
        except (KeyError, TypeError):
            raise SchemaError("not dependences: 'names' and 'values' are needed") from None


def _checked(margins: Sequence[npt.ArrayLike], names: Sequence[str]) -> tuple[Array, ...]:
    if not isinstance(margins, Sequence) or len(margins) != len(names):
        raise SchemaError(f"{len(names)} attributes have as many margins, in a list")
    found = []
    for name, margin in zip(names, margins, strict=True):
        try:
            shares = np.asarray(margin, dtype=np.float64)
        except (TypeError, ValueError):
            shares = np.zeros(0)
        if shares.ndim != 1 or not (shares >= 0).all() or not abs(shares.sum() - 1) <= 1e-6:
            raise SchemaError(f"the margin of {name!r} is not a list of shares that sum to 1")
        found.append(shares / shares.sum())
    return tuple(found)
