"""Shuffling bounds against exact enumeration and an independent, term-by-term implementation."""

import math
from itertools import combinations_with_replacement, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from mdrr.design import Cluster, Design, Questionnaire
from mdrr.domain import Attribute, Domain
from mdrr.errors import MdrrError
from mdrr.matrix import (
    Constant,
    Dense,
    banded_matrix,
    constant_matrix,
    dense_matrix,
    subset_matrix,
)
from mdrr.privacy import Clones, clones_of, shuffled, shuffled_closed_form
from mdrr.privacy.clones import crowd_of
from mdrr.protocols import independent, sampled

BAND = Dense(((40000, 20000, 5536), (15000, 35536, 15000), (5000, 25000, 35536)))


def table(matrix):
    """P[true, reported] as floats."""
    return matrix.likelihood(np.arange(matrix.outcomes)).T


def multisets(rows):
    """The exact distribution of the multiset of independent reports, by counts."""
    law = {(0,) * len(rows[0]): 1.0}
    for row in rows:
        grown = {}
        for counts, mass in law.items():
            for y, chance in enumerate(row):
                key = (*counts[:y], counts[y] + 1, *counts[y + 1 :])
                grown[key] = grown.get(key, 0.0) + mass * chance
        law = grown
    return law


def exact_delta(probabilities, n, epsilon):
    """The true δ of n shuffled reports: the worst over all neighbouring data sets."""
    truths = range(len(probabilities))
    worst = 0.0
    for others in combinations_with_replacement(truths, n - 1):
        rows = [probabilities[u] for u in others]
        laws = [multisets([*rows, probabilities[u]]) for u in truths]
        for p, q in permutations(laws, 2):
            worst = max(worst, sum(max(p[k] - math.exp(epsilon) * q[k], 0.0) for k in p))
    return worst


def report_law(design):
    """P[record, (questionnaire, codes)] of a whole report, enumerated."""
    domain, total = design.domain, sum(q.weight for q in design.questionnaires)
    records = list(product(*(range(size) for size in domain.shape)))
    rows = []
    for record in records:
        row = []
        for q in design.questionnaires:
            laws = []
            for cluster in q.clusters:
                at = [record[domain.index(name)] for name in cluster.attributes]
                cell = np.ravel_multi_index(at, design.shape(cluster))
                laws.append(table(cluster.matrix)[cell])
            row += [q.weight / total * math.prod(each) for each in product(*laws)]
        rows.append(row)
    return np.array(rows)


@pytest.mark.parametrize("cells", [2, 3, 4])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("n", [2, 3, 5])
def test_constant_bound_is_above_the_exact_delta(cells, epsilon, n):
    matrix = constant_matrix(cells, epsilon=epsilon)
    for share in (0.0, 0.1, 0.5, 0.9, 0.999):
        at = share * matrix.epsilon
        exact = exact_delta(table(matrix), n, at)
        tight, loose = clones_of(matrix).delta(at, n), clones_of(matrix.epsilon).delta(at, n)
        assert exact <= tight * (1 + 1e-9) + 1e-15
        assert tight <= loose * (1 + 1e-9) + 1e-15


@pytest.mark.parametrize("cells", [2, 3])
def test_enumeration_would_catch_too_many_clones(cells):
    """Power: a clone chance that is 5 % too large breaks the bound somewhere."""
    matrix = constant_matrix(cells, epsilon=1.0)
    right = clones_of(matrix)
    wrong = Clones(right.chance * 1.05, right.high, right.low)
    broken = [
        exact_delta(table(matrix), 4, at) > wrong.delta(at, 4) * (1 + 1e-9)
        for at in np.linspace(0, 0.99, 12)
    ]
    assert any(broken)


