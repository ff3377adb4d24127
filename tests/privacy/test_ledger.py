import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdrr.domain import Attribute, Domain
from mdrr.errors import MdrrError
from mdrr.privacy import Entry, Ledger
from mdrr.protocols import independent, sampled

DOMAIN = Domain((Attribute("a", ("p", "q")), Attribute("b", ("p", "q", "r"))))


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
