"""A few axes that all pairs share: joint correspondence analysis of unbiased tables.

A pair's table is m_a m_bᵀ + Δ_ab, its margins' product and an interaction. In a mixture of products
Δ_ab = Σ_z w_z (θ_za − m_a)(θ_zb − m_b)ᵀ, so all interactions share their factors: Δ_ab = F_a F_bᵀ
(Greenacre 1988), seen here with noise of known variance v_ab. One pair alone would say nothing
where all of them together speak.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from mdrr.errors import EstimateError
from mdrr.estimation.evidence import Evidence
from mdrr.estimation.kernel import posterior
from mdrr.matrix import Array

MOST_CATEGORIES = 4096
"""The most categories, of all attributes together, that are analysed."""

_FEW_CATEGORIES = 512
"""Up to so many all eigenvectors are computed at once; of more, only the leading ones."""
_WORK = 1.6e9
"""Multiplications spent on a fit, at most or in 20 passes: 500 passes over 632 categories. With
2,000 categories 50 passes are left, whose tables err .4 % more than those of 1,000 passes."""
_PASSES = 500
_TOLERANCE = 1e-6
_LEAST = 1e-12
_BACK = 0.5
"""How much of its own variance an interaction is drawn back by: of 0, ½ and 1 the best on most of
the benchmark's data sets that are not held out, and not on the one where every pair is related."""
_MOST = 1.0
"""Of g: an axis with g has canonical correlations of about g, and no correlation exceeds 1."""


@dataclass(frozen=True, eq=False)
class Interactions:
    """Unbiased interactions of all pairs as one symmetric matrix, a block per pair.

    v is the variance of one interaction, of which a pair has (r−1)(s−1). Both matrices are zero
    where nobody reported both attributes, and where both are public: that table is known, and axes
    need not explain it.
    """

    values: Array  # Δ/v of every pair
    precision: Array  # 1/v of every pair of attributes
    starts: tuple[int, ...]  # where each attribute's rows begin, and the end

    @property
    def parts(self) -> list[slice]:
        """Each attribute's rows."""
        return [slice(a, b) for a, b in zip(self.starts[:-1], self.starts[1:], strict=True)]


@dataclass(frozen=True, eq=False)
class Axes:
    """Loadings F, one `(r, k)` array per attribute, and what of a pair's F_a F_bᵀ to believe.

    `kept` counts the axes that did not vanish, `passes` those over the attributes.
    """

    loadings: tuple[Array, ...]
    trust: Array
    kept: int
    passes: int

    def interaction(self, first: int, second: int) -> Array:
        """Δ of two attributes."""
        common = self.loadings[first] @ self.loadings[second].T
        return np.asarray(self.trust[first, second] * common)


def interactions(evidence: Evidence) -> Interactions:
    """The part of every unbiased pair table that is neither margin's, and its noise."""
    margins = evidence.margins
    starts = tuple(int(at) for at in np.cumsum([0, *(len(m) for m in margins)]))
    if starts[-1] > MOST_CATEGORIES:
        raise EstimateError(
            f"the attributes have {starts[-1]:,} categories in all, too many for a correspondence "
            f"analysis (at most {MOST_CATEGORIES:,}); use method='latent'"
        )
    values = np.zeros((starts[-1], starts[-1]))
    precision = np.zeros((len(margins), len(margins)))
    domain = evidence.design.domain
    for first, second in evidence.pairs:
        found = evidence.table((first, second))
        if found is None or found.exact:
            continue
        i, j = domain.index(first), domain.index(second)
        table = found.values - np.outer(margins[i], margins[j])
        table = table - table.mean(axis=0, keepdims=True)
        table = table - table.mean(axis=1, keepdims=True)
        told = 1 / max(evidence.interaction_noise(first, second), _LEAST)
        values[starts[i] : starts[i + 1], starts[j] : starts[j + 1]] = table * told
        precision[i, j] = told
    return Interactions(values + values.T, precision + precision.T, starts)


