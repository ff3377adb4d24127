"""What all pairs have in common: a few axes learnt from every two-way table at once.

A pair's table is m_a m_bᵀ + Δ_ab, its margins' product and an interaction. In a mixture of products
Δ_ab = Σ_z w_z (θ_za − m_a)(θ_zb − m_b)ᵀ, so all interactions share their factors: Δ_ab = F_a F_bᵀ.
That is joint correspondence analysis (Greenacre 1988), here of unbiased tables with noise of known
size: F_a(x, k) ~ N(0, m_a(x)²·g_k) and u_ab = m_a m_bᵀ + F_a F_bᵀ + noise(v_ab). Variational Bayes
finds F, and the g_k of an axis that the noise explains as well falls to nothing by itself (MacKay
1994; Bishop 1999). One pair alone would say nothing where all of them together speak. What is left
of an interaction is drawn back to zero by half of its own variance v over its square, Δ(1 − v/2Δ²):
the mean-field variance is too small, and a little noise in every cell costs more than it brings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from mdrr.design import Design
from mdrr.domain import Domain
from mdrr.errors import EstimateError, MdrrError, whole
from mdrr.estimation.joint import Factor, ProductJoint
from mdrr.estimation.latent import one_way
from mdrr.estimation.pairwise import UnbiasedSpread
from mdrr.estimation.product import product
from mdrr.estimation.result import Estimate
from mdrr.estimation.tabled import TabledJoint, fit_margins, fit_pairs
from mdrr.estimation.unbiased import Unbiased, unbiased
from mdrr.matrix import Array
from mdrr.tallies import Tally

MOST_CATEGORIES = 4096
_BACK = 0.5
"""How much of its own variance an interaction is drawn back by: of 0, ½ and 1 the best on most of
the benchmark's data sets that are not held out, and not on the one where every pair is related."""
_LEAST = 1e-12
_MOST = 1.0
"""Of g: an axis with g has canonical correlations of about g, and no correlation exceeds 1."""


def correspondence(tally: Tally, design: Design, *, axes: int = 8) -> Estimate:
    """Estimate every pair from axes that all pairs share, and wider tables from their pairs.

    Arguments:
        tally: the reports.
        design: how they were made.
        axes: at most how many; those that noise explains as well vanish.

    Returns:
        An estimate whose pairs are products where nothing else can be seen; intervals are those of
        the unbiased counts.
    """
    tally.check(design)
    if not tally.n:
        raise EstimateError("the tally is empty: there are no reports to estimate from")
    axes = whole("axes", axes, 1, EstimateError)
    margins = one_way(tally, design)
    found = fit_axes(interactions(tally, design, margins), margins, axes)
    factors = tuple(Factor((n,), m) for n, m in zip(design.domain.names, margins, strict=True))
    base = ProductJoint(design.domain, factors)
    return Estimate(
        domain=design.domain,
        n=tally.n,
        method="correspondence",
        joint=TabledJoint(design.domain, base, AxesTables(design.domain, margins, found)),
        spread=UnbiasedSpread(tally, design, product(tally, design).spread),
        notes={"axes": found.kept, "passes": found.passes},
    )


@dataclass(frozen=True, eq=False)
class Interactions:
    """Unbiased interactions of all pairs as one symmetric matrix, a block per pair.

    Arguments:
        values: Δ of every pair divided by v, zero where nobody reported both.
        precision: 1/v of every pair of attributes, zero likewise; v is the variance of one
            interaction, of which a pair has (r−1)(s−1).
        starts: where each attribute's rows begin, and the end.
    """

    values: Array
    precision: Array
    starts: tuple[int, ...]


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
        told = 1 / max(_noise(found), _LEAST)
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
class Axes:
    """Loadings F, one `(r, k)` array per attribute, and what of a pair's F_a F_bᵀ to believe.

    `kept` counts the axes that did not vanish, `passes` those over the attributes.
    """

    loadings: tuple[Array, ...]
    trust: Array
    kept: int
    passes: int


