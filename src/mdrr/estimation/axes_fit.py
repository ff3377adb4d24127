"""Axes by variational Bayes: one set of loadings, and how sure they are.

F_a(x, k) ~ N(0, m_a(x)²·g_k), and the g_k of an axis that the noise explains as well falls to
nothing by itself (MacKay 1994; Bishop 1999). What is left of an interaction is drawn back to zero
by half of its own variance v over its square, Δ(1 − v/2Δ²): the mean-field variance is too small,
and a little noise in every cell costs more than it brings.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mdrr.estimation.axes import LEAST, Axes, Interactions, leading, none_of
from mdrr.matrix import Array

_BACK = 0.5
"""How much of its own variance an interaction is drawn back by: of 0, ½ and 1 the best on most of
the benchmark's data sets that are not held out, and not on the one where every pair is related."""
_MOST = 1.0
"""Of g: an axis with g has canonical correlations of about g, and no correlation exceeds 1."""


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
    start = leading(seen, flat, axes)
    size = start.shape[1]
    parts = seen.parts
    free = sum(len(m) - 1 for m in margins)
    if not size or not free:
        return none_of([len(m) for m in margins])
    loadings, squares = start, np.zeros((len(flat), size))
    moments = np.stack([loadings[part].T @ loadings[part] for part in parts])
    unsure = np.zeros_like(moments)
    scales = np.clip((loadings**2 / flat[:, None] ** 2).sum(axis=0) / free, LEAST, _MOST)
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
        scales = np.clip((squares / flat[:, None] ** 2).sum(axis=0) / free, LEAST, _MOST)
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
