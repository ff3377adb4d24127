import math
from itertools import combinations

import numpy as np
import pytest

from mdrr.dependence import dependences
from mdrr.errors import MdrrError
from mdrr.protocols import independent
from mdrr.reproduction.clusters import WAYS, alone, clusters_of, partition, way
from mdrr.reproduction.population import adult_population
from mdrr.reproduction.printed import LEAST_DEPENDENCES
from mdrr.reproduction.readings import single
from mdrr.tallies import tally_codes
from tests.reproduction.small import population

KNOWN = {
    50: [("relationship", "sex", "income")],
    100: [("education", "income"), ("marital-status", "relationship", "sex")],
    300: [("workclass", "occupation"), ("marital-status", "relationship", "sex", "income")],
}


@pytest.mark.parametrize("most", KNOWN)
def test_clusters_of_adult_do_not_change_with_t_d(most):
    people = adult_population()
    dependences = way("exact").learn(people, 0.1, np.random.default_rng(0))
    for least in LEAST_DEPENDENCES:
        found = clusters_of(dependences, people, most, least)
        merged = [tuple(people.domain.names[j] for j in c) for c in found if len(c) > 1]
        assert merged == KNOWN[most]


@pytest.mark.parametrize(
    ("name", "debias"), [("attributes", True), ("attributes-attenuated", False)]
)
def test_learning_from_reports_is_the_library_s(name, debias):
    people, p = population(copies=2), 0.6
    found = way(name).learn(people, p, np.random.default_rng(4))
    rng = np.random.default_rng(4)
    links = [single("corrected", r, p) for r in people.domain.shape]
    reports = [link.randomize(people.cells((j,)), rng) for j, link in enumerate(links)]
    design = independent(people.domain, p=p)
    known = dependences(tally_codes([reports], design), design, debiased=debias, level=None)
    assert found.values == pytest.approx(known.values, abs=1e-9)
    assert (found.values[0, 1:] > 0).any()


def test_what_learning_costs():
    people = adult_population()
    spent = independent(people.domain, p=0.3).epsilon
    assert way("exact").spent(people, 0.3) == math.inf
    for name in ("attributes", "attributes-attenuated"):
        assert way(name).spent(people, 0.3) == spent
        assert way(name).is_random
    assert all(known.meaning for known in WAYS.values())


def test_secure_sums_are_exact_or_near_and_their_cost_is_counted():
    people = adult_population()
    rng = np.random.default_rng(1)
    exact = way("exact").learn(people, 0.3, rng)
    assert np.array_equal(way("securesum").learn(people, 0.3, rng).values, exact.values)
    assert way("securesum").spent(people, 0.3) == math.inf
    near = way("pairs").learn(people, 0.9, rng)
    assert np.abs(near.values - exact.values).max() < 0.1  # at p = 0.9 a table keeps its shape
    sizes = [a * b for a, b in combinations(people.domain.shape, 2)]
    total = sum(math.log1p(0.3 * r / 0.7) for r in sizes)
    assert way("pairs").spent(people, 0.3) == pytest.approx(total, rel=1e-3)
    assert total > 28 * math.log1p(0.3 * 4 / 0.7)  # the sum over 28 tables, never one table's


def test_attenuated_dependences_cluster_nothing_at_small_p():
    people = adult_population()
    dependences = way("attributes-attenuated").learn(people, 0.3, np.random.default_rng(1))
    assert clusters_of(dependences, people, 50, 0.1) == alone(people)


def test_equal_epsilon_for_every_partition():
    people = adult_population()
    dependences = way("exact").learn(people, 0.5, np.random.default_rng(0))
    apart = partition(people, alone(people), "corrected", 0.5)
    together = partition(people, clusters_of(dependences, people, 300, 0.1), "corrected", 0.5)
    assert together.epsilon == pytest.approx(apart.epsilon, rel=1e-3)
    assert apart.epsilon == pytest.approx(15.92, abs=0.01)
    assert together.home[people.domain.index("sex")] == together.home[people.domain.index("income")]


def test_unknown_way_is_named():
    with pytest.raises(MdrrError, match=r"no way 'guess'.*'exact'"):
        way("guess")
