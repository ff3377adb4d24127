"""Algorithm 1: merges as written, deterministic on ties, and the known clusters of Adult."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdrr.clustering import cluster
from mdrr.datasets import adult, adult_domain
from mdrr.dependence import Dependences, dependences, from_codes
from mdrr.errors import DesignError
from mdrr.frames import encode
from mdrr.protocols import independent
from tests.cases import domain_of
from tests.people import reported


@pytest.fixture(scope="module")
def codes():
    return encode(adult(), adult_domain())


KNOWN = {
    50: [{"relationship", "sex", "income"}],
    100: [{"marital-status", "relationship", "sex"}, {"education", "income"}],
    300: [{"marital-status", "relationship", "sex", "income"}, {"workclass", "occupation"}],
}


def together(clusters):
    """The clusters of more than one attribute."""
    return [set(names) for names in clusters if len(names) > 1]


@pytest.mark.parametrize("cells", KNOWN)
@pytest.mark.parametrize("least", [0.1, 0.2, 0.3])
def test_adult_has_its_known_clusters(codes, cells, least):
    domain = adult_domain()
    found = cluster(from_codes(codes, domain), domain, max_cells=cells, min_dependence=least)
    assert sorted(together(found), key=sorted) == sorted(KNOWN[cells], key=sorted)
    assert sorted(name for names in found for name in names) == sorted(domain.names)


@pytest.mark.parametrize("p", [0.5, 0.7])
def test_debiased_dependences_find_them_through_the_noise(codes, p):
    domain = adult_domain()
    design = independent(domain, p=p)
    learnt = dependences(reported(codes, design, 1), design)
    for cells, wanted in KNOWN.items():
        found = cluster(learnt, domain, max_cells=cells, min_dependence=0.1)
        assert sorted(together(found), key=sorted) == sorted(wanted, key=sorted)


def test_attenuated_dependences_cluster_nothing_at_p_030(codes):
    domain = adult_domain()
    design = independent(domain, p=0.3)
    learnt = dependences(reported(codes, design, 1), design, debiased=False)
    found = cluster(learnt, domain, max_cells=300, min_dependence=0.1)
    assert found == tuple((name,) for name in domain.names)


def by_hand(values, sizes, most, least):
    """Algorithm 1 written differently: sets, and a sort of all merges at every step."""
    groups = [frozenset([j]) for j in range(len(sizes))]
    while True:
        moves = []
        for one, other in combinations(sorted(groups, key=min), 2):
            strength = max(values[i][j] for i in one for j in other)
            cells = np.prod([sizes[j] for j in one | other])
            if strength >= least and cells <= most:
                moves.append((-strength, sorted(one), sorted(other)))
        if not moves:
            return sorted(sorted(group) for group in groups)
        _, one, other = min(moves)
        groups = [g for g in groups if g not in (frozenset(one), frozenset(other))]
        groups.append(frozenset(one + other))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    sizes=st.lists(st.integers(2, 6), min_size=1, max_size=7),
    most=st.integers(1, 300),
    least=st.sampled_from([0.0, 0.2, 0.5, 1.0]),
    ties=st.booleans(),
)
def test_any_dependences_are_clustered_as_by_hand(seed, sizes, most, least, ties):
    m = len(sizes)
    values = np.random.default_rng(seed).random((m, m))
    values = np.round(values, 1) if ties else values
    values = np.triu(values, 1) + np.triu(values, 1).T + np.eye(m)
    domain = domain_of(*sizes)
    found = cluster(Dependences(domain.names, values), domain, max_cells=most, min_dependence=least)
    wanted = by_hand(values, sizes, most, least)
    assert [[domain.index(name) for name in names] for names in found] == wanted


def test_the_order_of_the_dependences_does_not_matter():
    domain = domain_of(2, 3, 2)
    values = np.array([[1, 0.9, 0.1], [0.9, 1, 0.3], [0.1, 0.3, 1]])
    turned = Dependences(("c", "b", "a"), values[::-1, ::-1])
    plain = Dependences(domain.names, values)
    for most in (4, 6, 12):
        one, other = (
            cluster(d, domain, max_cells=most, min_dependence=0.2) for d in (plain, turned)
        )
        assert one == other
    assert cluster(plain, domain, max_cells=6, min_dependence=0.2) == (("a", "b"), ("c",))


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"max_cells": 0, "min_dependence": 0.1}, "max_cells=0: a cluster has at least one"),
        ({"max_cells": 9, "min_dependence": -0.1}, "min_dependence=-0.1: a dependence lies"),
        ({"max_cells": 9, "min_dependence": 1.1}, "min_dependence=1.1"),
        ({"max_cells": 9, "min_dependence": float("nan")}, "min_dependence=nan"),
    ],
)
def test_bad_thresholds_are_refused(options, complaint):
    domain = domain_of(2, 2)
    with pytest.raises(DesignError) as error:
        cluster(Dependences(domain.names, np.eye(2)), domain, **options)
    assert complaint in str(error.value)


def test_covariances_have_thresholds_above_1():
    domain = domain_of(2, 3, 2)
    values = np.array([[4, 3, 0.5], [3, 9, 2], [0.5, 2, 1]])
    found = Dependences(domain.names, values, measure="covariance")
    wanted = {2.5: (("a", "b"), ("c",)), 1.5: (("a", "b", "c"),), 3.5: (("a",), ("b",), ("c",))}
    for least, clusters in wanted.items():
        assert cluster(found, domain, max_cells=12, min_dependence=least) == clusters


def test_other_attributes_dependences_are_refused():
    with pytest.raises(DesignError, match="not of this domain's attributes"):
        cluster(Dependences(("x", "y"), np.eye(2)), domain_of(2, 2), max_cells=9, min_dependence=0)
