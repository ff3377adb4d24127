"""How accurate a design is before anyone is asked: the paper's error theory, corrected to π̂."""

from __future__ import annotations

from mdrr.theory.comparison import Comparison, PrintedComparison, compare, compare_printed
from mdrr.theory.counts import (
    CountError,
    Influence,
    count_error,
    influence,
    product_count_error,
)
from mdrr.theory.covariance import reported_covariance
from mdrr.theory.frequencies import (
    FrequencyErrors,
    deviations,
    e_abs,
    e_abs_pi,
    e_rel,
    e_rel_pi,
    frequency_errors,
    people_needed,
    propagation,
    sqrt_b,
)
from mdrr.theory.printed import cluster_diagonal, paper_epsilon, paper_p_cluster

__all__ = [
    "sqrt_b",
    "e_abs",
    "e_rel",
    "e_abs_pi",
    "e_rel_pi",
    "deviations",
    "FrequencyErrors",
    "frequency_errors",
    "people_needed",
    "propagation",
    "reported_covariance",
    "CountError",
    "count_error",
    "product_count_error",
    "Comparison",
    "PrintedComparison",
    "compare",
    "compare_printed",
    "Influence",
    "influence",
    "cluster_diagonal",
    "paper_epsilon",
    "paper_p_cluster",
]
