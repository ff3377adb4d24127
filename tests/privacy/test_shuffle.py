"""Shuffling bounds against exact enumeration."""

import math
from itertools import combinations_with_replacement, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
from mdrr.privacy import Clones, Shuffled, clones_of, shuffle, shuffled, shuffled_closed_form
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


def chosen(design):
    """The largest c with which every report satisfies the decomposition, enumerated."""
    law = report_law(design)
    pairs = [law[i] + law[j] for i, j in permutations(range(len(law)), 2)]
    return min(float((2 * law / pair).min()) for pair in pairs)


@pytest.mark.parametrize("design", [two_binary(), split()], ids=["whole", "split"])
def test_no_larger_chance_would_do_for_constant_clusters(design):
    assert clones_of(design).chance == pytest.approx(chosen(design), rel=1e-9)


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("alone", [1.2, 1.9])
def test_a_questionnaire_that_leaves_out_an_attribute_has_fewer_clones(order, alone):
    """Two records then can be equal in all that is asked. The fewest clones of any count."""
    domain = Domain((Attribute("a", ("x", "y")), Attribute("b", ("x", "y", "z"))))
    one = Questionnaire(
        (Cluster(("a",), Constant(2, 49152, 16384)), Cluster(("b",), Constant(3, 32768, 16384))),
        2**15,
    )
    two = Questionnaire((Cluster(("a",), constant_matrix(2, epsilon=alone)),), 2**15)
    design = Design(domain, (one, two)[::order])
    both = 2 * (1 / 3 * 1 / 2) / (1 + 1 / 2)
    assert clones_of(design).chance == pytest.approx(min(both, math.exp(-alone)), rel=1e-4)
    assert clones_of(design).chance == pytest.approx(chosen(design), rel=1e-9)


def test_a_joint_cluster_of_everything_leaves_nothing_out():
    domain = Domain((Attribute("a", ("x", "y")), Attribute("b", ("x", "y"))))
    weights = Dense(((40000, 25535, 1), (20000, 45535, 1)))
    one = Questionnaire((Cluster(("a", "b"), Constant(4, 40960, 8192)),), 2**15)
    two = Questionnaire(
        (Cluster(("b",), weights), Cluster(("a",), Constant(2, 2**15 + 1, 2**15 - 1))), 2**15
    )
    assert clones_of(Design(domain, (one, two))).chance == pytest.approx(2 * 0.2 / 1.2)


@pytest.mark.parametrize(
    ("weights", "chance"),
    [
        (BAND.weights, 2 * 5000 / (40000 + 15000)),
        (((40000, 25536, 0), (20000, 45536, 0)), 2 * 20000 / 60000),
        (((40000, 25535, 1), (20000, 45536, 0)), 0.0),
        (((40000, 25535, 1), (20000, 45536, 0), (30000, 35536, 0)), 0.0),
        (((36000, 29535, 1), (29536, 35997, 3)), 2 * 1 / 4),
    ],
    ids=["three", "never reported", "betrays", "betrays one of three", "rare"],
)
def test_chance_of_a_dense_matrix_by_hand(weights, chance):
    matrix = Dense(weights)
    found = clones_of(matrix)
    assert found.chance == pytest.approx(chance, rel=1e-12)
    odds = math.exp(matrix.epsilon)
    assert (found.high, found.low) == pytest.approx(
        (odds / (1 + odds) if chance else 1, 1 / (1 + odds))
    )


@pytest.mark.parametrize(
    ("weights", "second"),
    [
        (BAND.weights, 25000 / 35536),
        (((40000, 25536, 0), (20000, 45536, 0)), 25536 / 45536),
        (((40000, 25535, 1), (20000, 45535, 1)), 1.0),
    ],
    ids=["three", "never reported", "rare"],
)
def test_chance_of_a_report_with_a_dense_cluster_by_hand(weights, second):
    """The largest second-largest share of a column is that of the dense cluster, not 1/4."""
    domain = Domain((Attribute("a", tuple("xyz"[: len(weights)])), Attribute("b", ("x", "y"))))
    clusters = (Cluster(("b",), Constant(2, 52428, 13107 + 1)), Cluster(("a",), Dense(weights)))
    design = Design(domain, (Questionnaire(clusters),))
    assert clones_of(design).chance == pytest.approx(
        2 * math.exp(-design.epsilon) / (1 + second), rel=1e-9
    )


