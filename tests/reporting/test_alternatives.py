"""Other designs beside the one in use: the plan's own numbers, and words where there is no plan."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

import mdrr
from mdrr.dependence import Dependences
from mdrr.design import Cluster, Design, Questionnaire
from mdrr.domain import Attribute, Domain
from mdrr.errors import DesignError
from mdrr.matrix import constant_matrix, dense_matrix
from mdrr.planning import plan, predict
from mdrr.plots.style import percent
from mdrr.reporting import alternatives as module
from mdrr.reporting.alternatives import MOST_ATTRIBUTES, OWN, Alternatives, alternatives, distinct

SHAPE = (5, 2, 7, 3)
DOMAIN = Domain(
    tuple(Attribute(name, tuple(range(size))) for name, size in zip("abcd", SHAPE, strict=True))
)
N = 20_000


def related(strength: float) -> Dependences:
    values = np.full((4, 4), strength)
    np.fill_diagonal(values, 1.0)
    return Dependences(DOMAIN.names, values)


def used(found: Alternatives) -> str | None:
    return found.used and found.used.name


def names_in(found: Alternatives) -> list[str]:
    return [] if found.plan is None else [c.name for c in found.plan.candidates]


def test_designs_are_the_plans_candidates_in_its_order() -> None:
    design = mdrr.independent(DOMAIN, epsilon=4.0)
    found = alternatives(design, N)
    proposed = plan(DOMAIN, n=N, epsilon=design.epsilon)
    assert found.plan is not None
    shown = [(c.name, c.predicted, c.design) for c in found.plan.candidates]
    assert shown[0][0] == proposed.best.name
    assert shown == [
        (c.name, c.predicted, c.design) for c in proposed.candidates if c.name in names_in(found)
    ]


def test_designs_that_ask_the_same_are_listed_once() -> None:
    found = plan(DOMAIN, n=N, epsilon=9.0)
    twice = [*found.candidates, *(replace(c, name=f"again {c.name}") for c in found.candidates)]
    names = [c.name for c in distinct(replace(found, candidates=tuple(twice)))]
    assert {"joint", "independent", "sampled 2"} <= set(names)
    assert not any(name.startswith("again") for name in names)
    assert "sampled 4" not in {c.name for c in found.candidates}, "it is joint"


@pytest.mark.parametrize(
    ("design", "name"),
    [
        (mdrr.independent(DOMAIN, epsilon=4.0), "independent"),
        (mdrr.joint(DOMAIN, epsilon=4.0), "joint"),
        (mdrr.sampled(DOMAIN, 1, epsilon=4.0), "sampled 1"),
    ],
)
def test_the_design_in_use_is_found_though_budgets_are_rounded(design: Design, name: str) -> None:
    found = alternatives(design, N)
    assert used(found) == name
    assert name in names_in(found)
    assert OWN not in names_in(found)


def test_a_design_that_is_no_candidate_is_predicted_beside_them() -> None:
    design = mdrr.clustered(DOMAIN, [["a", "b"], ["c", "d"]], epsilon=4.0)
    found = alternatives(design, N)
    assert found.plan is not None
    expected = predict(design, N, found.plan.tables, dependences=found.plan.dependences)
    assert used(found) == OWN
    assert [c.predicted for c in found.plan.candidates if c.name == OWN] == [expected]
    assert found.used is not None
    assert found.used.predicted == expected
    ranks = [(not c.predicted.covered, c.predicted.loss) for c in found.plan.candidates]
    assert ranks == sorted(ranks)


def test_other_shares_of_people_are_another_design() -> None:
    even = mdrr.split_questionnaire(DOMAIN, "abcd", epsilon=4.0)
    uneven = mdrr.split_questionnaire(DOMAIN, "abcd", epsilon=4.0, shares=[0.7, 0.1, 0.1, 0.1])
    assert used(alternatives(even, N)) == "sampled 1"
    assert used(alternatives(uneven, N)) == OWN


def test_dependences_are_used_where_they_are_more_than_noise() -> None:
    clear, noisy = (mdrr.independent(DOMAIN, epsilon=e) for e in (16.0, 0.5))
    found = alternatives(clear, N, related(0.6))
    assert "dependences shown above were used" in found.note
    expected = plan(DOMAIN, n=N, epsilon=clear.epsilon, dependences=related(0.6))
    assert found.plan is not None
    assert found.plan.best.predicted == expected.best.predicted
    assert expected.best.predicted != plan(DOMAIN, n=N, epsilon=clear.epsilon).best.predicted
    unsure = alternatives(noisy, N, related(0.6))
    assert "too uncertain" in unsure.note
    assert unsure.plan is not None
    blind = plan(DOMAIN, n=N, epsilon=noisy.epsilon).best
    assert unsure.plan.best.predicted == blind.predicted
    without = alternatives(clear, N)
    assert without.note == ""
    assert [each.plan and each.plan.assumed for each in (found, unsure, without)] == [
        False,
        True,
        True,
    ]


def test_pairs_nobody_reported_leave_dependences_unused() -> None:
    alone = mdrr.sampled(DOMAIN, 1, epsilon=16.0)
    assert math.isinf(predict(alone, N, list(combinations("abcd", 2))).error)
    assert "too uncertain" in alternatives(alone, N, related(0.6)).note


def test_the_verdict_names_both_errors_and_how_far_apart_they_are() -> None:
    found = alternatives(mdrr.independent(DOMAIN, epsilon=4.0), N)
    assert found.plan is not None
    errors = {c.name: c.predicted.error for c in found.plan.candidates}
    best, mine = found.plan.best.name, "independent"
    times = errors[mine] / errors[best]
    assert 1.2 < times < 10
    assert found.words[0] == (
        f"With 20,000 people, each spending at most ε = 4, the design “{best}” is predicted to "
        f"err by {percent(errors[best])} % on a typical count; the one in use, “independent”, by "
        f"{percent(errors[mine])} %, {times:.1f} times as much."
    )


def test_the_verdict_says_what_a_forger_would_gain() -> None:
    design = mdrr.sampled(DOMAIN, 1, epsilon=2.0)
    found = alternatives(design, 2_000_000)
    assert found.plan is not None
    forged = {c.name: c.predicted.forged for c in found.plan.candidates}
    best = found.plan.best.name
    assert forged[best] > 1.2 * forged["sampled 1"]
    assert (
        f"{forged[best]:,.0f} people under “{best}”, and {forged['sampled 1']:,.0f} under"
        in (found.words[1])
    )
    light = alternatives(plan(DOMAIN, n=N, epsilon=2.0).design, N)
    assert not any("forged" in sentence for sentence in light.words)


def test_the_best_design_is_told_that_it_is() -> None:
    best = plan(DOMAIN, n=N, epsilon=4.0).best
    found = alternatives(best.design, N)
    assert used(found) == best.name
    assert f"the design “{best.name}” is predicted to err" in found.words[0]
    assert "It is in use, and comes first of those compared here." in found.words[0]


@pytest.mark.parametrize(("share", "alone"), [(0.5, 2.0), (0.5, 0.5), (0.9999, 2.0)])
def test_nothing_is_said_to_be_best_where_another_is_shown_to_err_less(
    share: float, alone: float
) -> None:
    """A design may come first for single attributes, and another err less on the whole."""
    made = plan(DOMAIN, n=N, epsilon=4.0)
    best, other = made.candidates[:2]
    assert best.predicted.alone is not None
    less = replace(
        other.predicted, error=share * best.predicted.error, alone=alone * best.predicted.alone
    )
    made = replace(made, candidates=(best, replace(other, predicted=less)))
    found = alternatives(best.design, N, made=made)
    assert found.plan is not None
    shown = [percent(c.predicted.error) for c in found.plan.candidates]
    assert used(found) == best.name == found.plan.best.name
    assert "It is in use, and comes first of those compared here." in found.words[0]
    assert (len(found.words) == 1) == (shown[0] == shown[1])
    if shown[0] != shown[1]:
        assert found.words[1] == (
            f"“{other.name}” is predicted to err by less on the whole, {shown[1]} %."
        )
        assert "single attributes" in found.words[2]


def test_hopeless_budgets_are_said_to_be() -> None:
    found = alternatives(mdrr.independent(DOMAIN, epsilon=0.001), 1)
    assert "With one person spending at most ε = 0.001," in found.words[0]
    assert "mostly a guess" in found.words[-1]
    hopeful = alternatives(mdrr.independent(DOMAIN, epsilon=9.0), N)
    assert not any("a guess" in sentence for sentence in hopeful.words)


def test_one_attribute_has_one_design() -> None:
    domain = DOMAIN.project(["c"])
    found = alternatives(mdrr.independent(domain, epsilon=8.0), 100)
    assert found.used is not None
    assert names_in(found) == [used(found)]
    assert "the only one there is to compare" in found.words[0]


def test_a_dense_matrix_made_by_hand_is_predicted() -> None:
    domain = DOMAIN.project(["b", "d"])
    banded = dense_matrix([[0.8, 0.15, 0.05], [0.1, 0.8, 0.1], [0.05, 0.15, 0.8]])
    clusters = (Cluster(("b",), constant_matrix(2, epsilon=1.0)), Cluster(("d",), banded))
    design = Design(domain, (Questionnaire(clusters, 1),))
    found = alternatives(design, 100)
    assert used(found) == OWN
    assert {"independent", "joint", OWN} <= set(names_in(found))


def test_infinite_epsilon_has_no_budget_to_compare_at() -> None:
    certain = dense_matrix([[1.0, 0.0], [0.5, 0.5]])
    design = Design(DOMAIN.project(["b"]), (Questionnaire((Cluster(("b",), certain),), 1),))
    assert math.isinf(design.epsilon)
    found = alternatives(design, 100)
    assert found.plan is None
    assert "ε is infinite" in found.words[0]
    assert found.command is None


def test_many_attributes_get_the_command_instead() -> None:
    domain = Domain(tuple(Attribute(f"a{j}", (0, 1, 2)) for j in range(MOST_ATTRIBUTES + 1)))
    found = alternatives(mdrr.independent(domain, epsilon=8.0), 1234)
    assert found.plan is None
    assert found.command is not None
    assert found.command.startswith("mdrr plan design.json --n 1234 --epsilon 7.99")
    few = Domain(domain.attributes[:3])
    assert alternatives(mdrr.independent(few, epsilon=8.0), 1234).plan is not None


def test_many_questionnaires_get_the_command_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_QUESTIONNAIRES", 5)
    assert alternatives(mdrr.sampled(DOMAIN, 2, epsilon=4.0), N).plan is None
    assert alternatives(mdrr.sampled(DOMAIN, 1, epsilon=4.0), N).plan is not None


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (DesignError("the domain is too large"), "compared: the domain is too large"),
        (OverflowError("math range error"), "No other design could be compared"),
    ],
)
def test_a_planner_that_fails_leaves_a_sentence(
    monkeypatch: pytest.MonkeyPatch, error: Exception, words: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(module, "plan", fail)
    found = alternatives(mdrr.independent(DOMAIN, epsilon=4.0), N)
    assert found.plan is None
    assert words in found.words[0]


def test_a_design_too_large_to_predict_leaves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise DesignError("a matrix of 9 cells is too large to plan with")

    monkeypatch.setattr(module, "predict", fail)
    design = mdrr.clustered(DOMAIN, [["a", "b"], ["c", "d"]], epsilon=4.0)
    found = alternatives(design, N)
    assert found.used is None
    assert len(names_in(found)) > 3
    assert "The one in use cannot be predicted: a matrix of 9 cells" in found.words[0]


def test_nobody_reported() -> None:
    found = alternatives(mdrr.independent(DOMAIN, epsilon=4.0), 0)
    assert found.plan is None
    assert "Nobody has reported" in found.words[0]
