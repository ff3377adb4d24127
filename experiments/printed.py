"""What the paper prints in section 6, as data: nothing here is computed."""

from __future__ import annotations

Cell = tuple[float, int, float]  # p, T_v, T_d

KEEPS = (0.1, 0.3, 0.5, 0.7)  # p: how often RR-Independent keeps a true answer
MOST_CELLS = (50, 100, 300)  # T_v: the most combinations of a cluster
LEAST_DEPENDENCES = (0.1, 0.2, 0.3)  # T_d: the least dependence that merges two clusters
COVERAGES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)  # σ: the share of combinations in a query
TABLE_COVERAGE = 0.1  # the σ of Tables 1 and 2
BASE_KEEP = 0.7  # the p of Figure 2
RUNS = 1000  # every printed error is a median over so many
COPIES = {1: "Adult", 6: "Adult6"}  # Table 1; Table 2, Adult six times over
SINGLE, JOINED = "RR-Independent", "RR-Clusters"
METHODS = (SINGLE, JOINED, f"{SINGLE} + Adjustment", f"{JOINED} + Adjustment")
"""The four methods of section 6.2; "Randomized" is only in Figure 2."""

_ROWS = """
0.1 0.1 0.335 0.404 0.495 0.189 0.312 0.459
0.1 0.2 0.357 0.351 0.501 0.173 0.310 0.449
0.1 0.3 0.285 0.426 0.505 0.183 0.339 0.462
0.3 0.1 0.335 0.334 0.426 0.149 0.202 0.369
0.3 0.2 0.262 0.310 0.435 0.171 0.225 0.376
0.3 0.3 0.199 0.306 0.445 0.178 0.217 0.369
0.5 0.1 0.094 0.148 0.214 0.080 0.084 0.123
0.5 0.2 0.107 0.127 0.236 0.082 0.075 0.126
0.5 0.3 0.116 0.119 0.212 0.083 0.079 0.127
0.7 0.1 0.069 0.069 0.074 0.064 0.066 0.056
0.7 0.2 0.070 0.075 0.071 0.064 0.066 0.057
0.7 0.3 0.070 0.068 0.079 0.065 0.065 0.060
"""
# p, T_d, then Table 1 and Table 2 for the three T_v.


def _read() -> dict[int, dict[Cell, float]]:
    tables: dict[int, dict[Cell, float]] = {copies: {} for copies in COPIES}
    for line in _ROWS.split("\n")[1:-1]:
        p, least, *errors = map(float, line.split())
        places = [(copies, most) for copies in COPIES for most in MOST_CELLS]
        for (copies, most), error in zip(places, errors, strict=True):
            tables[copies][p, most, least] = error
    return tables


TABLES = _read()
"""Relative error of RR-Clusters on Adult (1: Table 1) and on Adult6 (6: Table 2)."""


def best_thresholds(p: float) -> tuple[int, float]:
    """The T_v and T_d with the smallest error that Table 1 prints for a p: Figure 3 uses them.

    >>> [best_thresholds(p) for p in KEEPS]
    [(50, 0.3), (50, 0.3), (50, 0.1), (100, 0.3)]
    """
    errors = {cell[1:]: error for cell, error in TABLES[1].items() if cell[0] == p}
    return min(errors, key=lambda thresholds: errors[thresholds])
