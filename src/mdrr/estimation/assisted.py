"""Model and design together: each table is drawn from a model towards its unbiased estimate.

Survey statisticians call it model-assisted estimation. The unbiased table u of some attributes has
a known variance V (summed over its cells) and no bias; a model's table l varies little but may be
wrong. What |u − l|² exceeds V by is the model's error b², and ω = b²/(b² + V) the weight that
trades the two: l + ω(u − l) is the model where reports are noisy and the unbiased table where they
are nearly exact.

Of many tables some exceed V by chance. With no model error |u − l|² is V·χ²/df (of fewer degrees of
freedom where noise is large in few directions, as after banded matrices), and an excess e is
believed if it is beyond T, the one such that of the tables believed a tenth are expected to be
chance (Benjamini & Hochberg 1995): few stand out of noisy reports and T is strict, most do where
reports are nearly exact and T is lax. Single attributes have a T of their own; those reported
through a banded matrix stay the model's, which is fitted to their likelihood. What is believed is
b² = e − T²/e, at most what can be: no cell is larger than its categories' shares, so that
|true|² ≤ |m_j|² for every margin m_j, and b² ≤ min |m_j|² + |l|².
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations

import numpy as np
from scipy.special import chdtrc, chdtri

from mdrr.design import Design
from mdrr.domain import Domain
from mdrr.errors import MdrrError
from mdrr.estimation.joint import Joint
from mdrr.estimation.margins import is_banded
from mdrr.estimation.project import nearest
from mdrr.estimation.tabled import fit_margins, margin_of, small
from mdrr.estimation.unbiased import Unbiased, unbiased
from mdrr.matrix import Array
from mdrr.tallies import Tally

_FALSE = 0.1
"""The share of chance among the tables whose model is taken for wrong."""


@dataclass(frozen=True, eq=False)
class Gap:
    """What lies between a model's table and the unbiased one, and how much of it may be noise."""

    model: Array
    margins: list[Array]
    unbiased: Unbiased | None
    square: float = 0.0
    noise: float = 0.0

    @property
    def excess(self) -> float:
        """What the squared distance exceeds the noise by."""
        return self.square - self.noise

    @property
    def chance(self) -> float:
        """How likely noise alone makes so large a distance."""
        if not self.noise > 0:
            return 0.0 if self.square > 0 else 1.0
        return float(chdtrc(self._freedom, self.square / self.noise * self._freedom))

    def reach(self, level: float) -> float:
        """The excess that noise alone reaches with some probability."""
        return self.noise * (float(chdtri(self._freedom, level)) / self._freedom - 1)

    @property
    def most(self) -> float:
        """The largest squared error that a table of these margins can have."""
        margins = [margin_of(self.model, axis) for axis in range(self.model.ndim)]
        return float(min((m**2).sum() for m in margins) + (self.model**2).sum())

    @cached_property
    def _freedom(self) -> float:
        directions = float(math.prod(max(size - 1, 1) for size in self.model.shape))
        even = 1.0 if self.unbiased is None else self.unbiased.evenness
        return max(directions * even, 1.0)


@dataclass(frozen=True, eq=False)
class Shrunk:
    """A table between model and unbiased estimate.

    `weight` is ω, the unbiased one's share.
    """

    values: Array
    weight: float
    unbiased: Unbiased | None


