"""A claim of the paper with its verdict: it holds, it does not, or the runs cannot tell.

A criterion is about true medians, of which we know 99 % intervals. A comparison is True or False
where the interval of the difference lies on one side of the claim's threshold, and None where it
straddles it. Comparisons join as in Kleene's logic: "all" is False as soon as one is, and True only
if every one is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol, TypeAlias

from scipy.stats import norm

from mdrr.reproduction.results import CONFIDENCE, Median

Z = float(norm.ppf((1 + CONFIDENCE) / 2))
"""Standard errors that are beyond chance: 2.58."""

FEWEST = math.ceil(1 - math.log2(1 - CONFIDENCE))
"""With fewer runs than these 8, even all of them together are no 99 % band of their median."""

Truth: TypeAlias = bool | None
"""None: cannot be told."""


class Number(Protocol):
    """A number and its Monte-Carlo standard error."""

    @property
    def value(self) -> float:
        """The number."""
        ...

    @property
    def deviation(self) -> float:
        """Its standard error."""
        ...


@dataclass(frozen=True, slots=True)
class Known:
    """A number whose standard error was computed, or that has none."""

    value: float
    deviation: float = 0.0


@dataclass(frozen=True, slots=True)
class Claim:
    """What the paper says and where, whether it holds here, and the number that shows it."""

    section: str
    text: str
    holds: Truth
    evidence: str

    @property
    def verdict(self) -> str:
        """In words."""
        if self.holds is None:
            return "cannot be told"
        return "holds" if self.holds else "does not hold"

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; `holds` is null where it cannot be told."""
        return {**asdict(self), "verdict": self.verdict}


def claim(section: str, text: str, holds: Truth, evidence: str) -> Claim:
    """A claim with its verdict."""
    return Claim(section, text, None if holds is None else bool(holds), evidence)


def in_all(claims: Sequence[Claim], runs: int) -> str:
    """How many claims hold, do not, and cannot be told.

    >>> in_all([claim("6", "It is so.", None, "")], 50)
    '0 of 1 claims hold, 0 do not, 1 cannot be told from 50 runs'
    """
    held, failed = (sum(c.holds is truth for c in claims) for truth in (True, False))
    left = len(claims) - held - failed
    return (
        f"{held} of {len(claims)} claims hold, {failed} do not, {left} cannot be told from "
        f"{runs:,} runs"
    )


def below(first: Number, second: Number, factor: float = 1.0, plus: float = 0.0) -> Truth:
    """Whether the first number is below factor · second + plus, as far as chance lets us tell.

    >>> one, two, three = (Median(v, v - 0.02, v + 0.02, 0, 1, 100) for v in (0.2, 0.21, 0.3))
    >>> below(one, two), below(one, three), below(three, one)
    (None, True, False)
    """
    gap = factor * second.value + plus - first.value
    reach = Z * math.hypot(deviation(first), factor * deviation(second))
    return bool(gap > 0) if abs(gap) > reach else None


def deviation(number: Number) -> float:
    """A number's standard error, infinite for the median of too few runs to have a band."""
    few = isinstance(number, Median) and number.runs < FEWEST
    return math.inf if few else number.deviation


def differ(first: Number, second: Number) -> bool:
    """Whether two numbers differ beyond chance."""
    return below(first, second) is not None


def alike(first: Number, second: Number, margin: float) -> Truth:
    """Whether neither number is larger than the other by more than a share of it.

    >>> alike(Known(1.0, 0.01), Known(1.05, 0.01), 0.1), alike(Known(1.0), Known(1.2), 0.1)
    (True, False)
    """
    return all_of(below(a, b, 1 + margin) for a, b in ((first, second), (second, first)))


def all_of(truths: Iterable[Truth]) -> Truth:
    """False if any is False, else None if any is None, else True.

    >>> all_of([True, None]), all_of([None, False]), all_of([True, True])
    (None, False, True)
    """
    found = set(truths)
    return False if False in found else None if None in found else True


def any_of(truths: Iterable[Truth]) -> Truth:
    """True if any is True, else None if any is None, else False."""
    found = set(truths)
    return True if True in found else None if None in found else False


def most_of(truths: Sequence[Truth]) -> Truth:
    """Whether more than half are True; None while those that cannot be told may decide it.

    >>> most_of([True, True, None]), most_of([True, False, None]), most_of([False, False, None])
    (True, None, False)
    """
    half = len(truths) / 2
    if sum(truth is True for truth in truths) > half:
        return True
    return False if sum(truth is False for truth in truths) >= half else None


def percent(share: float) -> str:
    """A share in whole percents.

    >>> percent(0.284)
    '28 %'
    """
    return f"{100 * share:.0f} %"
