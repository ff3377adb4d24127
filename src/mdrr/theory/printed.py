"""The paper's claims that are not about one table: as it prints them, and what holds.

Section 3.3 compares the relative errors of *attribute* frequencies under RR-Independent with those
of *cell* frequencies under RR-Joint, for λ̂, and finds RR-Joint hopeless. At equal ε and for π̂ the
same question has two targets and both protocols can answer each: RR-Joint's cells sum to
attributes, and RR-Independent's reports invert axis by axis to cells. Frequencies are taken to be
even. Section 4.1 says what randomization does to a covariance (Proposition 1 and Corollary 1).

The matrix printed in section 6.3 has p on the diagonal and (1−p)/|A| elsewhere, so its rows do not
sum to 1, and its ε = |ln(p·|A|/(1−p))| is 0 for p = 0.1 and 9 categories. Designs of this package
keep the truth with probability p and otherwise draw from all categories: ε = ln(1 + p·|A|/(1−p)).
Use the printed forms to reproduce the paper's numbers, and for nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from mdrr.errors import EstimateError, MatrixError
from mdrr.matrix import Constant, Matrix, Public
from mdrr.privacy.fields import json_fields
from mdrr.protocols import p_of
from mdrr.theory.frequencies import check_people, sqrt_b


@dataclass(frozen=True, slots=True)
class PrintedComparison:
    """Relative errors of λ̂ as section 3.3 prints them; ε plays no part."""

    n: int
    alpha: float
    independent: float
    joint: float

    to_dict = json_fields


@dataclass(frozen=True, slots=True)
class Comparison:
    """Relative errors of π̂ at the same total ε, even frequencies.

    - `attribute_independent`, `attribute_joint`: one attribute's frequencies, worst attribute.
    - `cell_joint`: the frequencies of all combinations, from RR-Joint.
    - `cell_independent`: the same from RR-Independent by the inverse, axis by axis (unbiased).
    - `cell_product`: from RR-Independent as a product of marginals; only if the attributes are
      truly independent, otherwise its bias comes on top.
    """

    n: int
    alpha: float
    epsilon: float
    p: float
    attribute_independent: float
    attribute_joint: float
    cell_independent: float
    cell_product: float
    cell_joint: float

    to_dict = json_fields


def compare_printed(shape: Sequence[int], n: int, alpha: float = 0.05) -> PrintedComparison:
    """Section 3.3: max_j √(B_j(|A_j|−1)/n) against √(B(Π|A_j|−1)/n).

    Example:
        >>> found = compare_printed((9, 16, 7, 15, 6, 5, 2, 2), 32_561)
        >>> round(found.independent, 3), round(found.joint, 1)
        (0.063, 41.5)
    """
    cells = _check(shape, n)
    independent = max(sqrt_b(r, alpha) * math.sqrt((r - 1) / n) for r in shape)
    joint = sqrt_b(cells, alpha) * math.sqrt((cells - 1) / n)
    return PrintedComparison(n, alpha, independent, joint)


def compare(shape: Sequence[int], n: int, epsilon: float, alpha: float = 0.05) -> Comparison:
    """Both protocols for both targets, for π̂, at the same total ε.

    A constant matrix over r cells with budget ε has s = (e^ε−1)/(e^ε−1+r) and o = 1/(e^ε−1+r).
    RR-Independent shares ε so that every attribute keeps the truth with the same p.

    Arguments:
        shape: the category counts |A_j|.
        n: how many people.
        epsilon: what each of them spends in all.
        alpha: as in `sqrt_b`.

    Example:
        >>> found = compare((4, 4), 10_000, epsilon=4.0)
        >>> round(found.attribute_independent, 3), round(found.attribute_joint, 3)
        (0.07, 0.056)
        >>> round(found.cell_independent, 3), round(found.cell_joint, 3)
        (0.262, 0.149)
    """
    cells = _check(shape, n)
    if epsilon == math.inf:
        raise EstimateError(
            "at ε = ∞ there is nothing to compare: both protocols send the truth. Give a finite ε "
            "that a person may spend"
        )
    p, cell, printed = p_of(epsilon, shape), sqrt_b(cells, alpha), compare_printed(shape, n, alpha)
    joint, _ = _signal(cells, epsilon)
    each = [(r, *_signal(r, math.log1p(p * r / (1 - p)))) for r in shape]
    # Relative second moment of the score of one category, r²·E f², with even reports.
    second = math.prod(r * ((1 - o) ** 2 + (r - 1) * o**2) / s**2 for r, s, o in each)
    product = math.prod(1 + (r - 1) / (n * s**2) for r, s, _ in each)
    return Comparison(
        n,
        alpha,
        epsilon,
        p,
        attribute_independent=max(
            sqrt_b(r, alpha) * math.sqrt((r - 1) / n) / s for r, s, _ in each
        ),
        # A category of A holds cells/r cells: its reports have probability s/r + (cells/r)·o = 1/r.
        attribute_joint=printed.independent / joint,
        cell_independent=cell * math.sqrt((second - 1) / n),
        cell_product=cell * math.sqrt(product - 1),
        cell_joint=printed.joint / joint,
    )


def _signal(cells: int, epsilon: float) -> tuple[float, float]:
    """(s, o) of the constant matrix with exactly this budget."""
    gain = math.expm1(min(epsilon, 700.0))
    return gain / (gain + cells), 1 / (gain + cells)


def _check(shape: Sequence[int], n: int) -> int:
    if not shape or any(r < 2 for r in shape):
        raise EstimateError(f"every attribute needs at least 2 categories; given {tuple(shape)}")
    check_people(n)
    cells = math.prod(shape)
    if cells > 10**300:
        raise EstimateError("there are more than 10^300 combinations; compare fewer attributes")
    return cells


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


def paper_epsilon(p: float, r: int) -> float:
    """ε_A = |ln(p / ((1−p)/|A|))|, as printed; not the ε of any matrix that can be sampled.

    >>> round(paper_epsilon(0.7, 9), 3), paper_epsilon(0.1, 9)
    (3.045, 0.0)
    """
    if not 0 < p < 1:
        raise MatrixError(f"p={p} must lie strictly between 0 and 1")
    if r < 1:
        raise MatrixError(f"r={r}: there must be at least one category")
    value = abs(math.log(p) + math.log(r) - math.log1p(-p))
    return 0.0 if value < 1e-12 else value


def paper_p_cluster(p: float, shape: Sequence[int]) -> float:
    """p_C from the printed ε_A, with the sign of (Π|A| − 1) put right.

    1 / (1 + (Π|A|−1)·exp(−Σ ε_A)); printed with (1−Π|A|), which gives rows that do not sum to 1.

    >>> round(paper_p_cluster(0.7, (7, 6, 2)), 4)
    0.9278
    """
    return cluster_diagonal(math.prod(shape), sum(paper_epsilon(p, r) for r in shape))


def cluster_diagonal(cells: int, epsilon: float) -> float:
    """The diagonal of the constant matrix with budget ε: 1 / (1 + (cells−1)·e^(−ε)).

    >>> cluster_diagonal(2, math.log(3))
    0.75
    """
    if cells < 1:
        raise MatrixError(f"cells={cells}: there must be at least one")
    if not epsilon >= 0:
        raise MatrixError(f"ε={epsilon} must be 0 or more")
    return 1 / (1 + (cells - 1) * math.exp(-epsilon))
