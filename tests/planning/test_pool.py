"""Surveys pooled: what asks the same in the same way is one questionnaire."""

import numpy as np
import pytest

from mdrr.estimation import estimate
from mdrr.planning import pool
from mdrr.protocols import independent, joint
from mdrr.tallies import Tally
from tests.cases import designs, domain_of
from tests.people import reported

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