@dataclass(frozen=True, eq=False)
class Shrinker:
    """Makes tables between a model's and the unbiased ones, with the model's one-way margins.

    Arguments:
        base: the model, a proper joint distribution.
        tally: the reports.
        design: how they were made.
    """

    base: Joint
    tally: Tally
    design: Design
    _known: dict[tuple[str, ...], Shrunk] = field(default_factory=dict, repr=False)
    _gaps: dict[tuple[str, ...], Gap] = field(default_factory=dict, repr=False)

    def table(self, names: tuple[str, ...], /) -> Array:
        """The table of some attributes."""
        return self.shrunk(names).values

    def shrunk(self, names: Sequence[str]) -> Shrunk:
        """The table of some attributes in the domain's order, and how it came about."""
        key = tuple(sorted(names, key=self.design.domain.index))
        if key not in self._known:
            self._known[key] = self._shrink(key)
        return self._known[key]

    @cached_property
    def level(self) -> float:
        """How unlikely by chance a joint table's excess has to be for it to be believed."""
        return self._level(some_pairs(self.design.domain))

    @cached_property
    def alone(self) -> float:
        """How unlikely a single attribute's has to be."""
        return self._level([(name,) for name in self.design.domain.names])

    def _level(self, tables: Sequence[tuple[str, ...]]) -> float:
        gaps = [self._gap(names) for names in tables]
        return discoveries([gap.chance for gap in gaps if gap.unbiased is not None], _FALSE)

    def _shrink(self, names: tuple[str, ...]) -> Shrunk:
        gap = self._gap(names)
        model, found, excess = gap.model, gap.unbiased, gap.excess
        if found is None or excess <= 0 or is_banded(found):
            return Shrunk(model, 0.0, found)
        reach = gap.reach(self.level if len(names) > 1 else self.alone)
        sure = min(excess - reach**2 / excess, gap.most) if excess > reach else 0.0
        if not sure > 0:
            return Shrunk(model, 0.0, found)
        weight = sure / (sure + gap.noise)
        drawn = nearest(model + weight * (found.values - model))
        if gap.margins:
            drawn = fit_margins(drawn, gap.margins)
        return Shrunk(drawn, weight, found)

    def _gap(self, names: tuple[str, ...]) -> Gap:
        if names not in self._gaps:
            self._gaps[names] = self._compared(names)
        return self._gaps[names]

    def _compared(self, names: tuple[str, ...]) -> Gap:
        model = self.base.table(names)
        parts = [self.shrunk((name,)) for name in names] if len(names) > 1 else []
        margins = [part.values for part in parts]
        if any(part.weight for part in parts):
            model = fit_margins(model, margins)
        found = self._unbiased(names)
        if found is None:
            return Gap(model, margins, None)
        square = float(((found.values - model) ** 2).sum())
        return Gap(model, margins, found, square, float(found.variances().sum()))

    def _unbiased(self, names: tuple[str, ...]) -> Unbiased | None:
        try:
            return unbiased(self.tally, self.design, names)
        except MdrrError:  # too many cells for a table: the model alone answers
            return None


def some_pairs(domain: Domain, most: int = 100) -> list[tuple[str, str]]:
    """All pairs of attributes that fit a table; of many, some evenly spread over them.

    >>> from mdrr.domain import Attribute
    >>> many = Domain(tuple(Attribute(f"a{i}", ("x", "y")) for i in range(30)))
    >>> pairs = some_pairs(many)
    >>> len(pairs), len({name for pair in pairs for name in pair})
    (100, 30)
    """
    pairs = [pair for pair in combinations(domain.names, 2) if small(pair, domain)]
    if len(pairs) <= most:
        return pairs
    return [pairs[at] for at in np.linspace(0, len(pairs) - 1, most).astype(np.int64)]


def discoveries(chances: Sequence[float], false: float) -> float:
    """The largest chance to believe, so that of what is believed a share at most is false.

    With k of T chances up to α, and α·T of them expected of noise alone, α = k·false/T is the
    largest that holds itself up; false/T where none does.

    >>> discoveries([0.001, 0.9, 0.004, 0.3], 0.1), discoveries([0.2, 0.9], 0.1)
    (0.05, 0.05)
    """
    steps = np.arange(1, len(chances) + 1) * false / max(len(chances), 1)
    held = np.flatnonzero(np.sort(chances) <= steps)
    return float(steps[held[-1]]) if held.size else false / max(len(chances), 1)


def typical_weight(shrinker: Shrinker, pairs: Sequence[tuple[str, str]]) -> float:
    """The mean ω of some two-way tables: how far the reports speak for themselves.

    Where there are none, that of the single attributes.
    """
    single = [(name,) for name in shrinker.design.domain.names]
    return float(np.mean([shrinker.shrunk(names).weight for names in pairs or single]))
