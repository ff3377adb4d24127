"""Composition against the exact privacy loss of repeated randomized response."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from mdrr.errors import MdrrError
from mdrr.matrix import constant_matrix
from mdrr.privacy import compose, pair_tables, shuffled


def exact_repeated_delta(epsilon, times, at):
    """δ at ε of binary randomized response repeated on one bit: k reports tell the truth."""
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    return sum(
        max(
            stats.binom.pmf(k, times, keep)
            - math.exp(at) * stats.binom.pmf(times - k, times, keep),
            0.0,
        )
        for k in range(times + 1)
    )


@pytest.mark.parametrize("times", [1, 5, 40, 200])
@pytest.mark.parametrize("epsilon", [0.02, 0.2, 1.0])
@pytest.mark.parametrize("slack", [1e-9, 1e-3])
def test_composition_is_above_the_exact_loss(times, epsilon, slack):
    whole = compose([(epsilon, 0.0)] * times, slack=slack)
    assert exact_repeated_delta(epsilon, times, whole.advanced_epsilon) <= slack
    assert exact_repeated_delta(epsilon, times, whole.basic_epsilon) <= 1e-12
    assert whole.advanced_epsilon <= whole.basic_epsilon


def test_advanced_composition_is_no_wild_overestimate():
    """Power: half of it is refuted by the exact loss."""
    whole = compose([(0.1, 0.0)] * 200, slack=1e-6)
    assert exact_repeated_delta(0.1, 200, whole.advanced_epsilon / 2) > 1e-6


@given(st.lists(st.tuples(st.floats(0, 3), st.floats(0, 1e-3)), max_size=20))
def test_basic_composition_adds(pairs):
    whole = compose(pairs)
    assert whole.basic_epsilon == pytest.approx(sum(e for e, _ in pairs))
    assert whole.basic_delta == pytest.approx(sum(d for _, d in pairs))
    assert whole.advanced_delta >= whole.basic_delta


def test_an_exact_release_makes_everything_infinite():
    whole = compose([(1.0, 0.0), (math.inf, 0.0)])
    assert math.isinf(whole.advanced_epsilon)
    assert whole.to_dict()["basic_epsilon"] is None


def test_pair_tables_sum_and_amplify():
    a, b = constant_matrix(6, epsilon=1.0), constant_matrix(4, epsilon=2.0)
    n, delta = 2000, 1e-6
    spent = pair_tables([a, b, a], n, delta)
    assert spent.tables == 3
    assert spent.pure_epsilon == pytest.approx(2 * a.epsilon + b.epsilon)
    by_hand = sum(shuffled(m, n, delta / 3).epsilon for m in (a, b, a))
    assert spent.basic_epsilon == pytest.approx(by_hand)
    assert spent.epsilon == min(spent.basic_epsilon, spent.advanced_epsilon) < spent.pure_epsilon
    assert spent.delta == delta


def test_pair_tables_by_advanced_composition_spend_no_more_than_the_delta_they_state():
    """Half of δ for the tables, half for the composition, as a person would add them up."""
    matrix, tables, n, delta = constant_matrix(6, epsilon=1.0), 40, 2000, 1e-6
    spent = pair_tables([matrix] * tables, n, delta)
    one = shuffled(matrix, n, delta / 2 / tables)
    whole = compose([(one.epsilon, one.delta)] * tables, slack=delta / 2)
    assert whole.advanced_delta == pytest.approx(delta)
    assert spent.epsilon == spent.advanced_epsilon == pytest.approx(whole.advanced_epsilon)


def test_pair_tables_of_few_people_cost_the_pure_sum():
    spent = pair_tables([3.0, 3.0], 5, 1e-6)
    assert (spent.epsilon, spent.delta) == (6.0, 0.0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: compose([(-1.0, 0.0)]), "not a guarantee"),
        (lambda: compose([(1.0, 2.0)]), "not a guarantee"),
        (lambda: compose([(1.0, 0.0)], slack=0.0), "slack"),
        (lambda: pair_tables([], 10, 1e-6), "no tables"),
        (lambda: pair_tables([1.0], 10, 0.0), "strictly between"),
    ],
)
def test_bad_input_is_refused(call, words):
    with pytest.raises(MdrrError, match=words):
        call()
