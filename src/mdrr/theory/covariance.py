"""What randomization does to a covariance (paper section 4.1, Proposition 1 and Corollary 1)."""

from __future__ import annotations

import math

from mdrr.errors import EstimateError
from mdrr.matrix import Constant, Matrix, Public


def reported_covariance(covariance: float, first: Matrix, second: Matrix) -> float:
    """Cov(Y_a, Y_b) = p_a·p_b·Cov(X_a, X_b) for attributes that are randomized on their own.

    A constant matrix sends the truth with probability p (its `signal`) and otherwise a uniform
    category, which is the randomization of Proposition 1; a public attribute has p = 1. With one p
    for all attributes every covariance shrinks by p², so their order is kept (Corollary 1). That is
    not so for |r| and V, which also divide by spreads or margins that the randomization changes;
    the debiased dependences of `mdrr.dependence` undo it.

    Example:
        >>> from mdrr.matrix import constant_matrix
        >>> half = constant_matrix(2, p=0.5)
        >>> reported_covariance(0.2, half, half)
        0.05
    """
    if not math.isfinite(covariance):
        raise EstimateError(f"covariance={covariance} must be a finite number")
    for matrix in (first, second):
        if not isinstance(matrix, Constant | Public):
            raise EstimateError(
                f"Proposition 1 is about constant matrices, not {matrix.kind} ones: only those "
                "send the truth or a uniform category"
            )
        covariance *= matrix.signal
    return covariance
