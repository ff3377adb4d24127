"""Every method of the accuracy benchmark by name: the paper's, ours and the peers'.

A method sees the true records only to randomize them, and ε; it returns answers. All spend the same
total ε per person, between any two records. Two exceptions, both marked: RR-Clusters' clusters come
from exact Cramér's V, for which the paper uses a secure sum, outside ε; and RS+FD as published.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

import numpy as np
from benchmarks.data import People, load
from benchmarks.metrics import Answer
from benchmarks.peers import calm, castell, ibu, ldpy, pgm

import mdrr
from mdrr.dependence import from_codes
from mdrr.randomizer import randomize_codes
from mdrr.tallies import tally_codes

REVISION = 2
"""Raised when our estimates change; every result says under which it was measured.
2: every answer of an estimate comes from one joint distribution."""


@dataclass(frozen=True)
class Method:
    """`run(people, ε, seed)` gives answers; `group` is paper, ours, peer or weaker."""

    name: str
    group: str
    about: str
    run: Callable[[People, float, int], Answer]
    needs: str | None = None
    """A package of the extra `bench`."""


def number(*parts: object) -> int:
    """A seed from a unit's own description, the same on every machine."""
    return zlib.crc32("/".join(map(str, parts)).encode())


def collected(people: People, design: mdrr.Design, seed: int) -> mdrr.Tally:
    source = mdrr.SeededSource(number(people.name, design.fingerprint, seed))
    return tally_codes(randomize_codes(people.codes, design, source), design)


@lru_cache(maxsize=2)
def independent(name: str, epsilon: float, seed: int) -> tuple[mdrr.Design, mdrr.Tally]:
    """RR-Independent's reports: drawn once, given to every method that uses them."""
    people = load(name)
    design = mdrr.independent(people.domain, epsilon=epsilon)
    return design, collected(people, design, seed)


@lru_cache(maxsize=8)
def clusters(name: str, most: int) -> tuple[tuple[str, ...], ...]:
    """Algorithm 1 on exact dependences, T_d = .1."""
    people = load(name)
    exact = from_codes(people.codes, people.domain)
    return mdrr.cluster(exact, people.domain, max_cells=most, min_dependence=0.1)


def answers(estimate: mdrr.Estimate) -> Answer:
    return lambda names: np.asarray(estimate.table(*names).values)


def _same_reports(method: str, **options: Any) -> Callable[[People, float, int], Answer]:
    def run(people: People, epsilon: float, seed: int) -> Answer:
        design, tally = independent(people.name, epsilon, seed)
        assert tally.n == people.n
        return answers(mdrr.estimate(tally, design, method=method, **options))

    return run


def _clustered(method: str, most: int) -> Callable[[People, float, int], Answer]:
    def run(people: People, epsilon: float, seed: int) -> Answer:
        groups = clusters(people.name, most)
        design = mdrr.clustered(people.domain, groups, epsilon=epsilon)
        tally = collected(people, design, seed)
        return answers(mdrr.estimate(tally, design, method=method))

    return run


def _ibu(people: People, epsilon: float, seed: int) -> Answer:
    design, tally = independent(people.name, epsilon, seed)
    return ibu.ibu(tally, design)


def _free(people: People, epsilon: float, seed: int) -> Answer:
    design = mdrr.plan(people.domain, n=people.n, epsilon=epsilon).design
    return answers(mdrr.estimate(collected(people, design, seed), design, method="auto"))