def test_clones_of_any_report_by_hand():
    third = clones_of(math.log(3))
    assert (third.chance, third.high, third.low) == pytest.approx((1 / 3, 3 / 4, 1 / 4), rel=1e-12)
    assert clones_of(0) == Clones(1.0, 0.5, 0.5)
    assert clones_of(2) == clones_of(2.0)
    assert clones_of(699.5).low > 0
    assert clones_of(700.0) == Clones(math.exp(-700.0), 1.0, 0.0)
    assert clones_of(800.0) == Clones(0.0, 1.0, 0.0)
    with pytest.raises(MdrrError, match="not a probability"):
        clones_of(-1.0)


def falling(epsilon):
    return math.exp(-epsilon)


@pytest.mark.parametrize("wanted", [1e-7, 0.003, 0.5, 2.0, 30.0])
@pytest.mark.parametrize("delta", [1e-9, 0.5])
def test_the_smallest_epsilon_is_found_and_rounded_up(wanted, delta):
    """δ(ε) falls by a millionth within 10^-6, which is left for errors of its sum."""
    found = shuffle._smallest(lambda e: delta * falling(e - wanted), delta, 40.0)
    assert wanted < found < (wanted + 1e-6) * (1 + 2e-4) + 2e-9


def test_the_smallest_epsilon_at_the_ends():
    assert shuffle._smallest(falling, 1.0, 5.0) == 0.0
    assert shuffle._smallest(falling, math.exp(-3.0), 3.0) == 3.0
    assert shuffle._smallest(falling, math.exp(-3.0), 2.9) == math.inf
    assert shuffle._smallest(falling, math.exp(-3.0), 3.0001) <= 3.0001
    assert 0.5 < shuffle._smallest(lambda e: max(0.5 - e, 0.0), 1e-9, 9.0) < 0.5002


def flat(start, stop, height, delta):
    """2δ, then of a certain height, then δ/2."""
    return lambda e: 2 * delta if e < start else height if e < stop else delta / 2


@pytest.mark.parametrize(("start", "stop"), [(1.0, 1.01), (1e-8, 1.3e-8)])
def test_what_may_be_above_delta_by_rounding_is_not_enough(start, stop):
    """A flat stretch that is below δ by half a millionth, then one that is by a millionth."""
    delta = 1e-6
    found = shuffle._smallest(flat(start, stop, delta * (1 - 5e-7), delta), delta, 2.0)
    assert stop <= found <= stop * (1 + 1.01e-4) + 1.01e-9
    enough = 0.25 * (1 + 1e-6)
    found = shuffle._smallest(flat(start, stop, 0.25, enough), enough, 2.0)
    assert start <= found < start * (1 + 2e-4) + 2e-9


def test_the_search_takes_few_evaluations():
    """Halving from 2 to 10^-4 takes 15 steps; δ of a large crowd takes long."""
    asked = []

    def step(epsilon):
        asked.append(epsilon)
        return 2e-6 if epsilon < 1.2345 else 5e-7

    assert 1.2345 <= shuffle._smallest(step, 1e-6, 2.0) < 1.2345 * (1 + 2e-4)
    assert len(asked) < 25


def test_numbers_of_shuffled_reports_by_their_definition():
    """The found ε is the smallest with δ(ε) ≤ δ, from the sum over every number of clones."""
    for what, n, delta in [(1.0, 20, 0.01), (2, 30, 1e-3), (Constant(3, 2**15, 2**14), 40, 1e-4)]:
        found = shuffled(what, n, delta)
        clones = clones_of(what)
        assert clones.delta(found.epsilon, n) <= delta < clones.delta(found.epsilon * 0.9997, n)
        local = what if isinstance(what, int | float) else what.epsilon
        assert found == Shuffled(found.epsilon, delta, local, n, "clones")
        assert isinstance(found.local_epsilon, float)


