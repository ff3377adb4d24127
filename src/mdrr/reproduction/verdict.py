"""A claim of the paper with its verdict, and how two medians are told apart."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from scipy.stats import norm

from mdrr.reproduction.results import CONFIDENCE, Median

Z = float(norm.ppf((1 + CONFIDENCE) / 2))
"""Standard errors that are beyond chance: 2.58."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What the paper says and where, whether it holds here, and the number that shows it."""

    section: str
    text: str
    holds: bool
    evidence: str

    @property
    def verdict(self) -> str:
        """In words."""
        return "holds" if self.holds else "does not hold"

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)


def claim(section: str, text: str, holds: bool, evidence: str) -> Claim:
    """A claim with its verdict."""
    return Claim(section, text, bool(holds), evidence)


def differ(first: Median, second: Median) -> bool:
    """Whether two medians differ beyond chance.

    >>> one, two = (Median(v, v - 0.02, v + 0.02, 0, 1, 100) for v in (0.2, 0.21))
    >>> differ(one, two)
    False
    """
    return abs(first.value - second.value) > Z * math.hypot(first.deviation, second.deviation)


def below(first: Median, second: Median) -> bool:
    """Whether the first median is the smaller one beyond chance."""
    return first.value < second.value and differ(first, second)


def percent(share: float) -> str:
    """A share in whole percents.

    >>> percent(0.284)
    '28 %'
    """
    return f"{100 * share:.0f} %"
