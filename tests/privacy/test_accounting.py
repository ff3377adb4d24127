"""ε of designs and of single attributes, against ratios enumerated over all records."""

import json
import math
from functools import partial
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdrr.design import Cluster, Design, Questionnaire
from mdrr.domain import Attribute, Domain
from mdrr.errors import DesignError, MdrrError
from mdrr.matrix import (
    Constant,
    Dense,
    banded_matrix,
    constant_matrix,
    dense_matrix,
    subset_matrix,
)
from mdrr.privacy import account, attribute_account, cluster_attribute_epsilons
from mdrr.protocols import clustered, independent, joint, sampled

DOMAIN = Domain(
    (
        Attribute("a", ("p", "q")),
        Attribute("b", ("p", "q", "r")),
        Attribute("c", ("p", "q", "r", "s")),
    )
)

FOUR, TWELVE = constant_matrix(4, epsilon=0.5), constant_matrix(12, epsilon=1.0)


def table(matrix):
    return matrix.likelihood(np.arange(matrix.outcomes)).T


def enumerated(matrix, shape, axis):
    """The two ε of one attribute by running over all pairs of records."""
    p = table(matrix)
    records = list(product(*(range(k) for k in shape)))
    guaranteed = max(
        float(np.log(p[i] / p[j]).max())
        for i, x in enumerate(records)
        for j, y in enumerate(records)
        if x[:axis] == y[:axis] and x[axis + 1 :] == y[axis + 1 :]
    )
    means = np.array(
        [
            np.mean([p[i] for i, x in enumerate(records) if x[axis] == value], axis=0)
            for value in range(shape[axis])
        ]
    )
    unknown = float(np.log(means.max(axis=0) / means.min(axis=0)).max())
    return guaranteed, unknown


@pytest.mark.parametrize("axis", [0, 1])
def test_attribute_epsilon_of_a_constant_cluster(axis):
    cluster = Cluster(("b", "c"), constant_matrix(12, epsilon=2.0))
    found = cluster_attribute_epsilons(cluster, (3, 4), cluster.attributes[axis])
    assert found == pytest.approx(enumerated(cluster.matrix, (3, 4), axis))
    assert found[0] == cluster.epsilon
    assert found[1] < found[0]


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 2))
def test_attribute_epsilon_of_a_dense_cluster(seed, axis):
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.full(12, 3.0), 12) * 0.5 + np.eye(12) * 0.5
    cluster = Cluster(("a", "b", "x"), dense_matrix(rows))
    found = cluster_attribute_epsilons(cluster, (2, 3, 2), cluster.attributes[axis])
    assert found == pytest.approx(enumerated(cluster.matrix, (2, 3, 2), axis), rel=1e-6)
    assert found[0] <= cluster.epsilon


@pytest.mark.parametrize("make", [banded_matrix, subset_matrix])
@pytest.mark.parametrize("axis", [0, 1])
def test_attribute_epsilon_of_sets_and_bands(make, axis):
    cluster = Cluster(("a", "b"), make(21, epsilon=0.7))
    found = cluster_attribute_epsilons(cluster, (3, 7), cluster.attributes[axis])
    assert found == pytest.approx(enumerated(cluster.matrix, (3, 7), axis))


def test_a_dense_cluster_may_hide_one_attribute_better_than_the_other():
    weak, strong = np.array([[0.9, 0.1], [0.1, 0.9]]), np.array([[0.6, 0.4], [0.4, 0.6]])
    cluster = Cluster(("a", "b"), dense_matrix(np.kron(weak, strong)))
    first = cluster_attribute_epsilons(cluster, (2, 2), "a")
    second = cluster_attribute_epsilons(cluster, (2, 2), "b")
    assert first[0] == pytest.approx(math.log(9), rel=1e-6)
    assert second[0] == pytest.approx(math.log(1.5), rel=1e-6)
    assert cluster.epsilon == pytest.approx(first[0] + second[0], rel=1e-6)


def test_zero_weights_are_infinite():
    cluster = Cluster(("a",), Dense(((2**16, 0), (2**15, 2**15))))
    assert cluster_attribute_epsilons(cluster, (2,), "a") == (math.inf, math.inf)
    design = Design(Domain((Attribute("a", ("p", "q")),)), (Questionnaire((cluster,)),))
    assert json.loads(json.dumps(account(design).to_dict(), allow_nan=False))["epsilon"] is None


