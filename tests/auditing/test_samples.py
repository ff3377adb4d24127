"""The empirical part: bounds that hold together, G-tests at their level, faults that are seen."""

import math

import numpy as np
import pytest
from scipy import stats

from mdrr.auditing.platforms import PLATFORMS
from mdrr.auditing.samples import (
    LEAST_EXPECTED,
    Table,
    _tables,
    empirical,
    g_test,
    judged,
    lower_bound,
    people,
)
from mdrr.auditing.specimens import drawn_questionnaires, every_matrix, specimens
from mdrr.design import Cluster, Design, Questionnaire
from mdrr.matrix import banded_matrix
from mdrr.protocols import independent, joint
from mdrr.randomizer import randomize_codes
from mdrr.source import SeededSource
from tests.cases import designs, domain_of

SURE = 1e-9
"""The chance that a sound randomizer fails one of these tests."""


def seeded(seed: int):
    source = SeededSource(seed)
    return lambda codes, design, stream: randomize_codes(codes, design, source)


def test_the_bound_is_clopper_and_pearsons():
    counts, alpha = np.array([[70, 30], [20, 80]]), 1e-3
    low = stats.binomtest(70, 100, alternative="greater").proportion_ci(1 - alpha).low
    high = stats.binomtest(20, 100, alternative="less").proportion_ci(1 - alpha).high
    other = stats.binomtest(80, 100, alternative="greater").proportion_ci(1 - alpha).low
    least = stats.binomtest(30, 100, alternative="less").proportion_ci(1 - alpha).high
    assert lower_bound(counts, counts.sum(axis=1), alpha) == pytest.approx(
        max(math.log(low / high), math.log(other / least)), rel=1e-9
    )


@pytest.mark.parametrize("counts", [[[5, 5]], [[0, 0], [3, 4]], [[50, 50], [50, 50]]])
def test_without_evidence_the_bound_is_zero(counts):
    table = np.array(counts)
    assert lower_bound(table, table.sum(axis=1), 1e-3) == 0.0


def test_what_is_never_sent_for_another_answer_has_a_finite_bound():
    counts = np.array([[1000, 0], [0, 1000]])
    bound = lower_bound(counts, counts.sum(axis=1), 1e-6)
    assert 3 < bound < math.inf
    assert lower_bound(1000 * counts, 1000 * counts.sum(axis=1), 1e-6) > bound + 6


def test_sets_of_codes_say_what_rare_codes_cannot():
    """Each of 60 codes is rare; the 21 around the truth are not."""
    cluster = Cluster(("a",), banded_matrix(40, epsilon=1.0, width=10))
    design = Design(domain_of(40), (Questionnaire((cluster,)),))
    codes = people(design, 100_000)
    (table,) = _tables(design, codes, seeded(6)(codes, design, None))
    alone = lower_bound(table.counts, table.counts.sum(axis=1), 1e-8)
    both = lower_bound(table.events, table.counts.sum(axis=1), 1e-8)
    assert alone < 0.3
    assert 0.6 < both <= design.epsilon


def test_the_bounds_hold_together():
    """Of 2,000 audits of a sound randomizer at α = .1, at most .05 may exceed the claim."""
    design = independent(domain_of(3), epsilon=1.0)
    (cluster,) = design.clusters
    rows = cluster.matrix.likelihood(np.arange(3)).T
    rng = np.random.default_rng(4)
    wrong = 0
    for _ in range(2_000):
        counts = np.stack([rng.multinomial(300, row) for row in rows])
        table = Table("a", counts, rows, cluster.epsilon, 0)
        _, findings, _ = judged([table], design, 0.1)
        wrong += any("ε is at least" in each for each in findings)
    assert wrong <= stats.binom.isf(1e-6, 2_000, 0.05)


@pytest.mark.parametrize(
    "row", [(0.05, 0.95), (0.4, 0.12, 0.12, 0.12, 0.12, 0.12), (*[0.002] * 100, 0.8)]
)
def test_the_g_test_has_its_level(row):
    """20,000 rows at 1e-3; χ² is an approximation, so a third more is allowed."""
    rng, n, runs = np.random.default_rng(5), 500, 20_000
    row = np.array(row)
    drawn, times = np.unique(rng.multinomial(n, row, runs)[:, ::-1], axis=0, return_counts=True)
    alarms = sum(t for d, t in zip(drawn, times, strict=True) if g_test(d[::-1], row)[1] < 1e-3)
    assert alarms <= stats.binom.isf(1e-6, runs, 1.34e-3)
    assert len(row) > 2 or alarms >= stats.binom.ppf(1e-6, runs, 0.5e-3)


def test_rare_codes_are_tested_together():
    row = np.array([0.9, 0.05, 0.03, 0.02])
    counts = np.array([180, 0, 0, 20])
    n = counts.sum()
    assert (n * row)[1:].max() < LEAST_EXPECTED
    assert g_test(counts, row)[1] > 0.5  # 20 of 20 expected, put together


def test_a_code_that_cannot_be_sent_is_no_chance():
    assert g_test(np.array([99, 1]), np.array([1.0, 0.0])) == (math.inf, 0.0)


@pytest.mark.parametrize("name", designs())
def test_a_sound_randomizer_passes(name):
    design = designs()[name]
    found = empirical(seeded(1), design, "bulk", 20_000, SURE)
    assert found.findings == ()
    assert found.epsilon <= design.epsilon


@pytest.mark.parametrize("name", specimens())
def test_the_bound_comes_near_the_claim(name):
    design = specimens()[name]
    bounds = [empirical(seeded(2), design, "bulk", n, 1e-5).epsilon for n in (10_000, 1_000_000)]
    assert bounds[0] < bounds[1]
    assert 0.9 * design.epsilon < bounds[1] <= design.epsilon


def test_people_have_every_answer_and_few_combinations():
    small, large = every_matrix(), independent(domain_of(40, 7, 9, 3), epsilon=1.0)
    codes = people(drawn_questionnaires(), 1_200)
    assert len({*zip(*map(np.ndarray.tolist, codes), strict=True)}) == 12
    for design, n in ((large, 5_000), (small, 30_000)):
        codes = people(design, n)
        sizes = [len(np.unique(column)) for column in codes]
        assert sizes == list(design.domain.shape)
        assert len({*zip(*map(np.ndarray.tolist, codes), strict=True)}) <= 1024


def test_a_matrix_with_more_codes_than_can_be_counted_is_audited_all_the_same():
    design = joint(domain_of(50, 50, 50), epsilon=12.0)
    found = empirical(seeded(3), design, "bulk", 50_000, 1e-4)
    assert found.passed is True
    assert 1 < found.epsilon < 12

    def truthful(codes, given, stream):
        return seeded(3)(codes, joint(given.domain, epsilon=25.0), stream)

    assert empirical(truthful, design, "bulk", 50_000, 1e-4).passed is False


def test_reports_that_are_missing_are_found():
    design = drawn_questionnaires()

    def run(codes, given, stream):
        return seeded(1)([column[1:] for column in codes], given, stream)

    found = empirical(run, design, "bulk", 5_000, SURE)
    assert "5,000 people were randomized, 4,999 reports came" in found.findings


def test_the_single_record_randomizer_passes_with_the_systems_bytes():
    with PLATFORMS["single"]() as run:
        found = empirical(run, drawn_questionnaires(), "single", 3_000, SURE)
    assert found.findings == ()
