"""RR-Independent against RR-Joint (paper section 3.3), as printed and at equal privacy.

The paper compares the relative errors of *attribute* frequencies under RR-Independent with those of
*cell* frequencies under RR-Joint, for λ̂, and finds RR-Joint hopeless. At equal ε and for π̂ the same
question has two targets and both protocols can answer each: RR-Joint's cells sum to attributes,
and RR-Independent's reports invert axis by axis to cells. Frequencies are taken to be even.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from mdrr.errors import EstimateError
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