@pytest.mark.parametrize("n", [2, 4])
@pytest.mark.parametrize(
    "matrix",
    [BAND, banded_matrix(3, epsilon=1.0), subset_matrix(4, epsilon=0.5)],
    ids=["dense", "banded", "subset"],
)
def test_other_matrices_have_a_bound_above_the_exact_delta(matrix, n):
    clones, law = clones_of(matrix), table(matrix)
    assert clones.chance >= math.exp(-matrix.epsilon) * (1 - 1e-9)
    for pair in (law[i] + law[j] for i, j in permutations(range(len(law)), 2)):
        assert (law >= clones.chance / 2 * pair * (1 - 1e-12)).all()
    for share in (0.0, 0.2, 0.6, 0.95):
        at = share * matrix.epsilon
        assert exact_delta(law, n, at) <= clones.delta(at, n) + 1e-15


def two_binary():
    domain = Domain((Attribute("a", ("x", "y")), Attribute("b", ("x", "y"))))
    return independent(domain, epsilon={"a": 0.7, "b": 1.6})


def split():
    domain = Domain((Attribute("a", ("x", "y")), Attribute("b", ("x", "y"))))
    one = Questionnaire((Cluster(("a",), constant_matrix(2, epsilon=1.0)),), 2**14)
    two = Questionnaire((Cluster(("b",), constant_matrix(2, epsilon=2.0)),), 2**16 - 2**14)
    return Design(domain, (one, two))


def with_dense():
    domain = Domain((Attribute("a", ("x", "y", "z")), Attribute("b", ("x", "y"))))
    clusters = (Cluster(("a",), BAND), Cluster(("b",), constant_matrix(2, epsilon=0.4)))
    return Design(domain, (Questionnaire(clusters),))


@pytest.mark.parametrize("design", [two_binary(), split(), with_dense()], ids="ISD")
def test_design_bound_is_above_the_exact_delta(design):
    law, clones = report_law(design), clones_of(design)
    assert np.allclose(law.sum(axis=1), 1)
    half = (law[:, None, :] + law[None, :, :]) / 2
    for pair in half[~np.eye(len(law), dtype=bool)]:  # the decomposition the proof needs
        assert (law >= clones.chance * pair * (1 - 1e-12)).all()
    for share in (0.0, 0.3, 0.8):
        at = share * design.epsilon
        assert exact_delta(law, 3, at) <= clones.delta(at, 3) * (1 + 1e-9)


def term_by_term(clones, n, epsilon):
    """E over C, T and n₀ of the positive part, with nothing simplified."""
    a, b, gamma = clones.high, clones.low, clones.high + clones.low
    total = 0.0
    for c in range(n):
        for t in range(c + 2):
            for k in range(t + 1):
                mass = (
                    stats.binom.pmf(c, n - 1, clones.chance)
                    * stats.binom.pmf(t, c + 1, min(gamma, 1.0))
                    * stats.binom.pmf(k, t, 0.5)
                )
                p = (2 * (a * k + b * (t - k)) / gamma + c + 1 - t) / (c + 1)
                q = (2 * (b * k + a * (t - k)) / gamma + c + 1 - t) / (c + 1)
                total += mass * max(p - math.exp(epsilon) * q, 0.0)
    return total


@settings(max_examples=25, deadline=None)
@given(
    chance=st.floats(0.01, 1.0),
    low=st.floats(0.001, 0.3),
    gain=st.floats(0.01, 0.4),
    n=st.integers(1, 7),
    epsilon=st.floats(0.0, 3.0),
)
def test_closed_sum_equals_term_by_term(chance, low, gain, n, epsilon):
    clones = Clones(chance, low + gain, low)
    assert clones.delta(epsilon, n) == pytest.approx(term_by_term(clones, n, epsilon), abs=1e-12)


@pytest.mark.parametrize("what", [1.0, 3.0, constant_matrix(5, epsilon=1.5)])
def test_buckets_cost_little_and_never_help(what):
    clones, n, delta = clones_of(what), 700, 1e-4
    crowd = crowd_of(clones, n, delta * 1e-4)
    found = shuffled(what, n, delta).epsilon
    for at in (0.5 * found, found, 1.5 * found):
        exact = clones.delta(at, n)
        assert exact <= clones.delta_at(at, crowd) * (1 + 1e-9)
        assert clones.delta_at(at, crowd) <= exact * 1.1 + delta * 1e-3
    assert clones.delta(found, n) <= delta < clones.delta(0.97 * found, n)


