"""Castell (Kikuchi, Domingo-Ferrer, Soria-Comas, arXiv 2212.01627), from its abstract.

All attributes are randomized independently; the randomization matrices of the attributes asked for
are aggregated into one (their Kronecker product) whose inverse is applied axis by axis, at a cost
linear in the number of attributes. What the inverse makes negative is truncated. The abstract names
a "hybrid" extension without saying how it works; it is not implemented.
"""

from __future__ import annotations

import numpy as np
from benchmarks.data import People
from benchmarks.metrics import Answer
from benchmarks.peers.maxent import norm_sub
from benchmarks.peers.oracle import epsilons_of, grr, grr_parameters

from mdrr.randomizer import cells_of


def castell(people: People, epsilon: float, rng: np.random.Generator) -> Answer:
    """Independent k-RR with the same truth probability for all, then the aggregated inverse."""
    budgets = epsilons_of(epsilon, people.domain.shape)
    sizes = dict(zip(people.domain.names, people.domain.shape, strict=True))
    sent, pq = {}, {}
    for name, codes, budget in zip(people.domain.names, people.codes, budgets, strict=True):
        sent[name] = grr(codes, sizes[name], budget, rng)
        pq[name] = grr_parameters(sizes[name], budget)

    def answer(names: tuple[str, ...]) -> np.ndarray:
        shape = [sizes[name] for name in names]
        cells = cells_of([sent[name] for name in names], shape)
        table = np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape) / people.n
        for axis, name in enumerate(names):
            p, q = pq[name]
            table = (table - q * table.sum(axis=axis, keepdims=True)) / (p - q)
        return norm_sub(table)

    return answer
