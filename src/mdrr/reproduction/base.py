"""Figure 2: RR-Independent against the randomized data taken as they are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from mdrr.reproduction.axes import simulate_axes
from mdrr.reproduction.channel import Counts
from mdrr.reproduction.population import Population
from mdrr.reproduction.printed import COVERAGES
from mdrr.reproduction.query import draw_query
from mdrr.reproduction.readings import single
from mdrr.reproduction.settings import Settings

METHODS = ("Randomized", "RR-Independent")


def series(coverage: float, method: str, error: str) -> str:
    """The name of a point's errors.

    >>> series(0.1, "Randomized", "absolute")
    'σ=0.1 Randomized absolute'
    """
    return f"σ={coverage} {method} {error}"


def measure_base(
    population: Population, p: float, runs: Sequence[int], settings: Settings
) -> dict[str, list[float]]:
    """Absolute and relative errors of both methods at every coverage.

    Both read the same reports, simulated as the table of the queried attributes: its cells are the
    Randomized counts, its margins are what RR-Independent inverts.
    """
    singles = [single(settings.matrix, r, p) for r in population.domain.shape]
    errors: dict[str, list[float]] = {}
    for coverage in COVERAGES:
        for run in runs:
            rng = settings.stream("figure2", p, coverage, run)
            query = draw_query(population, coverage, settings, rng)
            found = [(float("nan"), float("nan"))] * 2
            if query is not None:
                channels = [singles[j] for j in query.attributes]
                true = population.counts(query.attributes)
                table = simulate_axes(
                    channels, true.reshape(population.shape(query.attributes)), rng
                )
                margins = [
                    link.estimate(_margin(table, axis), settings.projection)
                    for axis, link in enumerate(channels)
                ]
                estimates = (table.ravel() / population.n, reduce(np.multiply.outer, margins))
                found = [query.errors(np.ravel(e), population.n) for e in estimates]
            for method, both in zip(METHODS, found, strict=True):
                for name, error in zip(("absolute", "relative"), both, strict=True):
                    errors.setdefault(series(coverage, method, name), []).append(error)
    return errors


def _margin(table: Counts, axis: int) -> Counts:
    return np.asarray(table.sum(axis=tuple(a for a in range(table.ndim) if a != axis)))