def test_one_report_hides_in_no_crowd():
    assert shuffled(1.0, 1, 0.3) == Shuffled(1.0, 0.0, 1.0, 1, "local")
    assert shuffled(1.0, 2, 0.3).method == "clones"
    assert shuffled(0, 5, 0.3) == Shuffled(0.0, 0.0, 0.0, 5, "local")
    assert shuffled(1.0, 5, 0.0) == Shuffled(1.0, 0.0, 1.0, 5, "local")
    assert shuffled(math.inf, 5, 0.3) == Shuffled(math.inf, 0.0, math.inf, 5, "local")


@pytest.mark.parametrize("local", [2.0, 9.0, 13.0, 20.0, 30.0, 36.0, 40.0, 100.0, 690.0, 720.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-9, 1e-2])
def test_no_crowd_hides_her_if_nobody_else_is_a_clone(local, delta):
    """δ is at least P(no clone)·(high − e^ε·low), also where 1 − low rounds to 1."""
    n = 10**6
    found = shuffled(local, n, delta)
    alone = math.exp((n - 1) * math.log1p(-math.exp(-local)))
    seen = -math.expm1(found.epsilon - local) / (1 + math.exp(-local))
    assert alone * seen <= found.delta
    assert found.method == "local" or local < 36
    assert found.epsilon < local / 2 or local > 9


def test_large_budgets_of_designs_are_not_hidden():
    domain = Domain(tuple(Attribute(f"a{i}", ("x", "y")) for i in range(30)))
    for epsilon in (60.0, 750.0):
        design = independent(domain, epsilon=epsilon)
        assert shuffled(design, 1000, 0.01) == Shuffled(
            design.epsilon, 0.0, design.epsilon, 1000, "local"
        )


def test_epsilon_is_sought_where_rounding_is_at_most_half_of_delta(monkeypatch):
    sought = []
    monkeypatch.setattr(shuffle, "_smallest", lambda at, delta, most: sought.append(most) or most)
    monkeypatch.setattr(shuffle, "ROUNDING", 0.01)
    assert shuffled(20.0, 9, 0.3).method == "clones"
    assert shuffled(2.0, 9, 0.3).method == "local"
    assert sought == pytest.approx([math.log(15), 2.0])


def test_crowds_beyond_the_largest_count_as_that_large(monkeypatch):
    monkeypatch.setattr(shuffle, "_MOST", 50)
    large, small = shuffled(3.0, 1000, 0.01), shuffled(3.0, 50, 0.01)
    assert large == Shuffled(small.epsilon, 0.01, 3.0, 1000, "clones")
    monkeypatch.setattr(shuffle, "_MOST", 2)
    closed = shuffled_closed_form(1.0, 10**6, 1e-6)
    assert shuffled(1.0, 10**6, 1e-6) == Shuffled(closed, 1e-6, 1.0, 10**6, "closed form")
    monkeypatch.setattr(shuffle, "shuffled_closed_form", lambda epsilon, n, delta: epsilon)
    assert shuffled(1.0, 10**6, 1e-6) == Shuffled(1.0, 0.0, 1.0, 10**6, "local")


def test_theorem_by_hand():
    """Values by 40-digit arithmetic."""
    assert shuffled_closed_form(1.0, 100_000, 1e-6) == pytest.approx(0.0725549248870, rel=1e-12)
    assert shuffled_closed_form(0.5, 20_000, 1e-3) == pytest.approx(0.0501178489478, rel=1e-12)
    assert shuffled_closed_form(0.0, 20_000, 1e-3) == 0.0
    assert shuffled_closed_form(0.1, 10**6, 0.0) == math.inf
    assert shuffled_closed_form(math.nan, 10**6, 0.1) == math.inf
    edge = math.log(10_000) - math.log(16 * math.log(2 / 1e-6))
    assert shuffled_closed_form(edge, 10_000, 1e-6) < math.inf
    assert shuffled_closed_form(-5.0, 1, 0.5) < 0  # one report is enough to be asked about
