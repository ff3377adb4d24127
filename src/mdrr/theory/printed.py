"""Formulas of section 6.3 as the paper prints them, beside what holds.

The printed matrix has p on the diagonal and (1−p)/|A| elsewhere, so its rows do not sum to 1, and
its ε = |ln(p·|A|/(1−p))| is 0 for p = 0.1 and 9 categories. Designs of this package keep the truth
with probability p and otherwise draw from all categories: ε = ln(1 + p·|A|/(1−p)). Use the printed
forms to reproduce the paper's numbers, and for nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from mdrr.errors import MatrixError


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
