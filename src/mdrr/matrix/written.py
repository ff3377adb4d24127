"""What dense, banded and subset matrices share: P written out as a table `(r, s)`.

The functions are methods of those classes. Banded and subset matrices share more: they have weight
b on every code and about c more on the k codes around the truth. With u uniform on [0, D), if
u < s·b report u // b; else the code at place (u − s·b) // c around the truth, or at the `middle`
place for the few u left over, where c = (D − s·b) // k.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np

from mdrr.errors import MatrixError
from mdrr.matrix.protocol import (
    Array,
    Codes,
    Matrix,
    check_total,
    fine_total,
    log_ratio,
    most_epsilon,
    odds_below,
    shown_below,
)

if TYPE_CHECKING:
    from mdrr.matrix.banded import Banded
    from mdrr.matrix.dense import Dense
    from mdrr.matrix.subset import Subset

_CONDITION = 1e8
"""Half of a float's digits: an inverse that loses more says nothing."""

Made = TypeVar("Made", bound=Matrix)
Raised: TypeAlias = "Banded | Subset"
Written: TypeAlias = "Banded | Dense | Subset"


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


def epsilon(matrix: Written) -> float:
    """ln of the largest ratio within a column, rounded up; ∞ where a zero meets a non-zero."""
    return worst_ratio(np.asarray(matrix.weights))


def probabilities(matrix: Written) -> Array:
    """P as floats, `(r, s)`."""
    return np.asarray(np.asarray(matrix.weights) / matrix.total)


def inverse(matrix: Written) -> Array:
    """The unbiased inverse of least variance, `(r, s)`."""
    return least_variance_inverse(matrix.probabilities)


def step(matrix: Raised) -> int:
    """c, the weight that each code around the truth has beyond b."""
    return (matrix.total - matrix.outcomes * matrix.low) // matrix.size


def weights(matrix: Raised) -> Codes:
    """The integers, `(r, s)`."""
    table = np.full((matrix.cells, matrix.outcomes), matrix.low, dtype=np.int64)
    cells = np.arange(matrix.cells)
    for place in range(matrix.size):
        table[cells, matrix.around(cells, place)] += matrix.step
    table[cells, matrix.around(cells, matrix.middle)] += matrix.total - table[0].sum()
    return table


def draw(matrix: Raised, true: Codes, uniform: Codes, /) -> Codes:
    """u // b over all codes, else a code around the truth."""
    floor = np.uint64(matrix.outcomes * matrix.low)
    inside = uniform >= floor
    place = (uniform - np.where(inside, floor, uniform)) // np.uint64(matrix.step)
    place = np.where(place < np.uint64(matrix.size), place, np.uint64(matrix.middle))
    around = matrix.around(true.astype(np.int64), place.astype(np.int64))
    return np.where(inside, around.astype(np.uint64), uniform // np.uint64(matrix.low))


def check_raised(matrix: Raised) -> None:
    """Refuse weights that betray the truth or say nothing of it."""
    check_total(matrix.total)
    if matrix.low <= 0:
        raise MatrixError("low must be positive: without it a report betrays the truth (ε = ∞)")
    if matrix.step <= 0:
        raise MatrixError(
            f"with low={matrix.low} nothing is left for the truth: the matrix is singular. "
            "Choose a smaller low or a larger ε"
        )


def raised_matrix(make: Callable[[int, int], Made], codes: int, size: int, wanted: float) -> Made:
    """Of `make(low, total)`, the one with the smallest low that spends at most the wanted ε."""
    odds, wanted = odds_below(wanted), float(wanted)  # a narrower float would be rounded
    share = 1 / (size * odds + codes - size)
    total = fine_total(share / size, (1 - codes * share) / codes)
    if total * share < 1:
        raise MatrixError(
            f"ε={wanted} over {codes} codes needs more than 48 random bits a draw; "
            f"choose ε of at most {shown_below(most_epsilon(codes, size))}"
        )
    low = math.ceil(total * share)
    while (found := make(low, total)).epsilon > wanted:
        low += 1
    return found


def weights_of(matrix: Matrix) -> Codes:
    """The integers `(r, s)` that a matrix samples from; floats hold them exactly.

    >>> from mdrr.matrix import Constant
    >>> weights_of(Constant(2, diagonal=49152, off=16384)).tolist()
    [[49152, 16384], [16384, 49152]]
    """
    columns = matrix.likelihood(np.arange(matrix.outcomes))
    return np.rint(columns.T * matrix.total).astype(np.int64)


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
