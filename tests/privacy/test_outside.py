"""Public attributes are outside ε: no account, no sentence and no crowd pretends otherwise."""

import pytest

from mdrr.errors import DesignError
from mdrr.matrix import Public
from mdrr.privacy import account, attribute_account, in_words, posterior, shuffled
from mdrr.protocols import independent, sampled
from mdrr.theory import reported_covariance
from tests.cases import domain_of, public

DOMAIN = public(domain_of(3, 2, 4), "a")
DESIGN = independent(DOMAIN, epsilon=2.0)
HIDDEN = independent(domain_of(3, 2, 4).project("bc"), epsilon=2.0)


def test_an_account_is_of_what_is_randomized_and_lists_the_rest():
    spent = account(DESIGN)
    assert spent.epsilon == DESIGN.epsilon == HIDDEN.epsilon
    assert spent.public == ("a",)
    assert [a.name for a in spent.attributes] == ["b", "c"]
    assert [c.attributes for c in spent.questionnaires[0].clusters] == [("b",), ("c",)]
    assert spent.to_dict()["public"] == ["a"]
    with pytest.raises(DesignError, match="'a' is public"):
        attribute_account(DESIGN, "a")


def test_a_respondent_is_told_what_is_sent_as_it_is_and_what_that_means():
    words = in_words(DESIGN)
    assert words[0].startswith("a: your answer is sent as it is")
    assert any("beyond your public answers (a)" in sentence for sentence in words)
    plain = in_words(HIDDEN)
    assert set(plain) <= set(words)
    asked = in_words(sampled(DOMAIN, 1, epsilon=1.0))
    assert any("You are asked 1 of the 2 other questions" in sentence for sentence in asked)
    assert DESIGN.outside.startswith("Outside ε: a.")
    assert HIDDEN.outside == ""


def test_only_people_with_the_same_public_answers_hide_each_other():
    """Among them the public answers say nothing, so the crowd is that of the rest."""
    for n in (100, 5000):
        assert shuffled(DESIGN, n, 1e-6) == shuffled(HIDDEN, n, 1e-6)
    one = independent(public(domain_of(3, 2), "a"), epsilon=1.0)
    assert shuffled(one, 1000, 1e-6) == shuffled(one.randomized.clusters[0].matrix, 1000, 1e-6)


def test_a_public_report_leaves_no_doubt_and_keeps_covariances():
    assert posterior(Public(3), [0.2, 0.5, 0.3], 1).tolist() == [0, 1, 0]
    half = HIDDEN.clusters[0].matrix
    assert reported_covariance(0.2, Public(2), half) == pytest.approx(0.2 * half.signal)
