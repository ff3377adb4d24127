"""What the paper prints in section 6, as data: nothing here is computed."""

from __future__ import annotations

from collections.abc import Mapping

Cell = tuple[float, int, float]
"""p, T_v, T_d."""

KEEPS = (0.1, 0.3, 0.5, 0.7)
"""The paper's p: how often RR-Independent keeps a true answer."""

MOST_CELLS = (50, 100, 300)
"""The paper's T_v: the most combinations of a cluster."""

LEAST_DEPENDENCES = (0.1, 0.2, 0.3)
"""The paper's T_d: the least dependence that merges two clusters."""

COVERAGES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""The paper's σ: the share of the combinations of two attributes that a query holds."""

METHODS = (
    "RR-Independent",
    "RR-Clusters",
    "RR-Independent + Adjustment",
    "RR-Clusters + Adjustment",
)
"""The four methods of section 6.2; "Randomized" is only in Figure 2."""

TABLE_COVERAGE = 0.1
"""The σ of Tables 1 and 2."""

BASE_KEEP = 0.7
"""The p of Figure 2."""

RUNS = 1000
"""Every printed error is a median over so many runs."""

COPIES = {1: "Adult", 6: "Adult6"}
"""Table 1 is on Adult, Table 2 on Adult six times over."""

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


def _read() -> dict[int, Mapping[Cell, float]]:
    tables: dict[int, dict[Cell, float]] = {copies: {} for copies in COPIES}
    for line in _ROWS.split("\n"):
        if line:
            p, least, *errors = map(float, line.split())
            cells = [(copies, most) for copies in COPIES for most in MOST_CELLS]
            for (copies, most), error in zip(cells, errors, strict=True):
                tables[copies][p, most, least] = error
    return {copies: dict(table) for copies, table in tables.items()}


TABLES = _read()
"""Relative error of RR-Clusters on Adult (1: Table 1) and on Adult6 (6: Table 2)."""


def best_thresholds(p: float) -> tuple[int, float]:
    """The T_v and T_d with the smallest error that Table 1 prints for a p: Figure 3 uses them.

    >>> [best_thresholds(p) for p in KEEPS]
    [(50, 0.3), (50, 0.3), (50, 0.1), (100, 0.3)]
    """
    errors = {cell[1:]: error for cell, error in TABLES[1].items() if cell[0] == p}
    return min(errors, key=lambda thresholds: errors[thresholds])
