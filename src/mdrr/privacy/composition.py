"""Several (ε, δ) releases about the same people, put together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from mdrr.errors import MdrrError
from mdrr.matrix import Matrix
from mdrr.matrix.protocol import add_up
from mdrr.privacy.fields import json_fields
from mdrr.privacy.shuffle import Shuffled, shuffled


@dataclass(frozen=True, slots=True)
class Composed:
    """What several releases cost together, by two theorems; both hold, so take the better.

    `basic`: (Σε, Σδ). `advanced`: (`advanced_epsilon`, Σδ + slack).
    """

    basic_epsilon: float
    basic_delta: float
    advanced_epsilon: float
    advanced_delta: float

    def to_dict(self) -> dict[str, Any]:
        """The fields, JSON-ready."""
        fields: dict[str, Any] = json_fields(self)
        return fields


def compose(guarantees: Iterable[tuple[float, float]], *, slack: float = 1e-9) -> Composed:
    """Basic and advanced composition of releases that are each (εᵢ, δᵢ)-DP.

    Advanced (Kairouz, Oh and Viswanath 2015, Theorem 3.5): for any slack > 0 the whole is
    (min(Σε, Σ ε·(e^ε−1)/(e^ε+1) + √(2·ln(1/slack)·Σε²)), Σδ + slack)-DP.

    Arguments:
        guarantees: the pairs (ε, δ), whatever order the releases came in.
        slack: the additional δ that advanced composition may use, between 0 and 1.

    Example:
        >>> whole = compose([(0.1, 1e-8)] * 100, slack=1e-6)
        >>> round(whole.basic_epsilon, 6), round(whole.advanced_epsilon, 2)
        (10.0, 5.76)
    """
    pairs = [(float(epsilon), float(delta)) for epsilon, delta in guarantees]
    for epsilon, delta in pairs:
        if not epsilon >= 0 or not 0 <= delta <= 1:
            raise MdrrError(f"({epsilon}, {delta}) is not a guarantee: ε ≥ 0 and 0 ≤ δ ≤ 1")
    if not 0 < slack < 1:
        raise MdrrError(f"slack={slack} must lie strictly between 0 and 1")
    epsilons = [epsilon for epsilon, _ in pairs]
    basic = add_up(epsilons)
    delta = min(math.fsum(delta for _, delta in pairs), 1.0)
    if math.isinf(basic):
        return Composed(basic, delta, basic, min(delta + slack, 1.0))
    drift = math.fsum(epsilon * math.tanh(epsilon / 2) for epsilon in epsilons)
    spread = math.sqrt(2 * math.log(1 / slack) * math.fsum(e * e for e in epsilons))
    return Composed(basic, delta, min(basic, drift + spread), min(delta + slack, 1.0))


@dataclass(frozen=True, slots=True)
class PairTables:
    """What a person spends when many tables hold her, each of randomized and unlinkable reports.

    `pure_epsilon` needs no shuffling and no δ: the sum of all. `epsilon` holds with `delta` when
    the sender of each report is hidden, and is the smallest of `pure_epsilon`, basic and advanced.
    """

    tables: int
    n: int
    pure_epsilon: float
    basic_epsilon: float
    advanced_epsilon: float
    epsilon: float
    delta: float

    def to_dict(self) -> dict[str, Any]:
        """The fields, JSON-ready."""
        fields: dict[str, Any] = json_fields(self)
        return fields


def pair_tables(reports: Sequence[float | Matrix], n: int, delta: float) -> PairTables:
    """Randomized response on each pair of attributes, tallied by secure sum (section 4.3).

    Every record is in all m(m−1)/2 tables, so their ε add up: unlinkability does not turn
    sequential into parallel composition. What it does give is amplification: a secure sum shows
    only the multiset of reports of one table, as a shuffle would, and those (ε, δ) compose.

    Arguments:
        reports: for each table its matrix, or the ε₀ of its reports.
        n: people in every table, not counting those who work with the adversary.
        delta: δ of the whole, shared evenly (advanced composition keeps half of it as slack).

    Example:
        >>> from mdrr.matrix import constant_matrix
        >>> spent = pair_tables([constant_matrix(6, epsilon=2.0)] * 10, 10_000, 1e-6)
        >>> round(spent.pure_epsilon, 1), round(spent.epsilon, 2)
        (20.0, 1.07)
    """
    if not reports:
        raise MdrrError("no tables: give one matrix or ε₀ for each pair of attributes")
    if not 0 < delta < 1:
        raise MdrrError(f"δ={delta} must lie strictly between 0 and 1; take it well below 1/n")

    def each(share: float) -> list[tuple[float, float]]:
        found: dict[Any, Shuffled] = {}
        for report in reports:
            if report not in found:
                found[report] = shuffled(report, n, share)
        return [(found[report].epsilon, found[report].delta) for report in reports]

    k = len(reports)
    pure = add_up([float(r) if isinstance(r, int | float) else r.epsilon for r in reports])
    basic = compose(each(delta / k)).basic_epsilon
    half = compose(each(delta / (2 * k)), slack=delta / 2)
    best = min(pure, basic, half.advanced_epsilon)
    return PairTables(
        k, n, pure, basic, half.advanced_epsilon, best, 0.0 if best == pure else delta
    )
