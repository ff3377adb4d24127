"""Which reading of section 6.3 explains which rows of the paper's tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import geometric_mean

from mdrr.reproduction.outcome import VariantOutcome
from mdrr.reproduction.printed import KEEPS, LEAST_DEPENDENCES, MOST_CELLS, TABLES

CELLS = len(MOST_CELLS) * len(LEAST_DEPENDENCES)
"""The cells of a table's p."""

ENOUGH = CELLS - 1
"""Agreeing cells that make an explanation: a true reading has fewer with probability 0.3 %."""


@dataclass(frozen=True, slots=True)
class Fit:
    """How a reading's nine cells of one p compare: how many agree, and ours / paper on average."""

    name: str
    agree: int
    ratio: float

    @property
    def explains(self) -> bool:
        """Whether chance alone may account for what is left."""
        return self.agree >= ENOUGH


def explains_all(variants: Sequence[VariantOutcome]) -> list[str]:
    """The readings that explain every p of both tables."""
    rows = fits(variants).values()
    return [
        outcome.variant.name
        for outcome in variants
        if all(fit.explains for row in rows for fit in row if fit.name == outcome.variant.name)
    ]


def fits(variants: Sequence[VariantOutcome]) -> dict[tuple[str, float], list[Fit]]:
    """For every table and p, the readings from the best to the worst."""
    found: dict[tuple[str, float], list[Fit]] = {}
    for name in TABLES:
        for p in KEEPS:
            row = []
            for outcome in variants:
                cells = [f for (q, _, _), f in outcome.tables[name].items() if q == p]
                ratios = [f.ratio for f in cells if f.ratio]
                agree = sum(f.agrees is True for f in cells)
                row.append(Fit(outcome.variant.name, agree, geometric_mean(ratios)))
            found[name, p] = sorted(row, key=lambda fit: (-fit.agree, abs(fit.ratio - 1)))
    return found