def fit_axes(seen: Interactions, margins: Sequence[Array], axes: int = 8) -> Axes:
    """Variational Bayes for F, attribute by attribute.

    F_a(x, k) ~ N(0, m_a(x)²·g_k), and the g_k of an axis that the noise explains as well falls to
    nothing by itself (MacKay 1994; Bishop 1999). With the covariance
    S_a(x) = (Σ_b E[F_bᵀF_b]/v_ab + diag(1/(m_a(x)² g)))⁻¹, F_a(x) has the mean
    S_a(x)·Σ_b F_bᵀ Δ_ab(x)/v_ab; then g_k is the mean of E[F(x, k)²]/m(x)², over the Σ(r − 1)
    categories that are free. Rows and columns of an interaction sum to zero, so that in these
    expectations only (r − 1)/r of S_a counts.

    What is left of an interaction is drawn back to zero by half of its own variance v over its
    square, Δ(1 − v/2Δ²): the mean-field variance is too small, and a little noise in every cell
    costs more than it brings.

    `margins` are every attribute's m. It stops after 500 passes over the attributes (fewer with
    very many categories), or when no loading moves further than the tolerance.
    """
    flat = np.maximum(np.concatenate(margins), _LEAST)
    start = leading(seen, flat, axes)
    size = start.shape[1]
    parts = seen.parts
    free = sum(len(m) - 1 for m in margins)
    if not size or not free:
        none = tuple(np.zeros((len(m), 0)) for m in margins)
        return Axes(none, np.zeros((len(margins),) * 2), 0, 0)
    loadings, squares = start, np.zeros((len(flat), size))
    moments = np.stack([loadings[part].T @ loadings[part] for part in parts])
    unsure = np.zeros_like(moments)
    scales = np.clip((loadings**2 / flat[:, None] ** 2).sum(axis=0) / free, _LEAST, _MOST)
    done, moved = 0, np.inf
    passes = min(_PASSES, max(int(_WORK / (len(flat) ** 2 * size)), 20))
    while done < passes and moved >= _TOLERANCE:
        before, done = loadings.copy(), done + 1
        for a, part in enumerate(parts):
            told = (seen.precision[a] @ moments.reshape(len(parts), -1)).reshape(size, size)
            root = np.sqrt(scales) * flat[part, None]
            drawn = seen.values[part] @ loadings
            posterior(told, root, drawn, loadings[part], squares[part], unsure[a])
            moments[a] = loadings[part].T @ loadings[part] + unsure[a]
        scales = np.clip((squares / flat[:, None] ** 2).sum(axis=0) / free, _LEAST, _MOST)
        moved = float(np.abs(loadings - before).max())
    kept = int((np.abs(loadings).max(axis=0) > 10 * _TOLERANCE).sum())
    centred = tuple(loadings[part] - loadings[part].mean(axis=0) for part in parts)
    return Axes(centred, _trust(centred, moments, unsure), kept, done)


def confirmed(
    evidence: Evidence, halves: Sequence[Evidence], axes: int = 8
) -> tuple[Axes, tuple[Axes, ...]]:
    """Axes of everyone's tables as far as halves of the people confirm each other; and theirs.

    Fitted axes may follow noise. Those of one half of the people say Δ, and the other half's tables
    u have the slope β = Σ⟨u, Δ⟩/v over Σ|Δ|²/v on them: about 1 where there is something to be seen
    and 0 where there is not. Everyone's interactions are believed by β, between 0 and 1. Where the
    halves see no axis, or are too few to be looked at, nothing is believed.
    """
    fitted = fit_axes(interactions(evidence), evidence.margins, axes)
    seen = [interactions(half) for half in halves]
    of_halves = tuple(
        fit_axes(each, half.margins, axes) for each, half in zip(seen, halves, strict=True)
    )
    along = length = 0.0
    for found, other in zip(of_halves, reversed(seen), strict=True):
        for i, j in combinations(range(len(evidence.margins)), 2):
            delta = found.interaction(i, j)
            along += float((other.values[other.parts[i], other.parts[j]] * delta).sum())
            length += float(other.precision[i, j] * (delta**2).sum())
    slope = min(max(along / length, 0.0), 1.0) if length > 0 else 0.0
    kept = fitted.kept if slope > 0 else 0
    return replace(fitted, trust=slope * fitted.trust, kept=kept), of_halves


def leading(seen: Interactions, flat: Array, axes: int) -> Array:
    """The leading eigenvectors of the interactions seen through the prior, scaled to fit them."""
    through = flat[:, None] * seen.values * flat
    if len(flat) <= _FEW_CATEGORIES:
        values, vectors = np.linalg.eigh(through)
    else:
        values, vectors = _largest(through, axes)
    leading = np.flatnonzero(values > _LEAST * max(float(values[-1]), _LEAST))[::-1][:axes]
    shapes = flat[:, None] * vectors[:, leading]
    sums = np.add.reduceat(shapes**2, seen.starts[:-1], axis=0)
    along = np.einsum("xk,xy,yk->k", shapes, seen.values, shapes)
    length = np.einsum("ak,ab,bk->k", sums, seen.precision, sums)
    gain = np.divide(along, length, out=np.zeros_like(along), where=length > 0)
    return np.asarray(shapes * np.sqrt(np.maximum(gain, 0.0)))


def _largest(matrix: Array, count: int) -> tuple[Array, Array]:
    """The largest eigenvalues, ascending, and their vectors, to the three digits a start needs."""
    from scipy.sparse.linalg import eigsh  # slow to import, and seldom needed

    first = np.random.default_rng(0).standard_normal(len(matrix)).astype(np.float32)
    short = matrix.astype(np.float32)
    values, vectors = eigsh(short, count, which="LA", v0=first, tol=1e-3, ncv=5 * count)
    order = np.argsort(values)
    return values[order].astype(np.float64), vectors[:, order].astype(np.float64)


def _trust(loadings: Sequence[Array], moments: Array, unsure: Array) -> Array:
    """1 − v/2Δ² of every pair, at least 0; v = E|F_a F_bᵀ|² − |E F_a E F_bᵀ|²."""
    sizes = np.stack([table.T @ table for table in loadings])
    squared = np.einsum("akl,blk->ab", sizes, sizes)
    fixed = moments - unsure
    variance = np.einsum("akl,blk->ab", moments, moments) - np.einsum("akl,blk->ab", fixed, fixed)
    part = np.divide(variance, squared, out=np.full_like(squared, np.inf), where=squared > 0)
    return np.asarray(np.maximum(1 - _BACK * part, 0.0))
