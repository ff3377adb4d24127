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
through a banded matrix stay the model's, which is fitted to their likelihood, and those of public
attributes alone are known and not looked at. What is believed is
b² = e − T²/e, at most what can be: no cell is larger than its categories' shares, so that
|true|² ≤ |m_j|² for every margin m_j, and b² ≤ min |m_j|² + |l|².
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import chdtrc, chdtri

from mdrr.estimation.evidence import Evidence, Names, Tables, is_banded
from mdrr.estimation.project import nearest, nearest_rows
from mdrr.estimation.raking import fit_margins, margin_of
from mdrr.estimation.unbiased import Unbiased
from mdrr.matrix import Array

_FALSE = 0.1
"""The share of chance among the tables whose model is taken for wrong."""


@dataclass(frozen=True, eq=False)
class Gap:
    """What lies between a model's table and the unbiased one, and how much of it may be noise."""

    model: Array
    found: Unbiased

    @cached_property
    def noise(self) -> float:
        """V."""
        return float(self.found.variances().sum())

    @cached_property
    def square(self) -> float:
        """|u − l|²."""
        return float(((self.found.values - self.model) ** 2).sum())

    @property
    def chance(self) -> float:
        """How likely noise alone makes so large a distance."""
        if not self.noise > 0:
            return 0.0 if self.square > 0 else 1.0
        return float(chdtrc(self._freedom, self.square / self.noise * self._freedom))

    def weight(self, level: float) -> float:
        """ω, if an excess is believed where noise alone reaches it with this probability."""
        excess = self.square - self.noise
        reach = self.noise * (float(chdtri(self._freedom, level)) / self._freedom - 1)
        if excess <= max(reach, 0.0):
            return 0.0
        sure = min(excess - reach**2 / excess, self._most)
        return max(sure / (sure + self.noise), 0.0)

    @property
    def _most(self) -> float:
        """The largest squared error that a table of these margins can have."""
        margins = [margin_of(self.model, axis) for axis in range(self.model.ndim)]
        return float(min((m**2).sum() for m in margins) + (self.model**2).sum())

    @cached_property
    def _freedom(self) -> float:
        directions = float(math.prod(max(size - 1, 1) for size in self.model.shape))
        return max(directions * self.found.evenness, 1.0)


@dataclass(frozen=True, eq=False)
class Assisted:
    """Tables between a model's and the unbiased ones; `weights` are ω, the latter's shares."""

    tables: Tables
    weights: Mapping[Names, float]


def assisted(model: Tables, evidence: Evidence) -> Assisted:
    """Draw a model's proper tables towards the unbiased ones: singles, then pairs with them."""
    tables: dict[Names, Array] = {}
    weights: dict[Names, float] = {}
    for width in (1, 2):
        starts: dict[Names, Array] = {}
        for names, table in model.items():
            if len(names) == width:
                parts = [(name,) for name in names] if width > 1 else []
                moved = any(weights[part] for part in parts)
                starts[names] = (
                    fit_margins(table, [tables[part] for part in parts]) if moved else table
                )
        gaps = {
            names: Gap(table, found)
            for names, table in starts.items()
            if (found := evidence.table(names)) is not None
            and not (found.exact or is_banded(found))
        }
        level = discoveries([gap.chance for gap in gaps.values()], _FALSE)
        for names, table in starts.items():
            weights[names] = gaps[names].weight(level) if names in gaps else 0.0
            tables[names] = table
            if weights[names]:
                away = gaps[names].found.values - table
                margins = [tables[(name,)] for name in names] if width > 1 else []
                drawn = proper(table + weights[names] * away, names, margins, evidence)
                tables[names] = fit_margins(drawn, margins) if width > 1 else drawn
    return Assisted(tables, weights)


def proper(values: Array, names: Names, margins: Sequence[Array], evidence: Evidence) -> Array:
    """The nearest distribution; within each category of a public attribute, whose share is known.

    So what is rare there is not lost in the noise of what is frequent elsewhere.
    """
    known = [name in evidence.design.domain.public for name in names]
    if known == [True, False]:
        return nearest_rows(values, margins[0])
    return nearest_rows(values.T, margins[1]).T if known == [False, True] else nearest(values)


def mixed(parts: Sequence[Tables], alone: Array, pairs: Array) -> Tables:
    """The tables of several models mixed by their shares in single attributes and in pairs.

    Pairs are made to agree with the mixed single attributes.
    """
    found: dict[Names, Array] = {}
    for key in sorted(parts[0], key=len):
        shares = alone if len(key) == 1 else pairs
        each = zip(shares, parts, strict=True)
        found[key] = np.asarray(sum(share * tables[key] for share, tables in each))
        if len(key) > 1:
            found[key] = fit_margins(found[key], [found[(name,)] for name in key])
    return found


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
