"""One cluster's distribution from its reported frequencies (section 2.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from mdrr.errors import EstimateError
from mdrr.matrix import Array, Matrix

_MOST_CELLS = 4096


def frequencies(counts: npt.ArrayLike) -> Array:
    """λ̂: counts as shares of their sum, or an error when nothing was counted."""
    array = np.asarray(counts, dtype=np.float64)
    if not np.isfinite(array).all() or (array < 0).any():
        raise EstimateError("counts must be finite and not negative")
    total = array.sum()
    if not total > 0:
        raise EstimateError("there are no reports to estimate from")
    return np.asarray(array / total)


def invert(counts: npt.ArrayLike, matrix: Matrix) -> Array:
    """The unbiased estimate π̂ = (Pᵀ)⁻¹λ̂ (paper eq. 2); it may have negative values.

    Arguments:
        counts: how often each code was reported, `(s,)`.
        matrix: through which the codes were reported.

    Returns:
        π̂, `(r,)`, summing to 1.

    Example:
        >>> from mdrr.matrix import Constant
        >>> invert([60, 40], Constant(2, diagonal=49152, off=16384))
        array([0.7, 0.3])
    """
    return matrix.solve(frequencies(counts))


def dispersion(counts: npt.ArrayLike, matrix: Matrix) -> Array:
    """The unbiased estimate of the dispersion matrix of π̂ (Chaudhuri and Mukerjee, ch. 3.3).

    (Pᵀ)⁻¹ (diag λ̂ − λ̂λ̂ᵀ) P⁻¹ / (n − 1), for n people drawn from a population.

    Arguments:
        counts: how often each code was reported, `(s,)`, at least 2 in all.
        matrix: through which the codes were reported.

    Returns:
        The covariances of π̂, `(r, r)`.
    """
    shares = frequencies(counts)
    n = float(np.sum(counts))
    if n < 2:
        raise EstimateError("one report says nothing about dispersion; collect at least 2")
    if matrix.cells > _MOST_CELLS:
        raise EstimateError(
            f"a dispersion matrix over {matrix.cells:,} cells would not fit in memory; "
            "ask for the interval of a count instead"
        )
    weights = matrix.scores(np.eye(matrix.cells))
    centred = weights - (weights @ shares)[:, None]
    return np.asarray((centred * shares) @ centred.T / (n - 1))


@dataclass(frozen=True, eq=False)
class Update:
    """What the iterative Bayesian update found, and why it stopped."""

    distribution: Array
    sweeps: int
    change: float
    stopped: Literal["tolerance", "sweeps"]


def bayesian_update(
    counts: npt.ArrayLike,
    matrix: Matrix,
    *,
    tolerance: float = 1e-9,
    sweeps: int = 10_000,
    start: Array | None = None,
) -> Update:
    """Iterative Bayesian update: the maximum-likelihood distribution, by EM.

    π(x) ← π(x) · Σ_y λ̂(y) P(y|x) / Σ_x' P(y|x') π(x'), from the uniform distribution or `start`.
    Proper at every step; equal to the inverse wherever that is proper.

    Arguments:
        counts: how often each code was reported, `(s,)`.
        matrix: through which the codes were reported.
        tolerance: stop when a sweep changes π by less than this in total variation.
        sweeps: stop after so many sweeps.
        start: where to begin; positive where the result may be.

    Example:
        >>> from mdrr.matrix import Constant
        >>> found = bayesian_update([60, 40], Constant(2, diagonal=49152, off=16384))
        >>> found.distribution.round(4), found.stopped
        (array([0.7, 0.3]), 'tolerance')
    """
    shares = frequencies(counts)
    pi = np.full(matrix.cells, 1 / matrix.cells) if start is None else start / start.sum()
    change = np.inf
    for sweep in range(1, sweeps + 1):
        expected = matrix.forward(pi)
        ratio = np.divide(shares, expected, out=np.zeros_like(shares), where=expected > 0)
        updated = pi * matrix.backward(ratio)
        updated /= updated.sum()
        change = float(np.abs(updated - pi).sum() / 2)
        pi = updated
        if change < tolerance:
            return Update(pi, sweep, change, "tolerance")
    return Update(pi, sweeps, change, "sweeps")
