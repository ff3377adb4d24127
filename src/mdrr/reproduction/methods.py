"""Figure 3: the paper's five methods on the same records, over all coverages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from mdrr.estimation.adjust import Adjustment
from mdrr.matrix import Array
from mdrr.randomizer import cells_of
from mdrr.reproduction.clusters import Partition, alone, clusters_of, partition
from mdrr.reproduction.population import Attributes, Population
from mdrr.reproduction.printed import COVERAGES
from mdrr.reproduction.query import draw_query
from mdrr.reproduction.raking import rake_records
from mdrr.reproduction.settings import Settings
from mdrr.reproduction.tables import learnt

METHODS = (
    "Randomized",
    "RR-Independent",
    "RR-Clusters",
    "RR-Independent + Adjustment",
    "RR-Clusters + Adjustment",
)


def series(coverage: float, method: str) -> str:
    """The name of a point's errors.

    >>> series(0.1, "RR-Clusters")
    'σ=0.1 RR-Clusters'
    """
    return f"σ={coverage} {method}"


@dataclass(frozen=True, eq=False)
class Release:
    """Randomized records under a partition, and what can be estimated from them."""

    population: Population
    design: Partition
    reports: tuple[npt.NDArray[Any], ...]
    projection: str

    @cached_property
    def margins(self) -> tuple[Array, ...]:
        """Each cluster's estimated distribution."""
        return tuple(
            link.estimate(np.bincount(codes, minlength=link.cells), self.projection)
            for link, codes in zip(self.design.channels, self.reports, strict=True)
        )

    @cached_property
    def adjustment(self) -> Adjustment:
        """RR-Adjustment's weights for the records."""
        return rake_records(self.reports, self.margins)

    def column(self, attribute: int) -> npt.NDArray[Any]:
        """One attribute's randomized categories, `(n,)`."""
        at = self.design.home[attribute]
        members = self.design.clusters[at]
        shape = self.population.shape(members)
        place = members.index(attribute)
        below = int(np.prod(shape[place + 1 :]))
        codes = self.reports[at]
        if len(members) == 1:
            return codes
        return np.asarray(codes // codes.dtype.type(below) % codes.dtype.type(shape[place]))

    def weighted(self, attributes: Attributes, weights: Array | None) -> Array:
        """The records' table of some attributes, flat; each record counts 1/n without weights."""
        shape = self.population.shape(attributes)
        cells = cells_of([self.column(j) for j in attributes], shape)
        counted = np.bincount(cells, weights=weights, minlength=int(np.prod(shape)))
        return np.asarray(counted / len(cells) if weights is None else counted)

    def product(self, attributes: Attributes) -> Array:
        """The table of some attributes, flat, with clusters taken as independent."""
        table = np.ones(())
        axes: list[int] = []
        for members, margin in zip(self.design.clusters, self.margins, strict=True):
            kept = [j for j in members if j in attributes]
            if kept:
                gone = tuple(axis for axis, j in enumerate(members) if j not in attributes)
                shaped = margin.reshape(self.population.shape(members))
                table = np.multiply.outer(table, shaped.sum(axis=gone))
                axes += kept
        return np.transpose(table, [axes.index(j) for j in attributes]).ravel()


def release(
    population: Population, design: Partition, projection: str, rng: np.random.Generator
) -> Release:
    """Randomize every record."""
    reports = tuple(
        link.randomize(population.cells(members), rng)
        for members, link in zip(design.clusters, design.channels, strict=True)
    )
    return Release(population, design, reports, projection)


def measure_methods(
    population: Population,
    p: float,
    thresholds: tuple[int, float],
    runs: Sequence[int],
    settings: Settings,
) -> dict[str, list[float]]:
    """The relative errors of the five methods at every coverage.

    A run randomizes the records once independently and once by clusters; its methods and coverages
    share those two data sets, and at each coverage all methods answer the same fresh query.

    Arguments:
        population: the true records.
        p: as the paper's.
        thresholds: T_v and T_d.
        runs: the numbers of the runs.
        settings: everything else.

    Returns:
        `{series(σ, method): errors}`; NaN where the run was dropped.
    """
    by_itself = partition(population, alone(population), settings.matrix, p)
    errors: dict[str, list[float]] = {}
    for run, dependences in learnt("figure3", population, p, runs, settings):
        clusters = clusters_of(dependences, population, *thresholds)
        together = partition(population, clusters, settings.matrix, p)
        rng = settings.stream("figure3", p, "records", run)
        single = release(population, by_itself, settings.projection, rng)
        joined = release(population, together, settings.projection, rng)
        for coverage in COVERAGES:
            rng = settings.stream("figure3", p, coverage, run)
            query = draw_query(population, coverage, settings, rng)
            found = [float("nan")] * len(METHODS)
            if query is not None:
                at = query.attributes
                tables = (
                    single.weighted(at, None),
                    single.product(at),
                    joined.product(at),
                    single.weighted(at, single.adjustment.weights),
                    joined.weighted(at, joined.adjustment.weights),
                )
                found = [query.errors(table, population.n)[1] for table in tables]
            for method, error in zip(METHODS, found, strict=True):
                errors.setdefault(series(coverage, method), []).append(error)
    return errors