@pytest.mark.parametrize(
    "design",
    [
        independent(DOMAIN, p=0.6),
        independent(DOMAIN, epsilon={"c": 0.3, "a": 2.0, "b": 1.0}),
        clustered(DOMAIN, [["c", "a"], ["b"]], epsilon=3.0),
        joint(DOMAIN, p=0.4),
        sampled(DOMAIN, 2, epsilon=1.5),
    ],
    ids=["p", "each", "clusters", "joint", "sampled"],
)
def test_parts_add_up_to_the_design(design):
    spent = account(design)
    assert spent.epsilon == design.epsilon == max(q.epsilon for q in spent.questionnaires)
    for q in spent.questionnaires:
        assert q.epsilon == pytest.approx(sum(c.epsilon for c in q.clusters))
    assert sum(q.probability for q in spent.questionnaires) == pytest.approx(1)
    assert [a.name for a in spent.attributes] == list(DOMAIN.names)
    for a in spent.attributes:
        assert 0 < a.epsilon_others_unknown <= a.epsilon <= spent.epsilon
    again = json.loads(json.dumps(spent.to_dict(), allow_nan=False))
    assert again["fingerprint"] == design.fingerprint


@pytest.mark.parametrize("order", list(permutations(range(3))), ids=str)
def test_an_attribute_costs_what_its_most_revealing_questionnaire_does(order):
    """In one questionnaire `a` stands alone, in one with `b`; the third does not ask it."""
    alone, together, absent = (
        (Cluster(("a",), constant_matrix(2, epsilon=2.0)), Cluster(("b", "c"), TWELVE)),
        (Cluster(("a", "b"), constant_matrix(6, epsilon=2.5)), Cluster(("c",), FOUR)),
        (Cluster(("b",), constant_matrix(3, epsilon=0.1)), Cluster(("c",), FOUR)),
    )
    weights = (2**15, 2**14, 2**14)
    asked = [Questionnaire(q, w) for q, w in zip((alone, together, absent), weights, strict=True)]
    design = Design(DOMAIN, tuple(asked[i] for i in order))
    found = attribute_account(design, "a")
    of_both = cluster_attribute_epsilons(together[0], (2, 3), "a")
    assert found.epsilon == of_both[0] > alone[0].epsilon
    assert found.epsilon_others_unknown == alone[0].epsilon > of_both[1]
    assert found.asked == 0.75
    chances = [q.probability for q in account(design).questionnaires]
    assert chances == [weights[i] / 2**16 for i in order]


def test_an_account_by_hand():
    """Of a and b together 24576 : 8192 = 3, of a with b unknown (3 + 2)/3, of b (3 + 1)/2."""
    pair, single = Constant(6, 24576, 8192), Constant(4, 17536, 16000)
    clusters = (Cluster(("a", "b"), pair), Cluster(("c",), single))
    design = Design(DOMAIN, (Questionnaire(clusters),))
    three, small = math.log(3), math.log(17536 / 16000)
    near = partial(pytest.approx, rel=1e-12)
    found = account(design).to_dict()
    assert found == {
        "fingerprint": design.fingerprint,
        "epsilon": near(three + small),
        "questionnaires": [
            {
                "probability": 1.0,
                "epsilon": near(three + small),
                "clusters": [
                    {
                        "attributes": ["a", "b"],
                        "cells": 6,
                        "kind": "constant",
                        "epsilon": near(three),
                    },
                    {"attributes": ["c"], "cells": 4, "kind": "constant", "epsilon": near(small)},
                ],
            }
        ],
        "attributes": [
            {
                "name": "a",
                "asked": 1.0,
                "epsilon": near(three),
                "epsilon_others_unknown": near(math.log(5 / 3)),
            },
            {
                "name": "b",
                "asked": 1.0,
                "epsilon": near(three),
                "epsilon_others_unknown": near(math.log(2)),
            },
            {
                "name": "c",
                "asked": 1.0,
                "epsilon": near(small),
                "epsilon_others_unknown": near(small),
            },
        ],
        "public": [],
    }


def test_alone_in_its_cluster_both_epsilons_agree():
    for a in account(independent(DOMAIN, p=0.6)).attributes:
        assert a.epsilon == a.epsilon_others_unknown


def test_probability_of_being_asked():
    assert attribute_account(sampled(DOMAIN, 2, epsilon=1.0), "c").asked == pytest.approx(2 / 3)
    assert attribute_account(independent(DOMAIN, p=0.5), "c").asked == 1


def test_wrong_names_and_shapes_are_refused():
    cluster = Cluster(("a",), constant_matrix(2, p=0.5))
    with pytest.raises(DesignError, match="no attribute 'z'"):
        cluster_attribute_epsilons(cluster, (2,), "z")
    with pytest.raises(DesignError, match="shape"):
        cluster_attribute_epsilons(cluster, (3,), "a")
    with pytest.raises(MdrrError, match="z"):
        attribute_account(independent(DOMAIN, p=0.5), "z")
