"""The paper's count queries: a random share σ of the combinations of two random attributes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mdrr.matrix import Array
from mdrr.reproduction.population import Attributes, Population
from mdrr.reproduction.settings import Settings


@dataclass(frozen=True, eq=False)
class CountQuery:
    """S as cells of the table of some attributes, and X_S, how many people are in it."""

    attributes: Attributes
    cells: npt.NDArray[Any]
    truth: int

    def errors(self, table: Array, n: int) -> tuple[float, float]:
        """e_S = |Y_S − X_S| and r_S = e_S/X_S, Y_S being n times the mass of S in a table.

        Where X_S = 0 the relative error is infinite, or 0 if Y_S is 0 as well.
        """
        absolute = abs(float(table[self.cells].sum()) * n - self.truth)
        if self.truth:
            return absolute, absolute / self.truth
        return absolute, (np.inf if absolute > 0 else 0.0)


def draw_query(
    population: Population, coverage: float, settings: Settings, rng: np.random.Generator
) -> CountQuery | None:
    """A random query of coverage σ, or None where a query without people ends the run.

    Arguments:
        population: the true records, whose count X_S decides about `settings.empty`.
        coverage: σ.
        settings: rounding, empty queries, and how attributes are drawn.
        rng: the run's random numbers.
    """
    m = len(population.domain)
    while True:
        repeated = settings.pairs == "repeated"
        drawn = rng.choice(m, settings.query_size, replace=repeated)
        attributes = tuple(sorted({int(j) for j in drawn}))
        counts = population.counts(attributes)
        held = settings.combinations(coverage, len(counts))
        cells = rng.choice(len(counts), held, replace=False, shuffle=False)
        truth = int(counts[cells].sum())
        if truth or settings.empty == "infinite":
            return CountQuery(attributes, cells, truth)
        if settings.empty == "drop":
            return None