def fit_axes(
    seen: Interactions,
    margins: Sequence[Array],
    axes: int,
    *,
    passes: int = 500,
    tolerance: float = 1e-6,
) -> Axes:
    """Variational Bayes for F, attribute by attribute.

    F_a(x) has the covariance S_a(x) = (Σ_b E[F_bᵀF_b]/v_ab + diag(1/(m_a(x)² g)))⁻¹ and the mean
    S_a(x)·Σ_b F_bᵀ Δ_ab(x)/v_ab; then g_k is the mean of E[F(x, k)²]/m(x)², over the Σ(r − 1)
    categories that are free. Rows and columns of an interaction sum to zero, so that in these
    expectations only (r − 1)/r of S_a counts.
    """
    flat = np.concatenate(margins)
    start = _start(seen, flat, axes)
    size = start.shape[1]
    parts = [slice(a, b) for a, b in zip(seen.starts[:-1], seen.starts[1:], strict=True)]
    free = sum(len(m) - 1 for m in margins)
    if not size or not free:
        none = np.zeros((len(margins), len(margins)))
        return Axes(tuple(np.zeros((len(m), 0)) for m in margins), none, 0, 0)
    loadings, squares = start, np.zeros((len(flat), size))
    moments = np.stack([loadings[part].T @ loadings[part] for part in parts])
    unsure = np.zeros_like(moments)
    scales = np.clip((loadings**2 / flat[:, None] ** 2).sum(axis=0) / free, _LEAST, _MOST)
    done, moved = 0, np.inf
    while done < passes and moved >= tolerance:
        before, done = loadings.copy(), done + 1
        for a, part in enumerate(parts):
            told = np.tensordot(seen.precision[a], moments, axes=1)
            root = np.sqrt(scales) * margins[a][:, None]
            spread = np.linalg.inv(np.eye(size) + root[:, :, None] * told * root[:, None, :])
            spread *= root[:, :, None] * root[:, None, :]
            drawn = seen.values[part] @ loadings
            loadings[part] = np.einsum("xkl,xl->xk", spread, drawn)
            spread *= (len(root) - 1) / len(root)
            squares[part] = loadings[part] ** 2 + np.einsum("xkk->xk", spread)
            unsure[a] = spread.sum(axis=0)
            moments[a] = loadings[part].T @ loadings[part] + unsure[a]
        scales = np.clip((squares / flat[:, None] ** 2).sum(axis=0) / free, _LEAST, _MOST)
        moved = float(np.abs(loadings - before).max())
    kept = int((np.abs(loadings).max(axis=0) > 10 * tolerance).sum())
    centred = tuple(loadings[part] - loadings[part].mean(axis=0) for part in parts)
    return Axes(centred, _trust(centred, moments, unsure), kept, done)


def _trust(loadings: Sequence[Array], moments: Array, unsure: Array) -> Array:
    """1 − v/2Δ² of every pair, at least 0; v = E|F_a F_bᵀ|² − |E F_a E F_bᵀ|²."""
    sizes = np.stack([table.T @ table for table in loadings])
    squared = np.einsum("akl,blk->ab", sizes, sizes)
    fixed = moments - unsure
    variance = np.einsum("akl,blk->ab", moments, moments) - np.einsum("akl,blk->ab", fixed, fixed)
    part = np.divide(variance, squared, out=np.full_like(squared, np.inf), where=squared > 0)
    return np.asarray(np.maximum(1 - _BACK * part, 0.0))


def _start(seen: Interactions, flat: Array, axes: int) -> Array:
    """The leading eigenvectors of the interactions seen through the prior, scaled to fit them."""
    through = flat[:, None] * seen.values * flat
    values, vectors = np.linalg.eigh(through)
    leading = np.flatnonzero(values > _LEAST * max(float(values[-1]), _LEAST))[::-1][:axes]
    shapes = flat[:, None] * vectors[:, leading]
    sums = np.add.reduceat(shapes**2, seen.starts[:-1], axis=0)
    along = np.einsum("xk,xy,yk->k", shapes, seen.values, shapes)
    length = np.einsum("ak,ab,bk->k", sums, seen.precision, sums)
    gain = np.divide(along, length, out=np.zeros_like(along), where=length > 0)
    return np.asarray(shapes * np.sqrt(np.maximum(gain, 0.0)))


@dataclass(frozen=True, eq=False)
class AxesTables:
    """Makes tables of margins and loadings: pairs m mᵀ + F Fᵀ made proper, wider ones of pairs."""

    domain: Domain
    margins: Sequence[Array]
    axes: Axes

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
        common = self.axes.loadings[first] @ self.axes.loadings[second].T
        table = np.outer(*margins) + self.axes.trust[first, second] * common
        return fit_margins(np.maximum(table, 0.0), margins)
