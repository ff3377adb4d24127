"""RR-Joint on all eight attributes, which the paper sets aside as infeasible (section 6.2).

A constant matrix over 1,814,400 cells needs no inverse: only cells that were reported can be
positive after clipping, since an unreported one is estimated at −floor/s.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mdrr.matrix import Array, constant_matrix
from mdrr.protocols import epsilon_of
from mdrr.reproduction.channel import Channel
from mdrr.reproduction.population import Population
from mdrr.reproduction.printed import TABLE_COVERAGE
from mdrr.reproduction.query import draw_query
from mdrr.reproduction.settings import Settings

METHODS = ("whole", "queried")
"""Make the whole estimate proper (the paper's order of steps), or the queried table only."""


def measure_joint(
    population: Population, p: float, runs: Sequence[int], settings: Settings
) -> dict[str, list[float]]:
    """Relative errors of RR-Joint at the ε that RR-Independent spends at p."""
    everything = tuple(range(len(population.domain)))
    budget = sum(epsilon_of(p, r) for r in population.domain.shape)
    link = Channel(
        population.domain.size, constant_matrix(population.domain.size, epsilon=budget).signal
    )
    true = population.cells(everything)
    errors: dict[str, list[float]] = {method: [] for method in METHODS}
    for run in runs:
        rng = settings.stream("joint", p, run)
        query = draw_query(population, TABLE_COVERAGE, settings, rng)
        if query is None:
            for method in METHODS:
                errors[method].append(float("nan"))
            continue
        cells, counts = np.unique(link.randomize(true, rng), return_counts=True)
        columns = np.unravel_index(cells, population.domain.shape)
        at = [columns[j] for j in query.attributes]
        shape = population.shape(query.attributes)
        asked = np.ravel_multi_index(at, shape)
        size = population.size(query.attributes)
        whole = np.maximum(counts / population.n - link.floor, 0) / link.signal
        seen = Channel(size, link.signal)
        tables: dict[str, Array] = {
            "whole": np.bincount(asked, whole / whole.sum(), size).astype(np.float64),
            "queried": seen.estimate(
                np.bincount(asked, counts, size).astype(np.int64), settings.projection
            ),
        }
        for method in METHODS:
            errors[method].append(query.errors(tables[method], population.n)[1])
    return errors
