"""Plans with public attributes: in every questionnaire, known, and predicted by group."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from mdrr.clustering import cluster
from mdrr.dependence import Dependences
from mdrr.domain import Domain
from mdrr.errors import DesignError
from mdrr.estimation.unbiased import unbiased
from mdrr.planning import best_split, plan, predict, split_questionnaire
from mdrr.planning.predict import cells_in, relative_error
from mdrr.protocols import independent, joint, sampled
from tests.cases import domain_of, public
from tests.people import records, reported

DOMAIN = public(domain_of(3, 2, 4, 2, 3), "a", "d")
HIDDEN = Domain(tuple(replace(a, public=False) for a in DOMAIN.attributes)).project("bce")


@pytest.mark.parametrize(
    "design",
    [independent(DOMAIN, epsilon=6.0), joint(DOMAIN, epsilon=4.0), sampled(DOMAIN, 2, epsilon=3.0)],
    ids=["independent", "joint", "sampled"],
)
@pytest.mark.parametrize("names", [("a", "b"), ("c", "d"), ("a", "c", "d"), ("a", "d")])
def test_the_predicted_variance_is_that_of_tables_by_group(design, names):
    """Even shares: the prediction and the spread over 200 surveys differ by less than a fifth.

    A variance over 200 surveys and k cells is off by √(2/200/k) of itself; k is 6 or more, and
    questionnaires are drawn, so a fifth is more than four such errors.
    """
    n = 4000
    even = np.full(DOMAIN.shape, 1 / DOMAIN.size)
    codes = records(even, n, 1)
    true = np.zeros([DOMAIN.attribute(name).size for name in names])
    np.add.at(true, tuple(codes[DOMAIN.index(name)] for name in names), 1 / n)
    tables = [unbiased(reported(codes, design, seed), design, names).values for seed in range(200)]
    total = float(((np.array(tables) - true) ** 2).mean(axis=0).sum())
    found = predict(design, n, [names]).error
    wanted = relative_error(total, cells_in(DOMAIN, names), 0.1)
    if set(names) <= set(DOMAIN.public):
        assert found == 0
        assert wanted == pytest.approx(0, abs=1e-12)
    else:
        # a cluster that is not reported whole gains what its other attributes tell (√G)
        assert found <= 1.1 * wanted
        assert found >= 0.6 * wanted


def test_a_plan_asks_everybody_what_is_public_and_ranks_the_rest():
    found = plan(DOMAIN, n=4000, epsilon=3.0)
    for candidate in found.candidates:
        assert candidate.design.domain == DOMAIN
        assert candidate.design.epsilon <= 3.0
        assert all({"a", "d"} <= set(q.attributes) for q in candidate.design.questionnaires)
    assert ("a",) not in found.tables
    assert ("a", "d") not in found.tables
    assert ("a", "b") in found.tables
    alone = plan(HIDDEN, n=4000, epsilon=3.0)
    assert {c.name for c in alone.candidates} == {c.name for c in found.candidates}
    singles = plan(DOMAIN, n=4000, epsilon=3.0, workload="singles")
    hidden = plan(HIDDEN, n=4000, epsilon=3.0, workload="singles")
    assert singles.best.predicted.error == pytest.approx(hidden.best.predicted.error, rel=1e-6)


def test_tables_by_group_are_worth_asking_for():
    """Only b by region matters: the best split asks nearly everybody b."""
    design = best_split(DOMAIN, [("a", "b")], 2.0, n=4000)
    people = sum(q.weight for q in design.questionnaires)
    asked = sum(q.weight for q in design.questionnaires if "b" in q.attributes)
    assert asked / people > 0.7
    assert best_split(DOMAIN, [("a", "d"), ("b",)], 2.0, n=4000) is not None


def test_with_dependences_the_public_ones_are_not_clustered():
    values = np.full((5, 5), 0.3)
    np.fill_diagonal(values, 1.0)
    known = Dependences(DOMAIN.names, values)
    groups = cluster(known, DOMAIN, max_cells=100, min_dependence=0.1)
    assert sorted(name for names in groups for name in names) == ["b", "c", "e"]
    found = plan(DOMAIN, n=4000, epsilon=4.0, dependences=known)
    assert any(c.name.startswith("clusters") for c in found.candidates)


def test_subsets_do_not_name_what_is_public():
    with pytest.raises(DesignError, match="'a' is public; leave it out of the subsets"):
        split_questionnaire(DOMAIN, [("a", "b"), ("c", "e")], epsilon=1.0)
    design = split_questionnaire(DOMAIN, combinations("bce", 2), epsilon=1.0)
    assert design.randomized == split_questionnaire(HIDDEN, combinations("bce", 2), epsilon=1.0)
    with pytest.raises(DesignError, match="nothing to plan"):
        plan(public(domain_of(2, 2), "a", "b"), n=10, epsilon=1.0)
