"""Model and design together: each table is drawn from a model towards its unbiased estimate.

Survey statisticians call it model-assisted estimation. The unbiased table u of some attributes has
a known variance V (summed over its cells) and no bias; a model's table l varies little but may be
wrong. What |u − l|² exceeds the reach of u's own noise by, b² = |u − l|² − V(1 + 2√(2/df)), is the
model's error, and ω = b²/(b² + V) the weight that trades the two: l + ω(u − l) is the model where
reports are noisy and the unbiased table where they are nearly exact. An error b² larger than |l|²
is not believed: reports so noisy would be taken for it now and then.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from mdrr.design import Design
from mdrr.errors import MdrrError
from mdrr.estimation.joint import Joint
from mdrr.estimation.project import nearest
from mdrr.estimation.tabled import fit_margins
from mdrr.estimation.unbiased import Unbiased, unbiased
from mdrr.matrix import Array
from mdrr.tallies import Tally

_REACH = 2.0
"""How many standard deviations of |noise|² are not taken for the model's error in a joint table; of
a single attribute the unbiased estimate is seldom far off, and none are forgiven."""


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

    def table(self, names: tuple[str, ...], /) -> Array:
        """The table of some attributes."""
        return self.shrunk(names).values

    def shrunk(self, names: Sequence[str]) -> Shrunk:
        """The table of some attributes in the domain's order, and how it came about."""
        key = tuple(sorted(names, key=self.design.domain.index))
        if key not in self._known:
            self._known[key] = self._shrink(key)
        return self._known[key]

    def _shrink(self, names: tuple[str, ...]) -> Shrunk:
        model = self.base.table(names)
        parts = [self.shrunk((name,)) for name in names] if len(names) > 1 else []
        margins = [part.values for part in parts]
        if any(part.weight for part in parts):
            model = fit_margins(model, margins)
        found = self._unbiased(names)
        if found is None:
            return Shrunk(model, 0.0, None)
        values = found.values
        noise = float(found.variances().sum())
        gap = float(((values - model) ** 2).sum())
        freedom = math.prod(max(size - 1, 1) for size in values.shape)
        wobble = noise * math.sqrt(2 / freedom)
        reach = _REACH if len(names) > 1 else 0.0
        sure = min(max(0.0, gap - noise - reach * wobble), float((model**2).sum()))
        weight = sure / (sure + noise) if sure > 0 else 0.0
        if not weight:
            return Shrunk(model, 0.0, found)
        drawn = nearest(model + weight * (values - model))
        if margins:
            drawn = fit_margins(drawn, margins)
        return Shrunk(drawn, weight, found)

    def _unbiased(self, names: tuple[str, ...]) -> Unbiased | None:
        try:
            return unbiased(self.tally, self.design, names)
        except MdrrError:  # too many cells for a table: the model alone answers
            return None


def typical_weight(shrinker: Shrinker, pairs: Sequence[tuple[str, str]]) -> float:
    """The mean ω of some two-way tables: how far the reports speak for themselves."""
    return float(np.mean([shrinker.shrunk(pair).weight for pair in pairs])) if pairs else 1.0
