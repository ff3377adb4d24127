"""CALM (Zhang et al., CCS 2018): each person reports one view of a few attributes, at full ε.

Views cover every pair of attributes. A view goes through GRR or OUE, whichever is better for its
cells; views are made consistent where they overlap and non-negative (PriView's two steps, three
rounds); a wider table is the maximum-entropy one given the views' marginals. The views' size is not
fixed at two: the size with the smallest predicted error of pair tables is taken, as CALM balances
noise, sampling and reconstruction. Size two is the paper's "pair sampling". Views of more than
three attributes have so many cells that making them non-negative would bias every marginal: there
the marginals asked for are made non-negative instead, which is far more accurate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from benchmarks.data import People
from benchmarks.metrics import Answer
from benchmarks.peers.maxent import fit, marginal, norm_sub
from benchmarks.peers.oracle import Oracle

from mdrr import Domain
from mdrr.randomizer import cells_of

MOST_CELLS = 2_500_000
ROUNDS = 3
WIDE = 4


@dataclass(frozen=True, eq=False)
class View:
    """An unbiased table of some attributes, and the variance of each of its cells."""

    names: tuple[str, ...]
    table: np.ndarray
    oracle: Oracle
    n: int

    def variance(self, cells: int) -> float:
        """The variance of one of `cells` cells of a marginal of this view."""
        parts = self.oracle.cells // cells
        return (self.oracle.noise_of_sum(parts) + (1 - 1 / cells) / cells) / max(self.n, 1)


def cover(m: int, size: int) -> list[tuple[int, ...]]:
    """Few subsets of the size that contain every pair; greedy, and all pairs for size 2."""
    if size == 2:
        return list(combinations(range(m), 2))
    left = set(combinations(range(m), 2))
    every = list(combinations(range(m), size))
    chosen = []
    while left:
        best = max(every, key=lambda view: len(left.intersection(combinations(view, 2))))
        chosen.append(best)
        left.difference_update(combinations(best, 2))
    return chosen


def predicted(domain: Domain, n: int, epsilon: float, views: list[tuple[int, ...]]) -> float:
    """The mean over pairs of Σ over cells of the standard error: twice the expected TV, nearly."""
    shape = domain.shape
    errors = []
    for a, b in combinations(range(len(shape)), 2):
        cells = shape[a] * shape[b]
        precision = 0.0
        for view in views:
            if a in view and b in view:
                oracle = Oracle(math.prod(shape[j] for j in view), epsilon)
                noise = oracle.noise_of_sum(oracle.cells // cells) + (1 - 1 / cells) / cells
                precision += n / len(views) / noise
        errors.append(cells / math.sqrt(precision))
    return float(np.mean(errors))


def best_views(domain: Domain, n: int, epsilon: float) -> list[tuple[int, ...]]:
    """The covering views whose predicted error of pair tables is smallest."""
    candidates = []
    for size in range(2, len(domain.shape) + 1):
        views = cover(len(domain.shape), size)
        cells = [math.prod(domain.shape[j] for j in view) for view in views]
        if sum(cells) <= MOST_CELLS:
            candidates.append((predicted(domain, n, epsilon, views), views))
    return min(candidates)[1]


def collect(
    people: People, epsilon: float, views: list[tuple[int, ...]], rng: np.random.Generator
) -> list[View]:
    """Everyone is dealt one view at random and reports it."""
    names, shape = people.domain.names, people.domain.shape
    dealt = rng.integers(len(views), size=people.n)
    found = []
    for i, view in enumerate(views):
        mine = dealt == i
        sizes = [shape[j] for j in view]
        oracle = Oracle(math.prod(sizes), epsilon)
        cells = cells_of([people.codes[j][mine] for j in view], sizes)
        table = oracle.estimate(cells, rng).reshape(sizes)
        found.append(View(tuple(names[j] for j in view), table, oracle, int(mine.sum())))
    return found


def consistent(views: list[View]) -> list[np.ndarray]:
    """Tables that agree where views overlap and, unless wide, are distributions (PriView)."""
    tables = [view.table for view in views]
    wide = len(views[0].names) >= WIDE
    shared: set[tuple[str, ...]] = set()
    for first, second in combinations(views, 2):
        shared.add(tuple(name for name in first.names if name in second.names))
    for _ in range(1 if wide else ROUNDS):
        for names in sorted(shared - {()}, key=len):
            _agree(views, tables, names)
        if not wide:
            tables = [norm_sub(table) for table in tables]
    return tables


def _agree(views: list[View], tables: list[np.ndarray], names: tuple[str, ...]) -> None:
    """Move the views that hold some attributes to their common, precision-weighted marginal."""
    at = [i for i, view in enumerate(views) if set(names) <= set(view.names)]
    own = [marginal(tables[i], views[i].names, names) for i in at]
    weights = np.array([1 / views[i].variance(own[0].size) for i in at])
    mean = sum(w * table for w, table in zip(weights / weights.sum(), own, strict=True))
    for i, table in zip(at, own, strict=True):
        shape = [
            s if v in names else 1 for v, s in zip(views[i].names, tables[i].shape, strict=True)
        ]
        tables[i] = tables[i] + ((mean - table) * table.size / tables[i].size).reshape(shape)


def answers(domain: Domain, views: list[View]) -> Answer:
    """Any table: a view's marginal where one holds it, else maximum entropy given all of them."""
    tables = consistent(views)

    def answer(names: tuple[str, ...]) -> np.ndarray:
        parts: dict[tuple[str, ...], list[tuple[float, np.ndarray]]] = {}
        for view, table in zip(views, tables, strict=True):
            kept = tuple(name for name in names if name in view.names)
            if kept:
                part = marginal(table, view.names, kept)
                parts.setdefault(kept, []).append((1 / view.variance(part.size), part))
        widest = [k for k in parts if not any(set(k) < set(other) for other in parts)]
        known = {
            kept: norm_sub(sum(w * t for w, t in parts[kept]) / sum(w for w, _ in parts[kept]))
            for kept in widest
        }
        if names in known:
            return known[names]
        return fit(names, [domain.attribute(name).size for name in names], known)

    return answer


def calm(people: People, epsilon: float, rng: np.random.Generator) -> Answer:
    views = best_views(people.domain, people.n, epsilon)
    return answers(people.domain, collect(people, epsilon, views, rng))


def pair_sampling(people: People, epsilon: float, rng: np.random.Generator) -> Answer:
    views = cover(len(people.domain.shape), 2)
    return answers(people.domain, collect(people, epsilon, views, rng))