@settings(max_examples=40, deadline=None)
@given(
    epsilon=st.floats(0.01, 6.0),
    n=st.integers(2, 10**6),
    delta=st.sampled_from([1e-9, 1e-6, 1e-3]),
)
def test_theorem_is_above_the_numerical_bound(epsilon, n, delta):
    closed, found = shuffled_closed_form(epsilon, n, delta), shuffled(epsilon, n, delta)
    assert found.epsilon <= min(closed, epsilon)
    if math.isfinite(closed):
        assert clones_of(epsilon).delta_at(
            closed, crowd_of(clones_of(epsilon), n, 0.01 * delta)
        ) <= (delta)


def test_theorem_applies_only_where_it_says():
    n, delta = 10_000, 1e-6
    edge = math.log(n / (16 * math.log(2 / delta)))
    assert math.isfinite(shuffled_closed_form(edge * 0.999, n, delta))
    assert math.isinf(shuffled_closed_form(edge * 1.001, n, delta))


def test_more_people_hide_better_and_less_delta_costs_more():
    by_n = [shuffled(2.0, n, 1e-6).epsilon for n in (1, 10, 100, 1000, 10**4, 10**5, 10**6)]
    assert by_n[0] == by_n[1] == 2.0
    assert by_n == sorted(by_n, reverse=True)
    assert by_n[-1] < 0.02
    by_delta = [shuffled(2.0, 5000, delta).epsilon for delta in (1e-3, 1e-6, 1e-9, 0.0)]
    assert by_delta == sorted(by_delta)
    assert by_delta[-1] == 2.0


def test_large_crowds_end():
    assert shuffled(constant_matrix(9, epsilon=1.0), 10**9, 1e-12).epsilon < 0.002


def test_local_guarantee_has_no_delta():
    found = shuffled(8.0, 50, 1e-6)
    assert (found.epsilon, found.delta, found.method) == (8.0, 0.0, "local")
    sure = dense_matrix([[1.0, 0.0], [0.5, 0.5]])
    assert shuffled(sure, 10**5, 1e-6).to_dict()["epsilon"] is None
    assert shuffled(0.0, 10, 1e-6).epsilon == 0.0


def test_design_of_one_cluster_is_its_matrix():
    domain = Domain((Attribute("a", ("x", "y", "z")),))
    design = independent(domain, epsilon=1.0)
    assert shuffled(design, 1000, 1e-6) == shuffled(design.clusters[0].matrix, 1000, 1e-6)


def test_sampled_design_uses_its_least_hidden_questionnaire():
    domain = Domain(tuple(Attribute(name, tuple("xyz"[:k])) for name, k in [("a", 2), ("b", 3)]))
    design = sampled(domain, 1, epsilon=1.0)
    worst = max(q.epsilon for q in design.questionnaires)
    assert clones_of(design).chance == pytest.approx(math.exp(-worst), rel=1e-6)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: shuffled(1.0, 0, 1e-6), "at least one report"),
        (lambda: shuffled(1.0, 10, 1.0), "between 0 and 1"),
        (lambda: shuffled(1.0, 10, -0.1), "between 0 and 1"),
        (lambda: shuffled(-1.0, 10, 1e-6), "0 or more"),
        (lambda: shuffled(math.nan, 10, 1e-6), "0 or more"),
        (lambda: Clones(1.5, 0.5, 0.5), "not a probability"),
        (lambda: Clones(0.5, 0.4, 0.5), "low ≤ high"),
        (lambda: Clones(0.5, 0.9, 0.5), "low ≤ high"),
    ],
)
def test_bad_input_is_refused(call, words):
    with pytest.raises(MdrrError, match=words):
        call()


def test_constant_chance_from_the_integers():
    assert clones_of(Constant(3, diagonal=2**15, off=2**14)) == Clones(2 / 3, 0.5, 0.25)
