"""Axes by a Gibbs sampler: the mean over all the loadings that the reports leave possible.

An axis k has a strength g_k, and attribute a takes part in it by h_ak: F_a(x, k) ~
N(0, m_a(x)²·g_k·h_ak), as many times its category's share m whatever that is, with Σ_x F_a(x, k) =
0. Strengths have the density g^(−3/2) on a grid over [.001, 1] and parts 1/h on one over [.01, 10]:
most axes are weak and most attributes have little part in one, and where the reports say otherwise
these priors do not stand in the way, but for categories of a hundredth or less that go together:
F² ~ m where the prior expects 10·m² at most. Each block below is drawn from its exact distribution
given the others. Axes nobody can see change sign from draw to draw and nearly vanish in the mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mdrr.estimation.axes import LEAST, Axes, Interactions, leading, none_of
from mdrr.matrix import Array

STRENGTHS = np.geomspace(1e-3, 1.0, 121)
PARTS = np.geomspace(1e-2, 10.0, 61)
_WEAK = -0.5
"""The density of a strength is g^_WEAK for each unit of log g; that of a part is even in log h."""

_FAINT = 1e-3
"""The share of the people heard at first."""


@dataclass(frozen=True, eq=False)
class State:
    """Loadings F `(categories, axes)`, strengths g `(axes,)`, and parts h `(attributes, axes)`."""

    loadings: Array
    strengths: Array
    parts: Array


def draw_axes(
    seen: Interactions,
    margins: Sequence[Array],
    axes: int,
    *,
    seed: int = 0,
    sweeps: int = 400,
    warm_up: int = 100,
    every: int = 3,
) -> Axes:
    """Draw the loadings, starting from the leading eigenvectors.

    In the warm-up the reports are heard more and more loudly: where they are nearly exact from the
    first, an axis that the start has torn into two would stay so.

    Arguments:
        seen: the interactions.
        margins: every attribute's distribution m.
        axes: how many at most; of few categories there are no more than they leave room for.
        seed: for the draws.
        sweeps: how often every block is drawn.
        warm_up: how many sweeps are forgotten.
        every: of the others, every how many-th is kept.

    Returns:
        The loadings of all draws side by side, over the root of their number: an interaction is
        then the mean of the draws'.
    """
    free = [len(m) - 1 for m in margins]
    size = min(axes, sum(free) - max(free))
    if size < 1 or not seen.precision.any():
        return none_of([len(m) for m in margins])
    rng = np.random.default_rng(seed)
    state = _start(seen, np.concatenate(margins), size, rng)
    drawn = []
    for done in range(sweeps):
        told = _FAINT ** max(0.0, 1 - done / (0.8 * warm_up)) if warm_up else 1.0
        state = swept(state, seen.told(told), margins, rng)
        if done >= warm_up and done % every == 0:
            drawn.append(state.loadings)
    stacked = np.concatenate(drawn, axis=1) / np.sqrt(len(drawn))
    loadings = tuple(stacked[part] for part in seen.parts)
    return Axes(loadings, np.ones_like(seen.precision), size, sweeps)


def swept(
    state: State, seen: Interactions, margins: Sequence[Array], rng: np.random.Generator
) -> State:
    """Draw every block once, given the others: loadings, parts, and strengths twice.

    Given the loadings, a strength hardly moves; given the loadings over its root, which the
    interactions are linear in, it moves as far as the reports let it (Yu and Meng 2011).
    """
    loadings = _loadings(state, seen, margins, rng)
    flat = np.concatenate(margins)[:, None]
    squares = np.add.reduceat((loadings / flat) ** 2, seen.starts[:-1], axis=0)
    free = np.array([len(m) - 1 for m in margins])
    logs = -0.5 * free[:, None, None] * np.log(PARTS)
    parts = _picked(rng, PARTS, logs - (squares / state.strengths)[:, :, None] / (2 * PARTS))
    sums = (squares / parts).sum(axis=0)
    logs = (_WEAK - 0.5 * free.sum()) * np.log(STRENGTHS)
    strengths = _picked(rng, STRENGTHS, logs - sums[:, None] / (2 * STRENGTHS))
    return _rescaled(loadings / np.sqrt(strengths), strengths, parts, seen, rng)


def _loadings(
    state: State, seen: Interactions, margins: Sequence[Array], rng: np.random.Generator
) -> Array:
    """Attribute by attribute: F_a is normal given the others, under Σ_x F_a(x) = 0.

    With s = g·h_a and T = √s (Σ_b F_bᵀF_b/v_ab) √s = U diag(t) Uᵀ, the F_a(x)/√s turned by U are
    independent of variance m²/(1 + m²t), for all categories x alike.
    """
    loadings = state.loadings.copy()
    parts = seen.parts
    moments = np.stack([loadings[part].T @ loadings[part] for part in parts])
    for a, part in enumerate(parts):
        scale = np.sqrt(state.strengths * state.parts[a])
        told = np.tensordot(seen.precision[a], moments, axes=1) * scale * scale[:, None]
        lengths, turn = np.linalg.eigh(told)
        squares = margins[a][:, None] ** 2
        variances = squares / (1 + squares * np.maximum(lengths, 0.0))
        means = variances * (((seen.values[part] @ loadings) * scale) @ turn)
        drawn = means + np.sqrt(variances) * rng.standard_normal(means.shape)
        drawn -= variances * (drawn.sum(axis=0) / variances.sum(axis=0))
        loadings[part] = (drawn @ turn.T) * scale
        moments[a] = loadings[part].T @ loadings[part]
    return loadings


def _rescaled(
    shapes: Array, strengths: Array, parts: Array, seen: Interactions, rng: np.random.Generator
) -> State:
    """Strengths given Z = F/√g: Δ = Σ_k g_k Z_k Z_kᵀ, so the log-likelihood is a parabola in g."""
    moments = np.stack([shapes[part].T @ shapes[part] for part in seen.parts])
    bend = 0.5 * (np.tensordot(seen.precision, moments, axes=1) * moments).sum(axis=0)
    slope = 0.5 * (shapes * (seen.values @ shapes)).sum(axis=0)
    strengths = strengths.copy()
    for k, own in enumerate(np.diag(bend)):
        left = slope[k] - bend[k] @ strengths + own * strengths[k]
        logs = _WEAK * np.log(STRENGTHS) + left * STRENGTHS - 0.5 * own * STRENGTHS**2
        strengths[k] = _picked(rng, STRENGTHS, logs)
    return State(shapes * np.sqrt(strengths), strengths, parts)


def _picked(rng: np.random.Generator, grid: Array, logs: Array) -> Array:
    """A value of the grid for every row of log-probabilities (the largest with Gumbel noise)."""
    return np.asarray(grid[(logs + rng.gumbel(size=logs.shape)).argmax(axis=-1)])


def _start(seen: Interactions, flat: Array, size: int, rng: np.random.Generator) -> State:
    """The leading eigenvectors that fit, and of the others a draw of what is weak."""
    loadings = np.zeros((len(flat), size))
    found = leading(seen, flat, size)
    loadings[:, : found.shape[1]] = found
    squares = (loadings**2 / flat[:, None] ** 2).sum(axis=0) / len(flat)
    strengths = np.clip(squares, STRENGTHS[0], STRENGTHS[-1])
    weak = np.sqrt(strengths) * flat[:, None] * rng.standard_normal(loadings.shape)
    parts = np.ones((len(seen.precision), size))
    return State(np.where(squares > LEAST, loadings, weak), strengths, parts)
