"""What dense, banded and subset matrices share: P written out as a table `(r, s)`.

The functions are methods of those classes: each takes a matrix that has its integer `weights`, its
`probabilities` and the `inverse` of them.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol

import numpy as np

from mdrr.errors import MatrixError
from mdrr.matrix.protocol import Array, Codes, log_ratio

_CONDITION = 1e8
"""Half of a float's digits: an inverse that loses more says nothing."""


class Written(Protocol):
    """A matrix that lists its probabilities."""

    @property
    def probabilities(self) -> Array:
        """P as floats, `(r, s)`."""
        ...

    @property
    def inverse(self) -> Array:
        """The `least_variance_inverse` of P, `(r, s)`."""
        ...


def solve(matrix: Written, observed: Array, /) -> Array:
    """(Pᵀ)⁻¹λ; with more codes than cells, the unbiased estimate of least variance."""
    return np.asarray(observed @ matrix.inverse.T)


def forward(matrix: Written, distribution: Array, /) -> Array:
    """Pᵀπ."""
    return np.asarray(distribution @ matrix.probabilities)


def backward(matrix: Written, values: Array, /) -> Array:
    """P v."""
    return np.asarray(values @ matrix.probabilities.T)


def scores(matrix: Written, functional: Array, /) -> Array:
    """The f with P f = w that belongs to `solve`: f·λ = w·solve(λ)."""
    return np.asarray(functional @ matrix.inverse)


def likelihood(matrix: Written, codes: Codes, /) -> Array:
    """The columns of the reported codes."""
    return np.asarray(matrix.probabilities.T[codes])


def worst_ratio(weights: Codes) -> float:
    """ε of integer weights `(r, s)`: ln of the largest ratio within a column, rounded up.

    >>> worst_ratio(np.array([[3, 1], [1, 3]])) == log_ratio(3, 1)
    True
    """
    pairs = set(zip(weights.max(axis=0).tolist(), weights.min(axis=0).tolist(), strict=True))
    if any(high and not low for high, low in pairs):
        return log_ratio(1, 0)
    worst = max(Fraction(high, low) for high, low in pairs if high)
    return log_ratio(worst.numerator, worst.denominator)


def least_variance_inverse(table: Array) -> Array:
    """The F `(r, s)` with P Fᵀ = 1: the inverse of Pᵀ where P is square.

    Otherwise there are many, and this is the one of least variance if all cells are equally likely:
    generalized least squares, (P M⁻¹ Pᵀ)⁻¹ P M⁻¹ with M the codes' probabilities, by way of
    (P M^(−1/2))ᵀ = Q R, which gives R⁻¹ Qᵀ M^(−1/2). One F serves `solve` and `scores`.

    >>> least_variance_inverse(np.array([[0.75, 0.25], [0.25, 0.75]]))
    array([[ 1.5, -0.5],
           [-0.5,  1.5]])
    """
    try:
        if table.shape[0] == table.shape[1]:
            return np.asarray(np.linalg.inv(table).T)
        means = table.mean(axis=0)
        scale = np.where(means > 0, means, 1.0) ** -0.5  # codes that nobody reports weigh nothing
        orthogonal, triangle = np.linalg.qr((table * scale).T)
        sizes = np.abs(np.diagonal(triangle))
        if sizes.min() * _CONDITION > sizes.max():
            return np.asarray(np.linalg.solve(triangle, orthogonal.T) * scale)
    except np.linalg.LinAlgError:
        pass
    raise MatrixError(
        "the reports are so nearly the same for every answer that nothing can be told from them; "
        "spend a larger ε"
    )
