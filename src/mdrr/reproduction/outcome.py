"""Reproduce section 6: run what is asked for and gather it beside the paper's numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from mdrr.errors import MdrrError
from mdrr.reproduction import base, joint, methods, tables
from mdrr.reproduction.clusters import alone, partition, way
from mdrr.reproduction.population import adult_population
from mdrr.reproduction.printed import (
    COVERAGES,
    KEEPS,
    LEAST_DEPENDENCES,
    MOST_CELLS,
    TABLES,
    Cell,
    best_thresholds,
)
from mdrr.reproduction.results import Median, median
from mdrr.reproduction.runner import Job, Progress, run
from mdrr.reproduction.settings import Settings
from mdrr.reproduction.store import Store
from mdrr.reproduction.unit import Errors, Unit, units
from mdrr.reproduction.variants import KINDS, Variant

TARGETS = (
    "figure1",
    "figure2",
    "figure3",
    "table1",
    "table2",
    "joint",
    "readings",
    "dependences",
    "choices",
)
"""What can be reproduced: the paper's figures and tables, RR-Joint, and the variants."""

TableMedians: TypeAlias = dict[Cell, Median]

CATEGORIES = tuple(sorted({round(10 ** (k / 10)) for k in range(63)} | {1_814_400}))
"""The r of Figure 1, spread evenly on a logarithmic axis up to the whole domain of Adult."""


