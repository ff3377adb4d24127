"""Tables 1 and 2: the relative error of RR-Clusters by p, T_v and T_d."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from mdrr.dependence import Dependences
from mdrr.matrix import Array
from mdrr.reproduction.clusters import Partition, clusters_of, partition, way
from mdrr.reproduction.population import Attributes, Population
from mdrr.reproduction.printed import LEAST_DEPENDENCES, MOST_CELLS, TABLE_COVERAGE
from mdrr.reproduction.query import draw_query
from mdrr.reproduction.settings import Settings


def series(most: int, least: float) -> str:
    """The name of a cell's errors.

    >>> series(50, 0.1)
    'T_v=50 T_d=0.1'
    """
    return f"T_v={most} T_d={least}"


def cluster_series(most: int, least: float) -> str:
    """The name under which a cell's numbers of clusters are kept."""
    return f"{series(most, least)} clusters"


def measure_table(
    experiment: str, population: Population, p: float, runs: Sequence[int], settings: Settings
) -> dict[str, list[float]]:
    """The relative errors of every T_v and T_d.

    Each cell of the table has its own reports and queries. Where dependences are learnt from
    reports too, a run learns them once and all cells of its p use them.

    Arguments:
        experiment: `"table1"` or `"table2"`; part of the seed.
        population: the true records.
        p: as the paper's.
        runs: the numbers of the runs.
        settings: everything else.

    Returns:
        `{series(T_v, T_d): errors}`, NaN where the run was dropped; and, where every run learns
        dependences anew, `{cluster_series(T_v, T_d): numbers of clusters}`.
    """
    errors: dict[str, list[float]] = {}
    designs: dict[tuple[int, float], Partition] = {}
    used: Dependences | None = None
    for run, dependences in learnt(experiment, population, p, runs, settings):
        if dependences is not used:
            used, designs = dependences, _designs(dependences, population, settings.matrix, p)
        for (most, least), design in designs.items():
            rng = settings.stream(experiment, p, most, least, run)
            error = _relative_error(population, design, settings, rng)
            errors.setdefault(series(most, least), []).append(error)
            if way(settings.dependences).is_random:
                sizes = errors.setdefault(cluster_series(most, least), [])
                sizes.append(float(len(design.clusters)))
    return errors


def learnt(
    experiment: str, population: Population, p: float, runs: Sequence[int], settings: Settings
) -> Iterator[tuple[int, Dependences]]:
    """Every run with the dependences it uses: learnt anew, or once where they are not random."""
    found: Dependences | None = None
    known = way(settings.dependences)
    for run in runs:
        if found is None or known.is_random:
            rng = settings.stream(experiment, p, "dependences", run)
            found = known.learn(population, p, rng)
        yield run, found


def _designs(
    dependences: Dependences, population: Population, reading: str, p: float
) -> dict[tuple[int, float], Partition]:
    """The clusters and matrices of every T_v and T_d."""
    return {
        (most, least): partition(
            population, clusters_of(dependences, population, most, least), reading, p
        )
        for most, least in product(MOST_CELLS, LEAST_DEPENDENCES)
    }


def _relative_error(
    population: Population, design: Partition, settings: Settings, rng: np.random.Generator
) -> float:
    query = draw_query(population, TABLE_COVERAGE, settings, rng)
    if query is None:
        return float("nan")
    table = simulated_table(population, design, query.attributes, settings.projection, rng)
    return query.errors(table, population.n)[1]


def simulated_table(
    population: Population,
    design: Partition,
    attributes: Attributes,
    projection: str,
    rng: np.random.Generator,
) -> Array:
    """The estimated table of some attributes, flat, from freshly simulated reports.

    Only the clusters that hold the attributes are simulated: the others do not enter the product.
    """
    table = np.ones(())
    axes: list[int] = []
    for members, link in zip(design.clusters, design.channels, strict=True):
        kept = [j for j in members if j in attributes]
        if not kept:
            continue
        reported = link.simulate(population.counts(members), rng)
        estimate = link.estimate(reported, projection).reshape(population.shape(members))
        gone = tuple(axis for axis, j in enumerate(members) if j not in attributes)
        table = np.multiply.outer(table, estimate.sum(axis=gone))
        axes += kept
    return np.transpose(table, [axes.index(j) for j in attributes]).ravel()
