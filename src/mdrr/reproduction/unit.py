"""A unit of work: some runs of one experiment at one p, always the same numbers for a seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from mdrr.errors import MdrrError
from mdrr.reproduction.base import measure_base
from mdrr.reproduction.joint import measure_joint
from mdrr.reproduction.methods import measure_methods
from mdrr.reproduction.population import adult_population
from mdrr.reproduction.printed import BASE_KEEP, COPIES, KEEPS, best_thresholds
from mdrr.reproduction.settings import Settings
from mdrr.reproduction.tables import measure_table

Errors: TypeAlias = dict[str, list[float]]
"""One error a run, in the order of the runs, for every series of an experiment."""

SIZES = {"table1": 100, "table2": 100, "figure2": 100, "figure3": 20, "joint": 50}
"""How many runs a unit of each experiment has."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Runs `start` to `stop` (not included) of an experiment at one p.

    `thresholds` are Figure 3's T_v and T_d; the other experiments have none.
    """

    experiment: str
    p: float
    start: int
    stop: int
    thresholds: tuple[int, float] | None = None

    def __post_init__(self) -> None:
        if self.experiment not in SIZES:
            raise MdrrError(f"there is no experiment {self.experiment!r}")
        if not 0 <= self.start < self.stop:
            raise MdrrError(f"a unit of runs {self.start} to {self.stop} is empty")
        if (self.experiment == "figure3") != (self.thresholds is not None):
            raise MdrrError("Figure 3, and only it, has T_v and T_d of its own")

    @property
    def key(self) -> str:
        """The unit's name in a file of finished runs."""
        at = (
            "" if self.thresholds is None else f" T_v={self.thresholds[0]} T_d={self.thresholds[1]}"
        )
        return f"{self.experiment} p={self.p}{at} runs={self.start}:{self.stop}"


def units(
    experiment: str,
    runs: int,
    best: Callable[[float], tuple[int, float]] = best_thresholds,
) -> list[Unit]:
    """The units of an experiment; they do not depend on how many processes will run them.

    Arguments:
        experiment: a key of `SIZES`.
        runs: how many runs in all.
        best: T_v and T_d for a p, for Figure 3.

    Example:
        >>> [unit.key for unit in units("figure2", 150)]
        ['figure2 p=0.7 runs=0:100', 'figure2 p=0.7 runs=100:150']
    """
    size = SIZES[experiment]
    return [
        Unit(
            experiment,
            p,
            start,
            min(start + size, runs),
            best(p) if experiment == "figure3" else None,
        )
        for p in ((BASE_KEEP,) if experiment == "figure2" else KEEPS)
        for start in range(0, runs, size)
    ]


def measure(unit: Unit, settings: Settings) -> Errors:
    """Run a unit."""
    runs = range(unit.start, unit.stop)
    if unit.experiment == "figure2":
        return measure_base(adult_population(), unit.p, runs, settings)
    if unit.experiment == "figure3":
        assert unit.thresholds is not None
        return measure_methods(adult_population(), unit.p, unit.thresholds, runs, settings)
    if unit.experiment == "joint":
        return measure_joint(adult_population(), unit.p, runs, settings)
    population = adult_population(COPIES if unit.experiment == "table2" else 1)
    return measure_table(unit.experiment, population, unit.p, runs, settings)
