"""What is measured: the paper's count queries, and total variation of tables of 1 to 4 attributes.

An answer is any function from attribute names to a proper table; a method is judged by its answers
alone, against the people who reported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np
from benchmarks.data import People, load

Answer = Callable[[tuple[str, ...]], np.ndarray]

METRICS = ("query", "tv1", "tv2", "tv3", "tv4")


@dataclass(frozen=True, eq=False)
class Query:
    """S, as cells of the table of two attributes, and the share of people in it."""

    names: tuple[str, ...]
    cells: np.ndarray
    truth: float


@dataclass(frozen=True, eq=False)
class Workload:
    """The questions asked of every method: drawn once per data set, the same for all."""

    queries: tuple[Query, ...]
    tables: dict[tuple[str, ...], np.ndarray]

    def errors(self, answer: Answer) -> dict[str, float]:
        """The median relative error of the queries, and the mean total variation by width."""
        found = {names: checked(answer(names), truth) for names, truth in self.tables.items()}
        relative = [
            abs(found[q.names].ravel()[q.cells].sum() - q.truth) / q.truth for q in self.queries
        ]
        errors = {"query": float(np.median(relative))}
        for width in (1, 2, 3, 4):
            apart = [
                0.5 * np.abs(found[names] - truth).sum()
                for names, truth in self.tables.items()
                if len(names) == width
            ]
            errors[f"tv{width}"] = float(np.mean(apart)) if apart else float("nan")
        return errors


def checked(table: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """The table, or an error if it is not a distribution over the cells asked for."""
    if table.shape != truth.shape:
        raise ValueError(f"a table of shape {table.shape} where {truth.shape} was asked")
    if not (table.min() > -1e-9 and abs(table.sum() - 1) < 1e-6):
        raise ValueError(f"not a distribution: smallest {table.min()}, sum {table.sum()}")
    return table


def workload(people: People, *, queries: int, wide: int, seed: int = 7) -> Workload:
    """Random queries with X_S > 0; all tables of one and two attributes, `wide` of three and four.

    A query is two different attributes and a tenth of their combinations, as in section 6.3.
    """
    rng = np.random.default_rng(seed)
    names = people.domain.names
    asked: list[tuple[str, ...]] = [(name,) for name in names]
    asked += list(combinations(names, 2))
    for width in (3, 4):
        every = list(combinations(names, width))
        chosen = rng.choice(len(every), size=min(wide, len(every)), replace=False)
        asked += [every[i] for i in sorted(chosen)]
    tables = {key: people.table(key) for key in asked}
    pairs = [key for key in asked if len(key) == 2]
    drawn: list[Query] = []
    while len(drawn) < queries:
        key = pairs[rng.integers(len(pairs))]
        cells = rng.choice(tables[key].size, max(1, round(0.1 * tables[key].size)), replace=False)
        truth = float(tables[key].ravel()[cells].sum())
        if truth > 0:
            drawn.append(Query(key, cells, truth))
    return Workload(tuple(drawn), tables)


@cache
def workload_of(name: str, queries: int, wide: int) -> Workload:
    return workload(load(name), queries=queries, wide=wide)


def product_of(margins: dict[str, np.ndarray]) -> Answer:
    """Answers of a method that knows one attribute at a time: the product of its marginals."""

    def answer(names: Sequence[str]) -> np.ndarray:
        table = np.ones(())
        for name in names:
            table = np.multiply.outer(table, margins[name])
        return table

    return answer
