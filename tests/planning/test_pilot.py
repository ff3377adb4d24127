"""From a pilot to the main survey, and surveys pooled."""

import numpy as np
import pytest

from mdrr.dependence import dependences
from mdrr.domain import Attribute, Domain
from mdrr.errors import DesignError
from mdrr.estimation import estimate
from mdrr.planning import main_survey, plan, pool
from mdrr.protocols import clustered, independent, joint
from mdrr.tallies import Tally, tally_codes
from tests.cases import designs, domain_of
from tests.people import reported

DOMAIN = Domain(
    (
        Attribute("a", ("x", "y")),
        Attribute("region", ("n", "s"), public=True),
        Attribute("b", ("u", "v", "w")),
        Attribute("c", ("x", "y")),
    )
)
PILOT = independent(DOMAIN, epsilon=6.0)


def answered(n: int = 4000) -> Tally:
    """Reports in which b tells a, and c is by itself; they stand for hardly randomized answers."""
    draw = np.random.default_rng(3)
    b = draw.integers(0, 3, n)
    a = np.where(draw.random(n) < 0.5, b == 0, draw.integers(0, 2, n)).astype(np.int64)
    known = {"a": a, "b": b, "c": draw.integers(0, 2, n), "region": draw.integers(0, 2, n)}
    columns = [known[cluster.attributes[0]] for cluster in PILOT.questionnaires[0].clusters]
    return tally_codes([columns], PILOT)


def test_clusters_are_asked_if_they_are_wanted():
    found = main_survey(answered(), PILOT, people=1000, epsilon=2.0, max_cells=6)
    assert found.clusters == (("a", "b"), ("c",))
    assert found.design == clustered(DOMAIN, found.clusters, epsilon=2.0)
    assert found.design.epsilon <= 2.0
    apart = main_survey(answered(), PILOT, people=1000, epsilon=2.0, max_cells=5)
    assert apart.clusters == (("a",), ("b",), ("c",))
    weak = {"max_cells": 12, "min_dependence": 0.99}
    assert main_survey(answered(), PILOT, people=1000, epsilon=2.0, **weak).clusters[0] == ("a",)


def test_the_best_plan_is_asked_otherwise_at_the_pilots_budget():
    tally = answered()
    best = plan(DOMAIN, n=50_000, epsilon=PILOT.epsilon, dependences=dependences(tally, PILOT)).best
    found = main_survey(tally, PILOT, people=50_000)
    assert (found.name, found.design) == (best.name, best.design)
    assert found.predicted.error == pytest.approx(best.predicted.error)
    assert found.clusters == (("a", "b"), ("c",))


def test_more_people_make_a_smaller_error():
    few, many = (main_survey(answered(), PILOT, people=n, max_cells=6) for n in (100, 10_000))
    assert many.predicted.error < few.predicted.error / 5  # √100 = 10 without other errors


def test_the_pilots_own_design_is_no_second_phase():
    with pytest.raises(DesignError, match="suggests its own design"):
        main_survey(answered(), PILOT, people=1000, epsilon=6.0, max_cells=1)
    with pytest.raises(DesignError, match="max_cells=0"):
        main_survey(answered(), PILOT, people=1000, max_cells=0)


D = domain_of(3, 2, 4)


def some(design, n, seed):
    """What n people of no pattern report."""
    rng = np.random.default_rng(seed)
    codes = [rng.integers(size, size=n) for size in design.domain.shape]
    return reported(codes, design, seed)


@pytest.mark.parametrize("name", designs())
def test_a_survey_in_two_parts_is_the_survey(name):
    design = designs()[name]
    first, second = some(design, 300, 1), some(design, 500, 2)
    tally, pooled = pool([(first, design), (second, design)])
    clusters = [q.clusters for q in design.questionnaires]
    assert [q.clusters for q in pooled.questionnaires] == list(dict.fromkeys(clusters))
    assert tally.n == 800
    if len(clusters) == 1:
        assert (tally, pooled) == (first + second, design)
    assert pooled.epsilon == design.epsilon


def test_what_two_designs_share_is_asked_once():
    alike, other = independent(D, epsilon=4.0), joint(D, epsilon=4.0)
    surveys = [(alike, 100), (other, 50), (alike, 30)]
    tally, pooled = pool([(some(d, n, n), d) for d, n in surveys])
    assert [group.n for group in tally.groups] == [130, 50]
    assert [q.clusters for q in pooled.questionnaires] == [
        alike.questionnaires[0].clusters,
        other.questionnaires[0].clusters,
    ]


def test_nearly_exact_reports_in_two_parts_are_as_exact_as_in_one():
    design = joint(D, epsilon=18.0)
    parts = [(some(design, 2_000, seed), design) for seed in (1, 2)]
    tally, pooled = pool(parts)
    together = estimate(tally, pooled)
    alone = estimate(parts[0][0] + parts[1][0], design)
    assert together.notes["unbiased_weight"] == alone.notes["unbiased_weight"]
    np.testing.assert_array_equal(together.table("a", "c").values, alone.table("a", "c").values)


def test_sums_are_pooled_with_reports():
    design = independent(D, p=0.5)
    first, second = some(design, 300, 1), some(design, 500, 2)
    sums = Tally(first.fingerprint, tuple(group.as_sums() for group in first.groups))
    tally, pooled = pool([(sums, design), (second, design)])
    assert tally.has_sums
    assert tally.n == 800
    for at in range(3):
        both = (first + second).groups[0].marginal(at)
        assert tally.groups[0].marginal(at).tolist() == both.tolist()
    assert estimate(tally, pooled, "pairwise").n == 800
