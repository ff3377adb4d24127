"""Reports that no matrix can have given are doubted; reports as they should be are not."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from scipy.stats import binom

import mdrr
from mdrr import plausibility
from mdrr.design import Cluster, Design, Questionnaire
from mdrr.frames import encode
from mdrr.matrix import constant_matrix
from mdrr.plausibility import doubts
from mdrr.protocols import independent, joint, sampled
from mdrr.randomizer import cells_of, randomize_codes
from mdrr.source import SeededSource
from mdrr.tallies import tally_codes
from tests.cases import designs, domain_of

ADULT = mdrr.datasets.adult_domain()
PEOPLE = encode(mdrr.datasets.adult(), ADULT)
FOUR = {
    "independent": lambda: independent(ADULT, epsilon=4.0),
    "sampled": lambda: sampled(ADULT, 2, epsilon=4.0),
    "joint": lambda: joint(ADULT.project(ADULT.names[-4:]), epsilon=4.0),
    "planned": lambda: mdrr.plan(ADULT, n=len(PEOPLE[0]), epsilon=4.0).design,
}


def unrandomized(design, codes, seed=0):
    """True records given as if they were reports."""
    rng = np.random.default_rng(seed)
    weights = np.array([q.weight for q in design.questionnaires], dtype=float)
    which = rng.choice(len(weights), len(codes[0]), p=weights / weights.sum())
    arrays = []
    for q, questionnaire in enumerate(design.questionnaires):
        mine = [column[which == q] for column in codes]
        arrays.append(
            [
                cells_of([mine[design.domain.index(a)] for a in c.attributes], design.shape(c))
                for c in questionnaire.clusters
            ]
        )
    return tally_codes(arrays, design)


@pytest.mark.parametrize("name", FOUR)
def test_true_records_of_adult_are_doubted_and_their_reports_are_not(name):
    design = FOUR[name]()
    codes = [PEOPLE[ADULT.index(a)] for a in design.domain.names]
    found = doubts(unrandomized(design, codes), design)
    assert found
    assert "whatever the true answers are" in found[0]
    assert "Randomize true records first" in found[-1]
    for seed in range(5):
        reports = randomize_codes(codes, design, SeededSource(seed))
        assert doubts(tally_codes(reports, design), design) == ()


def alarms(design, times, rate, n=6000):
    """In how many of some tallies something is doubted, when everybody gives the same answers."""
    count = 0
    for seed in range(times):
        codes = [np.full(n, seed % size) for size in design.domain.shape]
        reports = randomize_codes(codes, design, SeededSource(seed))
        count += bool(doubts(tally_codes(reports, design), design, rate=rate))
    return count


@pytest.mark.parametrize("name", ["one", "mixed", "unequal", "ordered", "subsets", "sampled"])
def test_false_alarms_are_no_more_frequent_than_stated(name, monkeypatch):
    """Where all answer the same, every other code is as rare as can be: the hardest case.

    Fails by chance with probability below 1e-5 a design. A wrong bound (half way between a
    column's least probability and its mean) is noticed.
    """
    times, rate = 60, 0.2
    assert alarms(designs()[name], times, rate) <= binom.isf(1e-5, times, rate)
    right = plausibility._bounds

    def too_tight(matrix, shape, axis):
        low, high = right(matrix, shape, axis)
        return (low + 1 / shape[axis]) / 2, high

    monkeypatch.setattr(plausibility, "_bounds", too_tight)
    assert alarms(designs()[name], times, rate) > binom.isf(1e-5, times, rate)


def test_bounds_are_the_least_and_largest_probability_of_every_place():
    for design in designs().values():
        for cluster in (c for q in design.questionnaires for c in q.clusters):
            matrix = cluster.matrix
            table = np.stack([matrix.backward(row) for row in np.eye(matrix.outcomes)])
            low, high = plausibility._bounds(matrix, (matrix.outcomes,), 0)
            np.testing.assert_allclose(low, table.min(axis=1), rtol=1e-12, atol=1e-15)
            np.testing.assert_allclose(high, table.max(axis=1), rtol=1e-12)
            if not matrix.reports_cells:
                continue
            shape = design.shape(cluster)
            for axis, size in enumerate(shape):
                others = tuple(i for i in range(len(shape)) if i != axis)
                margin = table.reshape(*shape, matrix.cells).sum(axis=others)
                low, high = plausibility._bounds(matrix, shape, axis)
                assert len(low) == size
                np.testing.assert_allclose(low, margin.min(axis=1), rtol=1e-12)
                np.testing.assert_allclose(high, margin.max(axis=1), rtol=1e-12)


def test_tails_are_the_binomials():
    """One binary question: doubted exactly where the binomial's tail is below the threshold."""
    design = independent(domain_of(2), p=0.5)  # either answer: 1/4 to 3/4
    found = [bool(doubts(counted(design, y, 1000 - y), design, rate=0.01)) for y in range(1, 1000)]
    wanted = [
        min(binom.cdf(y, 1000, 0.25), binom.sf(y - 1, 1000, 0.75)) < 0.01 / 4
        for y in range(1, 1000)
    ]
    assert found == wanted
    assert sum(a != b for a, b in pairwise(found)) == 2


def counted(design, *counts):
    return tally_codes([[np.arange(len(counts))]], design, counts=[list(counts)])


def test_what_is_said_names_the_attribute_the_label_and_the_bound():
    design = independent(domain_of(2), p=0.5)
    few, advice = doubts(counted(design, 990, 10), design)
    assert few.startswith("a: 10 of 1,000 reports say 'a1', but at least about 250 randomized")
    assert advice.startswith("These look like true answers, or reports of another design")
    three = independent(domain_of(3), epsilon=1.0)
    much, _ = doubts(counted(three, 800, 100, 100), three)
    assert "say 'a0', but at most about 576 randomized" in much


def test_a_cluster_is_doubted_where_its_attributes_look_as_they_should():
    design = joint(domain_of(4, 4), epsilon=2.0)
    cells = np.array([0, 5, 10, 15])  # the same answer to both, all equally often
    tally = tally_codes([[cells]], design, counts=[[500] * 4])
    first, _ = doubts(tally, design)
    assert first.startswith("a+b: ")
    assert "0 of 2,000 reports say 'a0', 'b1', but at least about 89" in first


def test_codes_that_are_no_labels_are_called_numbers():
    design = designs()["subsets"]
    coded = [[np.zeros(400, dtype=int)]] * len(design.questionnaires)
    assert "reports say the number 0, but" in doubts(tally_codes(coded, design), design)[0]


def test_questionnaires_are_taken_together():
    """What too few say in each of two questionnaires is told from both."""
    matrix = constant_matrix(2, p=0.5)
    half = Questionnaire((Cluster(("a",), matrix),), 2**15)
    design = Design(domain_of(2), (half, half))
    one = [[np.array([0, 1])]] * 2
    assert doubts(tally_codes(one, design, counts=[[85, 12], [35, 15]]), design) == ()
    assert doubts(tally_codes(one, design, counts=[[85, 12], [85, 12]]), design)


@pytest.mark.parametrize("name", designs())
def test_nobody_and_one_person_are_not_doubted(name):
    design = designs()[name]
    for n in (0, 1):
        reports = randomize_codes([np.zeros(n, int)] * len(design.domain), design)
        assert doubts(tally_codes(reports, design), design) == ()


def test_estimates_carry_the_warning_and_the_page_shows_it():
    from mdrr.reporting.words import warning_words

    design = independent(domain_of(2), p=0.5)
    doubted = mdrr.estimate(counted(design, 990, 10), design, "product")
    assert doubted.notes["warnings"] == doubts(counted(design, 990, 10), design) != ()
    assert any("a: 10 of 1,000" in words for words in warning_words([doubted]))
    assert mdrr.estimate(counted(design, 600, 400), design, "product").notes["warnings"] == ()


def test_clusters_that_look_as_they_should_are_doubted_together():
    """Two questions with the same answer, 30 % yes: each alone could have come through p = 1/2."""
    design = independent(domain_of(2, 2), p=0.5)
    same = np.array([0, 1])
    truth = tally_codes([[same, same]], design, counts=[[14_000, 6_000]])
    first, _ = doubts(truth, design)
    assert first.startswith("a+b: 0 of 20,000 reports say 'a0', 'b1', but at least about 1,250")
    codes = [np.repeat(same, [14_000, 6_000])] * 2
    for seed in range(5):
        reports = randomize_codes(codes, design, SeededSource(seed))
        assert doubts(tally_codes(reports, design), design) == ()


def test_of_many_pairs_of_clusters_only_the_smallest_are_tested():
    design = independent(domain_of(*[3] * 20, *[2] * 25), p=0.5)
    chosen = plausibility._pairs(design)
    assert len(chosen) == plausibility._PAIRS
    two = [a.name for a in design.domain.attributes if a.size == 2]
    assert {pair for pair in chosen if set(pair) <= set(two)} == set(combinations(two, 2))


def test_a_cluster_of_a_billion_cells_is_judged_by_the_reports_that_occur():
    design = joint(domain_of(*[8] * 10), epsilon=20.0)
    cells = np.arange(200) * 5_000_011
    assert doubts(tally_codes([[cells]], design), design) == ()
    often = tally_codes([[cells[:2]]], design, counts=[[1, 999]])
    assert any("reports say 'a0'" in line for line in doubts(often, design))
