"""Which attributes go together in an experiment, and what learning it cost (section 4).

`WAYS` is where further ways to learn dependences are added: a function of the population, p and
random numbers. What each spends is told by `spent`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from mdrr.clustering import cluster
from mdrr.dependence import Dependences, debiased, from_codes, from_tables, pair_tables
from mdrr.errors import MdrrError
from mdrr.estimation.pairs import PairTable
from mdrr.matrix.protocol import add_up
from mdrr.protocols import independent
from mdrr.reproduction.channel import Channel
from mdrr.reproduction.population import Attributes, Population
from mdrr.reproduction.readings import Link, channel, single
from mdrr.securesum.question import Question
from mdrr.securesum.ways import learn
from mdrr.source import SeededSource, Source

Learn: TypeAlias = Callable[[Population, float, np.random.Generator], Dependences]


@dataclass(frozen=True)
class Way:
    """A way to learn dependences.

    Arguments:
        learn: the dependences of a population, from p and random numbers.
        spent: the ε one person spends on it, given the population and p.
        is_random: whether every run learns anew; otherwise once serves all.
        meaning: what it is, in a line.
    """

    learn: Learn
    spent: Callable[[Population, float], float]
    is_random: bool
    meaning: str


def _exact(population: Population, p: float, rng: np.random.Generator) -> Dependences:
    return from_codes(population.codes, population.domain)


def _released(
    population: Population, p: float, rng: np.random.Generator
) -> tuple[list[Channel], Mapping[tuple[str, str], npt.NDArray[np.int64]]]:
    """RR on each attribute at p (section 4.1): a release of its own, before the clustered one."""
    singles = [single("corrected", r, p) for r in population.domain.shape]
    reported = [link.randomize(population.cells((j,)), rng) for j, link in enumerate(singles)]
    return singles, pair_tables(reported, population.domain)


def _attenuated(population: Population, p: float, rng: np.random.Generator) -> Dependences:
    return from_tables(_released(population, p, rng)[1], population.domain)


def _debiased(population: Population, p: float, rng: np.random.Generator) -> Dependences:
    """As `mdrr.dependences(tally, design)`, without counting distinct records first."""
    singles, tables = _released(population, p, rng)
    attributes = population.domain.attributes
    values = np.eye(len(attributes))
    scores = [link.solve(np.eye(link.cells)) for link in singles]
    for i, j in combinations(range(len(attributes)), 2):
        first, second = attributes[i], attributes[j]
        shares = tables[first.name, second.name] / population.n
        table = scores[i].T @ shares @ scores[j]
        squares = (scores[i] ** 2).T @ shares @ scores[j] ** 2
        variances = (squares - table**2) / population.n
        found = PairTable((first.name, second.name), table, variances, population.n)
        values[i, j] = values[j, i] = debiased(found, first, second)
    return Dependences(population.domain.names, values)


def _summed(question: Question, population: Population, source: Source | None) -> Dependences:
    """What a secure sum over the population opens: it is exact, so the totals are added up here."""
    codes = [population.cells((j,)) for j in range(len(population.domain))]
    return learn(question, question.sums(codes, source), population.n)


def _secure_sum(population: Population, p: float, rng: np.random.Generator) -> Dependences:
    return _summed(Question(population.domain), population, None)


def _pairs(population: Population, p: float, rng: np.random.Generator) -> Dependences:
    question = Question.randomized(population.domain, p=p)
    return _summed(question, population, SeededSource(int(rng.integers(2**63))))


def _all_pairs(population: Population, p: float) -> float:
    """Every record is in all tables, so their ε add up."""
    return add_up([m.epsilon for m in Question.randomized(population.domain, p=p).matrices])


def _no_privacy(population: Population, p: float) -> float:
    return math.inf


def _another_release(population: Population, p: float) -> float:
    return independent(population.domain, p=p).epsilon


WAYS: dict[str, Way] = {
    "exact": Way(
        _exact,
        _no_privacy,
        False,
        "the true two-way tables, as secure sum gives them; no DP: ε = ∞",
    ),
    "attributes": Way(
        _debiased, _another_release, True, "RR on each attribute at p, debiased; its ε is added"
    ),
    "attributes-attenuated": Way(
        _attenuated,
        _another_release,
        True,
        "RR on each attribute at p, read as it stands (the paper's section 4.1); its ε is added",
    ),
    "securesum": Way(
        _secure_sum,
        _no_privacy,
        False,
        "the pair tables opened by a secure sum (section 4.2), which are exact; no DP: ε = ∞",
    ),
    "pairs": Way(
        _pairs,
        _all_pairs,
        True,
        "RR on each pair at p, opened by a secure sum (section 4.3), debiased; ε is the sum over "
        "all pairs",
    ),
}
"""Every way to learn dependences, by the name `--dependences` knows it under."""


def way(name: str) -> Way:
    """A way by its name."""
    try:
        return WAYS[name]
    except KeyError:
        raise MdrrError(
            f"there is no way {name!r} to learn dependences. Known: {', '.join(map(repr, WAYS))}"
        ) from None


@dataclass(frozen=True, eq=False)
class Partition:
    """Clusters of attributes with the matrix of each."""

    clusters: tuple[Attributes, ...]
    channels: tuple[Link, ...]

    @cached_property
    def home(self) -> dict[int, int]:
        """The cluster of each attribute."""
        return {j: c for c, members in enumerate(self.clusters) for j in members}

    @property
    def epsilon(self) -> float:
        """What one person spends on her report."""
        return sum(c.epsilon for c in self.channels)


def partition(
    population: Population, clusters: tuple[Attributes, ...], reading: str, p: float
) -> Partition:
    """Clusters with the matrices that a reading of section 6.3 gives them."""
    channels = tuple(channel(reading, population.shape(members), p) for members in clusters)
    return Partition(clusters, channels)


def alone(population: Population) -> tuple[Attributes, ...]:
    """RR-Independent's clusters: every attribute on its own."""
    return tuple((j,) for j in range(len(population.domain)))


def clusters_of(
    dependences: Dependences, population: Population, most: int, least: float
) -> tuple[Attributes, ...]:
    """Algorithm 1 with T_v = most and T_d = least."""
    found = cluster(dependences, population.domain, max_cells=most, min_dependence=least)
    return population.places(found)