@dataclass(frozen=True, eq=False)
class VariantOutcome:
    """A variant's tables, and how many clusters there were where that differs from run to run."""

    variant: Variant
    tables: dict[str, TableMedians]
    clusters: TableMedians = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Outcome:
    """Everything that was reproduced; what was not asked for is empty."""

    settings: Settings
    figure1: tuple[tuple[int, float], ...] = ()
    figure2: Mapping[tuple[float, str, str], Median] = field(default_factory=dict)
    figure3: Mapping[tuple[float, float, str], Median] = field(default_factory=dict)
    thresholds: Mapping[float, tuple[int, float]] = field(default_factory=dict)
    tables: Mapping[str, TableMedians] = field(default_factory=dict)
    joint: Mapping[tuple[float, str], Median] = field(default_factory=dict)
    variants: Mapping[str, tuple[VariantOutcome, ...]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: settings, ε, and one object a median."""
        return {
            "settings": {**asdict(self.settings), "fingerprint": self.settings.fingerprint},
            "epsilon": [
                {"p": p, "report": report, "dependences": None if spent == float("inf") else spent}
                for p, (report, spent) in epsilons(self.settings).items()
            ],
            "figure1": [{"r": r, "sqrt_b": value} for r, value in self.figure1],
            "figure2": [
                {"coverage": coverage, "method": method, "error": error, **found.to_dict()}
                for (coverage, method, error), found in self.figure2.items()
            ],
            "figure3": [
                {"p": p, "coverage": coverage, "method": method, **found.to_dict()}
                for (p, coverage, method), found in self.figure3.items()
            ],
            "thresholds": [
                {"p": p, "T_v": most, "T_d": least} for p, (most, least) in self.thresholds.items()
            ],
            **{name: _cells(found) for name, found in self.tables.items()},
            "joint": [
                {"p": p, "method": method, **found.to_dict()}
                for (p, method), found in self.joint.items()
            ],
            **{
                kind: [
                    {
                        "name": found.variant.name,
                        "meaning": found.variant.meaning,
                        **{name: _cells(table) for name, table in found.tables.items()},
                        **({"clusters": _cells(found.clusters)} if found.clusters else {}),
                    }
                    for found in outcomes
                ]
                for kind, outcomes in self.variants.items()
            },
        }


def _cells(table: TableMedians) -> list[dict[str, Any]]:
    return [
        {"p": p, "T_v": most, "T_d": least, **found.to_dict()}
        for (p, most, least), found in table.items()
    ]


def epsilons(settings: Settings) -> dict[float, tuple[float, float]]:
    """For every p, what one person spends on her report and on learning the dependences."""
    population = adult_population()
    singles = alone(population)
    learning = way(settings.dependences)
    return {
        p: (
            partition(population, singles, settings.matrix, p).epsilon,
            learning.spent(population, p),
        )
        for p in KEEPS
    }


def reproduce(
    targets: Sequence[str] = TARGETS,
    settings: Settings | None = None,
    *,
    folder: Path | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """Run the experiments behind some targets, or resume them, and gather their medians.

    Arguments:
        targets: of `TARGETS`.
        settings: how; the paper's protocol by default.
        folder: where finished runs are kept, so that an interruption loses little; nowhere by
            default.
        workers: processes; as many as there are cores by default.
        progress: told how many runs are done, and of how many.
    """
    settings = Settings() if settings is None else settings
    for target in targets:
        if target not in TARGETS:
            raise MdrrError(f"there is nothing called {target!r}. Known: {', '.join(TARGETS)}")
    stores: dict[str, Store] = {}

    def store_of(some: Settings) -> Store:
        if some.fingerprint not in stores:
            opened = Store() if folder is None else Store.open(folder, some)
            stores[some.fingerprint] = opened
        return stores[some.fingerprint]

    variants = {kind: make(settings) for kind, make in KINDS.items() if kind in targets}
    wanted = [t for t in targets if t in ("table1", "table2", "figure2", "figure3", "joint")]
    thresholds = {p: best_thresholds(p) for p in KEEPS}
    main = store_of(settings)
    if "figure3" in wanted and settings.thresholds == "ours":
        first = units("table1", settings.runs)
        run([(settings, main, first)], workers=workers, progress=progress)
        thresholds = _best(_table(main, first, "table1", settings))
    plan = {name: units(name, settings.runs, thresholds.__getitem__) for name in wanted}
    jobs: list[Job] = [(settings, main, listed) for listed in plan.values()]
    for listed in variants.values():
        for variant in listed:
            store = store_of(variant.settings)
            jobs += [
                (variant.settings, store, units(name, settings.runs)) for name in variant.tables
            ]
    run(_once(jobs), workers=workers, progress=progress)

    def errors(name: str) -> Errors:
        return main.errors(plan[name]) if name in plan else {}

    return Outcome(
        settings=settings,
        figure1=_figure1() if "figure1" in targets else (),
        figure2=_figure2(errors("figure2")),
        figure3=_figure3(main, plan.get("figure3", [])),
        thresholds=thresholds if "figure3" in wanted else {},
        tables={
            name: _table(main, plan[name], name, settings)
            for name in wanted
            if name in ("table1", "table2")
        },
        joint=_joint(main, plan.get("joint", [])),
        variants={
            kind: tuple(_variant(store_of(v.settings), v) for v in listed)
            for kind, listed in variants.items()
        },
    )


def _once(jobs: list[Job]) -> list[Job]:
    """The jobs without units that an earlier job of the same settings holds."""
    seen: set[tuple[str, str]] = set()
    kept: list[Job] = []
    for settings, store, listed in jobs:
        new = [unit for unit in listed if (settings.fingerprint, unit.key) not in seen]
        seen |= {(settings.fingerprint, unit.key) for unit in new}
        kept.append((settings, store, new))
    return kept


def _by_p(listed: list[Unit]) -> dict[float, list[Unit]]:
    found: dict[float, list[Unit]] = {}
    for unit in listed:
        found.setdefault(unit.p, []).append(unit)
    return found


def _table(store: Store, listed: list[Unit], name: str, settings: Settings) -> TableMedians:
    found: TableMedians = {}
    for p, some in _by_p(listed).items():
        errors = store.errors(some)
        for least in LEAST_DEPENDENCES:
            for most in MOST_CELLS:
                cell = (p, most, least)
                found[cell] = median(errors[tables.series(most, least)], TABLES[name][cell])
    return found


def _best(table: TableMedians) -> dict[float, tuple[int, float]]:
    """For every p the T_v and T_d of the smallest median, the first of equals."""
    best: dict[float, tuple[int, float]] = {}
    for p in KEEPS:
        cells = {cell: found.value for cell, found in table.items() if cell[0] == p}
        _, most, least = min(cells, key=lambda cell: cells[cell])
        best[p] = most, least
    return best


def _variant(store: Store, variant: Variant) -> VariantOutcome:
    runs = variant.settings.runs
    found = {
        name: _table(store, units(name, runs), name, variant.settings) for name in variant.tables
    }
    clusters: TableMedians = {}
    if way(variant.settings.dependences).is_random:
        for p, some in _by_p(units("table1", runs)).items():
            errors = store.errors(some)
            for most in MOST_CELLS:
                for least in LEAST_DEPENDENCES:
                    counted = errors[tables.cluster_series(most, least)]
                    clusters[p, most, least] = median(counted)
    return VariantOutcome(variant, found, clusters)


def _figure1() -> tuple[tuple[int, float], ...]:
    from mdrr.theory import sqrt_b

    return tuple((r, sqrt_b(r)) for r in CATEGORIES)


def _figure2(errors: Errors) -> dict[tuple[float, str, str], Median]:
    if not errors:
        return {}
    return {
        (coverage, method, error): median(errors[base.series(coverage, method, error)])
        for error in ("absolute", "relative")
        for method in base.METHODS
        for coverage in COVERAGES
    }


def _figure3(store: Store, listed: list[Unit]) -> dict[tuple[float, float, str], Median]:
    found = {}
    for p, some in _by_p(listed).items():
        errors = store.errors(some)
        for method in methods.METHODS:
            for coverage in COVERAGES:
                printed = None
                if method == "RR-Clusters" and coverage == COVERAGES[0]:
                    printed = TABLES["table1"][(p, *best_thresholds(p))]
                listed_errors = errors[methods.series(coverage, method)]
                found[p, coverage, method] = median(listed_errors, printed)
    return found


def _joint(store: Store, listed: list[Unit]) -> dict[tuple[float, str], Median]:
    return {
        (p, method): median(store.errors(some)[method])
        for p, some in _by_p(listed).items()
        for method in joint.METHODS
    }
