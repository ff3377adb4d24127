"""How well frequencies are estimated (paper section 2.3): √B, e_abs, e_rel, and the n they need.

The paper bounds the error of λ̂, the frequencies of reports. What users want is π̂ = (Pᵀ)⁻¹λ̂, whose
errors are larger: for a constant matrix π̂ − π = (λ̂ − λ)/s with s = p_u − p_d, so e_abs grows by
1/s, and e_rel is taken against π_u instead of λ_u. Both are given.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from mdrr.errors import EstimateError
from mdrr.matrix import Array, Constant, Matrix, Through
from mdrr.privacy.fields import json_fields


def sqrt_b(r: int, alpha: float = 0.05) -> float:
    """√B of Figure 1: B is the α/r upper percentile of χ² with one degree of freedom.

    √B is also the α/(2r) upper percentile of the normal distribution: r intervals of ±√B standard
    deviations hold together with probability at least 1 − α (Bonferroni), however large r is.

    Example:
        >>> [round(sqrt_b(r), 3) for r in (1, 10, 1000)]
        [1.96, 2.807, 4.056]
    """
    if r < 1:
        raise EstimateError(f"r={r}: there must be at least one category")
    if not 0 < alpha < 1:
        raise EstimateError(f"alpha={alpha} must lie strictly between 0 and 1")
    return -float(special.ndtri_exp(math.log(alpha) - math.log(2) - math.log(r)))


def e_abs(frequencies: npt.ArrayLike, n: int, alpha: float = 0.05) -> float:
    """e_abs of λ̂, paper eq. 5: max_u √(B·λ_u(1−λ_u)/n), for n reports whose probabilities are λ.

    All r intervals λ̂_u ± e_abs hold with probability at least 1 − α.

    Example:
        >>> round(e_abs([0.5, 0.5], 1000), 5)
        0.03544
    """
    return _errors(None, frequencies, n, alpha)[0]


def e_rel(frequencies: npt.ArrayLike, n: int, alpha: float = 0.05) -> float:
    """e_rel of λ̂, paper eq. 6: max_u √(B·(1−λ_u)/(λ_u·n)), infinite when some λ_u is 0.

    Example:
        >>> round(e_rel([0.5, 0.5], 1000), 5)
        0.07088
    """
    return _errors(None, frequencies, n, alpha)[1]


def e_abs_pi(matrix: Matrix, pi: npt.ArrayLike, n: int, alpha: float = 0.05) -> float:
    """e_abs of π̂: √B times the largest standard deviation of π̂_u over the categories.

    All r intervals hold with probability at least 1 − α, up to the normal approximation; `pi` is
    the true distribution, (r,).

    Example:
        >>> from mdrr.matrix import Constant
        >>> coin = Constant(2, diagonal=49152, off=16384)  # s = 1/2
        >>> round(e_abs_pi(coin, [0.5, 0.5], 1000) / e_abs([0.5, 0.5], 1000), 6)
        2.0
    """
    return _errors(matrix, pi, n, alpha)[0]


def e_rel_pi(matrix: Matrix, pi: npt.ArrayLike, n: int, alpha: float = 0.05) -> float:
    """e_rel of π̂: √B·max_u sd(π̂_u)/π_u, infinite when some π_u is 0.

    Example:
        >>> from mdrr.matrix import Constant
        >>> round(e_rel_pi(Constant(2, diagonal=49152, off=16384), [0.1, 0.9], 1000), 3)
        0.65
    """
    return _errors(matrix, pi, n, alpha)[1]


def deviations(matrix: Matrix, pi: Array) -> Array:
    """The standard deviation of π̂_u for one report; for n reports divide by √n.

    π̂_u is the mean of u's score f over the reports, so it is √(Σ_y λ_y·f(y)² − π_u²). A constant
    matrix scores one of two numbers 1/s apart: √(λ_u(1−λ_u))/s.

    >>> from mdrr.matrix import Constant
    >>> deviations(Constant(2, diagonal=49152, off=16384), np.array([0.5, 0.5]))
    array([1., 1.])
    """
    lam = matrix.forward(pi)
    if isinstance(matrix, Constant):
        return np.asarray(np.sqrt(lam * (1 - lam)) / matrix.signal)
    squares = Through(matrix, (matrix.cells,), (0,)).invert(lam, power=2)
    return np.asarray(np.sqrt(np.maximum(squares - pi**2, 0.0)))


def propagation(matrix: Matrix) -> float:
    """P_max/P_min of section 2.3: the least factor by which (Pᵀ)⁻¹ may enlarge a relative error.

    P_max and P_min are the largest and the smallest modulus of an eigenvalue of Pᵀ. Some error of
    λ̂, relative to λ̂, becomes at least so many times larger in π̂, relative to π̂ (the exact worst
    factor is the condition number, which is never smaller). The eigenvalues of a constant matrix
    are 1 and s, so its factor is 1/s. A matrix with more codes than cells has no eigenvalues.

    Example:
        >>> from mdrr.matrix import Constant
        >>> propagation(Constant(2, diagonal=49152, off=16384))
        2.0
    """
    if isinstance(matrix, Constant):
        return 1 / matrix.signal
    if matrix.outcomes != matrix.cells:
        raise EstimateError(
            f"a matrix of {matrix.cells} cells and {matrix.outcomes} codes has no eigenvalues; "
            "P_max/P_min is defined when there are as many codes as cells"
        )
    moduli = np.abs(np.linalg.eigvals(matrix.likelihood(np.arange(matrix.outcomes))))
    return float(moduli.max() / moduli.min())


@dataclass(frozen=True, slots=True)
class FrequencyErrors:
    """The errors of λ̂ (the paper's) and of π̂ (what is estimated) at one n and α."""

    n: int
    alpha: float
    sqrt_b: float
    lambda_abs: float
    lambda_rel: float
    pi_abs: float
    pi_rel: float

    to_dict = json_fields


def frequency_errors(
    matrix: Matrix, pi: npt.ArrayLike, n: int, alpha: float = 0.05
) -> FrequencyErrors:
    """e_abs and e_rel of λ̂ and of π̂ for a matrix and a true distribution.

    Example:
        >>> from mdrr.matrix import constant_matrix
        >>> found = frequency_errors(constant_matrix(4, p=0.5), [0.25] * 4, 10_000)
        >>> round(found.lambda_rel, 4), round(found.pi_rel, 4)
        (0.0433, 0.0865)
    """
    of_pi = _errors(matrix, pi, n, alpha)
    of_lambda = _errors(None, matrix.forward(np.asarray(pi, dtype=np.float64)), n, alpha)
    return FrequencyErrors(n, alpha, sqrt_b(matrix.cells, alpha), *of_lambda, *of_pi)


def people_needed(
    frequencies: npt.ArrayLike,
    *,
    matrix: Matrix | None = None,
    absolute: float | None = None,
    relative: float | None = None,
    alpha: float = 0.05,
) -> int:
    """The smallest n whose error is at most the wanted one: errors shrink as 1/√n.

    Arguments:
        frequencies: λ for the error of λ̂; with a matrix, π for the error of π̂.
        matrix: P, to ask about π̂.
        absolute: the wanted e_abs; or
        relative: the wanted e_rel.
        alpha: as for the errors.

    Example:
        >>> from mdrr.matrix import Constant
        >>> people_needed([0.5, 0.5], absolute=0.01)
        12560
        >>> people_needed([0.5, 0.5], matrix=Constant(2, 49152, 16384), absolute=0.01)
        50239
    """
    wanted = relative if absolute is None else absolute
    if wanted is None or None not in (absolute, relative):
        raise EstimateError("give absolute or relative, exactly one of them")
    if not (math.isfinite(wanted) and wanted > 0):
        raise EstimateError(f"the wanted error {wanted} must be a positive number")

    def error(n: int) -> float:
        return _errors(matrix, frequencies, n, alpha)[absolute is None]

    single = error(1)
    if math.isinf(single):
        raise EstimateError(
            "some frequency is 0, so no n gives a finite relative error; ask for an absolute one"
        )
    n = max(math.ceil((single / wanted) ** 2), 1)
    while n > 1 and error(n - 1) <= wanted:
        n -= 1
    while error(n) > wanted:
        n += 1
    return n


def _errors(
    matrix: Matrix | None, values: npt.ArrayLike, n: int, alpha: float
) -> tuple[float, float]:
    """e_abs and e_rel of π̂; without a matrix those of λ̂."""
    what, shares = "the frequencies" if matrix is None else "π", np.asarray(values, np.float64)
    if shares.ndim != 1 or len(shares) == 0:
        raise EstimateError(f"{what} must be a list of probabilities, one per category")
    if matrix is not None and len(shares) != matrix.cells:
        raise EstimateError(f"π has {len(shares)} entries; the matrix has {matrix.cells} cells")
    check_shares(shares, what)
    check_people(n)
    single = np.sqrt(shares * (1 - shares)) if matrix is None else deviations(matrix, shares)
    scale = sqrt_b(len(shares), alpha) / math.sqrt(n)
    relative = math.inf if (shares <= 0).any() else float((single / shares).max())
    return scale * float(single.max()), scale * relative


def check_shares(shares: Array, what: str) -> None:
    """Refuse what is not a distribution."""
    if not (shares >= 0).all() or abs(float(shares.sum()) - 1) > 1e-6:
        raise EstimateError(f"{what} must be non-negative and sum to 1 (sum {shares.sum():.9g})")


def check_people(n: int) -> None:
    """Refuse a number of reports that nothing can be said about."""
    if n < 1:
        raise EstimateError(f"n={n}: there must be at least one report")
