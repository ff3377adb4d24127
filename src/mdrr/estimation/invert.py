"""One cluster's distribution from its reported frequencies (section 2.1)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mdrr.errors import EstimateError
from mdrr.estimation.update import frequencies
from mdrr.matrix import Array, Matrix

_MOST_CELLS = 4096


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
