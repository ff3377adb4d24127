"""What all pairs have in common: a few axes learnt from every two-way table at once.

A pair's table is m_a m_bᵀ + Δ_ab, its margins' product and an interaction. In a mixture of products
Δ_ab = Σ_z w_z (θ_za − m_a)(θ_zb − m_b)ᵀ, so all interactions share their factors: Δ_ab = F_a F_bᵀ.
That is joint correspondence analysis (Greenacre 1988), here of unbiased tables with noise of known
size. One pair alone would say nothing where all of them together speak. F is looked for in two
ways, by a fit and by draws, and what they say of a pair is averaged: the fit is bolder where every
attribute is related to every other, the draws where few are, and their errors differ. Draws may
miss what rare categories have in common; a pair that they leave much less likely is the fit's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from mdrr.design import Design
from mdrr.domain import Domain
from mdrr.errors import EstimateError, MdrrError, whole
from mdrr.estimation.axes import LEAST, Axes, Interactions, gain_of
from mdrr.estimation.axes_draw import draw_axes
from mdrr.estimation.axes_fit import fit_axes
from mdrr.estimation.joint import Factor, ProductJoint
from mdrr.estimation.margins import one_way
from mdrr.estimation.pairwise import UnbiasedSpread
from mdrr.estimation.product import product
from mdrr.estimation.result import Estimate
from mdrr.estimation.tabled import TabledJoint, fit_margins, fit_pairs
from mdrr.estimation.unbiased import Unbiased, unbiased
from mdrr.matrix import Array
from mdrr.tallies import Tally

MOST_CATEGORIES = 4096

_MISSED = 10.0
"""Nats by which reports of a pair are likelier with the fit before the draws are not believed."""


def correspondence(tally: Tally, design: Design, *, axes: int = 8, seed: int = 0) -> Estimate:
    """Estimate every pair from axes that all pairs share, and wider tables from their pairs.

    Arguments:
        tally: the reports.
        design: how they were made.
        axes: at most how many are fitted, what noise explains vanishing; twice as many are drawn.
        seed: for the draws.

    Returns:
        An estimate whose pairs are nearly products where nothing else can be seen; intervals are
        those of the unbiased counts. Its notes say how many axes the fit kept after how many
        passes, and how often axes were drawn.
    """
    tally.check(design)
    if not tally.n:
        raise EstimateError("the tally is empty: there are no reports to estimate from")
    axes, seed = whole("axes", axes, 1, EstimateError), whole("seed", seed, 0, EstimateError)
    margins = one_way(tally, design)
    seen = interactions(tally, design, margins)
    fitted = fit_axes(seen, margins, axes)
    drawn = draw_axes(seen, margins, 2 * axes, seed=seed)
    missed = gain_of(fitted, seen) - gain_of(drawn, seen) > _MISSED
    tables = AxesTables(design.domain, margins, fitted, drawn, np.where(missed, 0.0, 0.5))
    factors = tuple(Factor((n,), m) for n, m in zip(design.domain.names, margins, strict=True))
    base = ProductJoint(design.domain, factors)
    return Estimate(
        domain=design.domain,
        n=tally.n,
        method="correspondence",
        joint=TabledJoint(design.domain, base, tables),
        spread=UnbiasedSpread(tally, design, product(tally, design).spread),
        notes={"axes": fitted.kept, "passes": fitted.passes, "sweeps": drawn.passes},
    )


def interactions(tally: Tally, design: Design, margins: Sequence[Array]) -> Interactions:
    """The part of every unbiased pair table that is neither margin's, and its noise."""
    starts = tuple(int(at) for at in np.cumsum([0, *(len(m) for m in margins)]))
    if starts[-1] > MOST_CATEGORIES:
        raise EstimateError(
            f"the attributes have {starts[-1]:,} categories in all, too many for a correspondence "
            f"analysis (at most {MOST_CATEGORIES:,}); use method='latent'"
        )
    values = np.zeros((starts[-1], starts[-1]))
    precision = np.zeros((len(margins), len(margins)))
    for i, j in combinations(range(len(margins)), 2):
        found = _pair(tally, design, (design.domain.names[i], design.domain.names[j]))
        if found is None or min(len(margins[i]), len(margins[j])) < 2:
            continue
        table = found.values - np.outer(margins[i], margins[j])
        table = table - table.mean(axis=0, keepdims=True)
        table = table - table.mean(axis=1, keepdims=True)
        told = 1 / max(_noise(found), LEAST)
        values[starts[i] : starts[i + 1], starts[j] : starts[j + 1]] = table * told
        precision[i, j] = told
    return Interactions(values + values.T, precision + precision.T, starts)


def _pair(tally: Tally, design: Design, names: tuple[str, str]) -> Unbiased | None:
    try:
        return unbiased(tally, design, names)
    except MdrrError:  # too many cells for a table
        return None


def _noise(found: Unbiased) -> float:
    """The variance of one interaction: the table's, less that of its rows' and columns' sums."""
    rows, columns = found.values.shape
    total = float(found.variances().sum())
    for axis, others in ((0, columns), (1, rows)):
        total -= float(found.margin_variances(axis).sum()) / others
    return float(total / ((rows - 1) * (columns - 1)))


@dataclass(frozen=True, eq=False)
class AxesTables:
    """Makes tables of margins and axes: pairs m mᵀ + Δ made proper, wider ones of pairs.

    Δ is between what two sets of axes say; `share` has every pair's weight of the second.
    """

    domain: Domain
    margins: Sequence[Array]
    fitted: Axes
    drawn: Axes
    share: Array

    def table(self, names: tuple[str, ...], /) -> Array:
        """The table of some attributes; the least informative one that has its pairs."""
        at = [self.domain.index(name) for name in names]
        table: Array = np.ones(())
        for j in at:
            table = np.multiply.outer(table, self.margins[j])
        if len(at) < 2:
            return table
        pairs = {(i, j): self._pair(at[i], at[j]) for i, j in combinations(range(len(at)), 2)}
        return pairs[0, 1] if len(at) == 2 else fit_pairs(table, pairs)

    def _pair(self, first: int, second: int) -> Array:
        margins = [self.margins[first], self.margins[second]]
        share = self.share[first, second]
        fitted, drawn = (axes.interaction(first, second) for axes in (self.fitted, self.drawn))
        table = np.outer(*margins) + (1 - share) * fitted + share * drawn
        return fit_margins(np.maximum(table, 0.0), margins)
