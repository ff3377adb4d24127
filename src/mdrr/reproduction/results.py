"""Medians over runs with Monte-Carlo bands, and how the paper's medians compare."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.stats import binom, norm

from mdrr.errors import EstimateError
from mdrr.reproduction.printed import RUNS

CONFIDENCE = 0.99
"""Of every band."""


@dataclass(frozen=True, slots=True)
class Median:
    """A median over runs.

    `low` and `high` bound the true median with 99 % confidence. `near` and `far` bound what a
    second, independent median over the paper's 1000 runs would be: where the paper's lies outside,
    the two differ by more than chance.
    """

    value: float
    low: float
    high: float
    near: float
    far: float
    runs: int
    paper: float | None = None

    @property
    def ratio(self) -> float | None:
        """Ours / paper."""
        return None if self.paper is None else self.value / self.paper

    @property
    def agrees(self) -> bool | None:
        """Whether the paper's median is one that the same experiment might have given."""
        return None if self.paper is None else self.near <= self.paper <= self.far

    @property
    def deviation(self) -> float:
        """The Monte-Carlo standard error, read off the band."""
        return (self.high - self.low) / (2 * float(norm.ppf((1 + CONFIDENCE) / 2)))

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; an infinite bound is null."""
        fields = {**asdict(self), "ratio": self.ratio, "agrees": self.agrees}
        return {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in fields.items()
        }


def median(errors: Sequence[float], paper: float | None = None) -> Median:
    """The median of some runs' errors and its bands; runs that were dropped (NaN) do not count.

    The band of the true median lies between order statistics (distribution-free, by the binomial).
    For a second median, over N = 1000 runs, both are uncertain: a median's rank varies like
    √(1/n + 1/N) instead of √(1/n).

    Arguments:
        errors: one a run.
        paper: what the paper prints for it.

    Example:
        >>> found = median(range(1001), paper=520)
        >>> found.value, found.low, found.high, found.agrees
        (500.0, 459.0, 541.0, True)
    """
    values = np.sort([error for error in errors if not math.isnan(error)])
    n = len(values)
    if not n:
        raise EstimateError("no run is left to take a median of")
    tail = (1 - CONFIDENCE) / 2
    rank = max(int(binom.ppf(tail, n, 0.5)) - 1, 0)
    spread = float(norm.ppf(1 - tail)) * n / 2 * math.sqrt(1 / n + 1 / RUNS)
    wide = max(math.floor(n / 2 - spread), 0)
    return Median(
        value=_middle(values),
        low=float(values[rank]),
        high=float(values[n - 1 - rank]),
        near=float(values[wide]),
        far=float(values[n - 1 - wide]),
        runs=n,
        paper=paper,
    )


def _middle(values: Any) -> float:
    """The middle value, or the mean of the two middle ones (np.median, at peace with infinity)."""
    n = len(values)
    low, high = float(values[(n - 1) // 2]), float(values[n // 2])
    return low if low == high else (low + high) / 2


def spread_of(values: Sequence[float], deviations: Sequence[float]) -> float:
    """The p-value of several medians being one: χ² of their weighted spread.

    >>> round(spread_of([0.1, 0.1, 0.1], [0.01] * 3), 3), spread_of([0.1, 0.2], [0.01] * 2) < 1e-9
    (1.0, True)
    """
    from scipy.stats import chi2

    weights = 1 / np.square(deviations)
    mean = float(np.average(values, weights=weights))
    return float(
        chi2.sf(float((weights * np.square(np.asarray(values) - mean)).sum()), len(values) - 1)
    )