def _two_phases(people: People, epsilon: float, seed: int) -> Answer:
    """A random quarter are the pilot; what they tell plans what the others are asked."""
    order = np.random.default_rng(number(people.name, "pilot", seed)).permutation(people.n)
    first, second = np.split(order, [people.n // 4])
    pilot = mdrr.plan(people.domain, n=len(first), epsilon=epsilon).design
    heard = collected(people.some(first), pilot, seed)
    learnt = mdrr.dependences(heard, pilot)
    main = mdrr.plan(people.domain, n=len(second), epsilon=epsilon, dependences=learnt).design
    parts = [(heard, pilot), (collected(people.some(second), main, seed), main)]
    return answers(mdrr.estimate(*mdrr.pool(parts), method="auto"))


def _pgm(people: People, epsilon: float, seed: int) -> Answer:
    design, tally = independent(people.name, epsilon, seed)
    return pgm.pgm(people.domain, pgm.from_tally(tally, design), people.n)


def _ldpy(kind: str, *, published: bool = True) -> Callable[[People, float, int], Answer]:
    def run(people: People, epsilon: float, seed: int) -> Answer:
        given = epsilon if published else ldpy.matched(epsilon, len(people.domain.names))
        return ldpy.ldpy(kind, people, given, number(people.name, kind, epsilon, seed))

    return run


def _drawn(
    method: Callable[[People, float, np.random.Generator], Answer],
) -> Callable[[People, float, int], Answer]:
    return lambda people, epsilon, seed: method(
        people,
        epsilon,
        np.random.default_rng(number(people.name, method.__name__, epsilon, seed)),
    )


_LIST = [
    Method("RR-Independent", "paper", "Protocol 1, product of marginals", _same_reports("product")),
    Method("RR-Ind + Adj", "paper", "the same reports, Algorithm 2", _same_reports("adjust")),
]
for _most in (50, 100, 300):
    _about = f"Algorithm 1 with exact V, T_v = {_most}, T_d = .1"
    _LIST += [
        Method(f"RR-Clusters {_most}", "paper", _about, _clustered("product", _most)),
        Method(
            f"RR-Cl {_most} + Adj", "paper", f"{_about}, Algorithm 2", _clustered("adjust", _most)
        ),
    ]
_SAME = "RR-Independent's reports, method="
_LIST += [
    Method("pairwise", "ours", f'{_SAME}"pairwise"', _same_reports("pairwise")),
    Method("latent", "ours", f'{_SAME}"latent"', _same_reports("latent")),
    Method("correspondence", "ours", f'{_SAME}"correspondence"', _same_reports("correspondence")),
    Method("auto", "ours", f'{_SAME}"auto"', _same_reports("auto")),
    Method("plan + auto", "ours", 'mdrr.plan\'s design, method="auto": the defaults', _free),
    Method("pilot + auto", "ours", "two phases: a quarter pilot, then plan + auto", _two_phases),
    Method("ibu", "peer", "iterative Bayesian update of RR-Independent's tables", _ibu),
    Method("SPL", "peer", "multi-freq-ldpy, ε split evenly", _ldpy("SPL"), "multi_freq_ldpy"),
    Method("SMP", "peer", "multi-freq-ldpy, one attribute each", _ldpy("SMP"), "multi_freq_ldpy"),
    Method(
        "RS+FD",
        "peer",
        "multi-freq-ldpy, one attribute each and fake data, ε between whole records",
        _ldpy("RSpFD", published=False),
        "multi_freq_ldpy",
    ),
    Method(
        "RS+FD as published",
        "weaker",
        "the same with ε between records that differ in one attribute: a weaker promise",
        _ldpy("RSpFD"),
        "multi_freq_ldpy",
    ),
    Method("Castell", "peer", "aggregated inverse, arXiv 2212.01627", _drawn(castell.castell)),
    Method("pair sampling", "peer", "CALM with pairs", _drawn(calm.pair_sampling)),
    Method("CALM", "peer", "CALM, views of the size predicted best", _drawn(calm.calm)),
    Method("mbi", "peer", "Private-PGM on RR-Independent's pair tables", _pgm, "mbi"),
    Method("mbi on pairs", "peer", "Private-PGM on pair sampling", _drawn(pgm.pgm_on_pairs), "mbi"),
]
METHODS: dict[str, Method] = {method.name: method for method in _LIST}


def available(name: str) -> bool:
    """Whether the package that a method needs is installed."""
    needs = METHODS[name].needs
    return needs is None or find_spec(needs) is not None
