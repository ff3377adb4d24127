"""Ledgers, and composition against the exact privacy loss of repeated randomized response."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from mdrr.domain import Attribute, Domain
from mdrr.errors import MdrrError
from mdrr.matrix import constant_matrix
from mdrr.privacy import Composed, Entry, Ledger, compose, pair_tables, shuffled
from mdrr.protocols import independent, sampled

DOMAIN = Domain((Attribute("a", ("p", "q")), Attribute("b", ("p", "q", "r"))))


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


def test_composition_of_unlike_releases_by_hand():
    """tanh(ε/2) is 1/3 for ε = ln 2, 1/2 for ln 3. With slack = 1/e the root is of twice Σε²."""
    two, three = math.log(2), math.log(3)
    pairs = [(two, 0.25), (three, 0.125), (two, 0.0)]
    whole = compose(pairs * 30, slack=1 / math.e)
    assert whole.basic_epsilon == pytest.approx(30 * (2 * two + three))
    drift = 30 * (2 * two / 3 + three / 2)
    spread = math.sqrt(2 * 30 * (2 * two**2 + three**2))
    assert drift + spread < whole.basic_epsilon
    assert whole.advanced_epsilon == pytest.approx(drift + spread)
    assert (whole.basic_delta, whole.advanced_delta) == (1.0, 1.0)
    once = compose(pairs)
    assert once.advanced_epsilon == once.basic_epsilon
    assert once.basic_delta == 0.375
    assert once.advanced_delta == pytest.approx(0.375 + 1e-9, abs=1e-15)


@pytest.mark.parametrize(("delta", "wanted"), [(0.25, 0.75), (0.75, 1.0)])
def test_slack_adds_to_delta_whether_epsilon_is_finite_or_not(delta, wanted):
    for epsilon in (1.0, math.inf):
        whole = compose([(epsilon, delta)], slack=0.5)
        assert whole == Composed(epsilon, delta, epsilon, wanted)
    assert compose([(math.inf, 0.75), (1.0, 0.75)]).basic_delta == 1.0
    assert compose([(1.0, 1.0)]) == Composed(1.0, 1.0, 1.0, 1.0)


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
    assert (spent.tables, spent.n) == (3, n)
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
    many = pair_tables([0.05] * 2000, 1, 1e-6)  # advanced composition alone, which needs its δ
    assert many.epsilon < many.basic_epsilon == many.pure_epsilon == pytest.approx(100.0)
    assert many.delta == 1e-6


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: compose([(-1.0, 0.0)]), "not a guarantee"),
        (lambda: compose([(math.nan, 0.0)]), "not a guarantee"),
        (lambda: compose([(1.0, 1.01)]), "not a guarantee"),
        (lambda: compose([(1.0, -0.01)]), "not a guarantee"),
        (lambda: compose([(1.0, 0.0)], slack=0.0), "slack"),
        (lambda: compose([(1.0, 0.0)], slack=1.0), "slack"),
        (lambda: pair_tables([], 10, 1e-6), "no tables"),
        (lambda: pair_tables([1.0], 10, 0.0), "δ=0.0 must lie strictly between"),
        (lambda: pair_tables([1.0], 10, 1.0), "δ=1.0 must lie strictly between"),
    ],
)
def test_bad_input_is_refused(call, words):
    with pytest.raises(MdrrError, match=words):
        call()


def test_designs_add_up_in_order():
    one, two = independent(DOMAIN, p=0.3), sampled(DOMAIN, 1, epsilon=1.0)
    empty = Ledger()
    ledger = empty.add(one, name="first").add(two)
    assert empty.epsilon == 0
    assert empty.entries == ()
    assert [entry.fingerprint for entry in ledger.entries] == [one.fingerprint, two.fingerprint]
    assert ledger.epsilon == pytest.approx(one.epsilon + two.epsilon)
    assert [row["so_far"] for row in ledger.table()] == [
        one.epsilon,
        pytest.approx(one.epsilon + two.epsilon),
    ]
    assert ledger.table()[1]["name"] == two.fingerprint[:12]


def test_entries_of_a_ledger_by_default_and_in_full():
    design = independent(DOMAIN, p=0.3)
    ledger = Ledger().add(design, name="first").add_release("second", 0.25).add_exact("third")
    assert ledger.entries == (
        Entry("first", design.epsilon, 0.0, design.fingerprint),
        Entry("second", 0.25, 0.0, ""),
        Entry("third", math.inf, 0.0, ""),
    )
    assert Ledger().add_release("x", 0.25, 1.0).delta == 1.0
    assert Ledger().add_release("x", 0.0, 0.75).add_release("y", 0.0, 0.75).delta == 1.0


def test_ledgers_are_written_with_sums_and_read_without_what_is_zero():
    ledger = Ledger((Entry("x", 0.5, 0.125, "abc"), Entry("y", 0.25)))
    assert ledger.to_dict() == {
        "entries": [
            {"name": "x", "epsilon": 0.5, "delta": 0.125, "fingerprint": "abc"},
            {"name": "y", "epsilon": 0.25, "delta": 0.0, "fingerprint": ""},
        ],
        "epsilon": 0.75,
        "delta": 0.125,
    }
    short = {"entries": [{"name": "y", "epsilon": 0.25}]}
    assert Ledger.from_dict(short) == Ledger((Entry("y", 0.25, 0.0, ""),))
    assert Ledger.from_dict(ledger.to_dict()) == ledger


def test_what_is_left_of_a_budget():
    ledger = Ledger().add_release("a poll", 1.5)
    assert (ledger.left(2.0), ledger.left(1.5), ledger.left(1.0)) == (0.5, 0.0, 0.0)


def test_a_fresh_report_of_the_same_design_costs_again():
    design = independent(DOMAIN, p=0.3)
    assert Ledger().add(design).add(design).epsilon == pytest.approx(2 * design.epsilon)


def test_the_questionnaire_she_was_given_is_what_she_spends():
    design = sampled(DOMAIN, 1, epsilon=1.0)
    for i, questionnaire in enumerate(design.questionnaires):
        assert Ledger().add(design, questionnaire=i).epsilon == questionnaire.epsilon
    for wrong in (-1, 2):
        with pytest.raises(MdrrError, match="counted from 0"):
            Ledger().add(design, questionnaire=wrong)


def test_exact_tables_are_infinite_and_survive_json():
    ledger = Ledger().add_release("shuffled", 0.2, 1e-6).add_exact("tables")
    assert math.isinf(ledger.epsilon)
    assert ledger.left(100.0) == 0.0
    text = json.dumps(ledger.to_dict(), allow_nan=False)
    assert Ledger.from_dict(json.loads(text)) == ledger


@given(st.lists(st.tuples(st.floats(0, 10), st.floats(0, 0.01)), max_size=30))
def test_sums_are_never_too_small(pairs):
    ledger = Ledger(tuple(Entry("x", e, d) for e, d in pairs))
    assert ledger.epsilon >= math.fsum(e for e, _ in pairs)
    assert ledger.epsilon <= math.fsum(e for e, _ in pairs) * (1 + 1e-12)
    assert ledger.delta == pytest.approx(sum(d for _, d in pairs))
    assert Ledger.from_dict(ledger.to_dict()) == ledger


@pytest.mark.parametrize("epsilon", [-0.1, math.nan])
def test_entries_are_checked(epsilon):
    with pytest.raises(MdrrError, match="0 or more"):
        Ledger().add_release("bad", epsilon)


def test_unreadable_ledgers_are_refused():
    with pytest.raises(MdrrError, match="not a probability"):
        Ledger().add_release("bad", 1.0, 2.0)
    for fields in ({}, {"entries": 3}, {"entries": [{"name": "x", "epsilon": "much"}]}):
        with pytest.raises(MdrrError, match="cannot be read"):
            Ledger.from_dict(fields)
