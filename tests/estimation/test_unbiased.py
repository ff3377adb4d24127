"""Unbiased tables: their mean is the truth and their variance is the one they state."""

import numpy as np
import pytest
from scipy.stats import chi2, norm

from mdrr.design import Cluster, Design, Questionnaire
from mdrr.errors import MdrrError, TallyError
from mdrr.estimation.unbiased import unbiased
from mdrr.matrix import constant_matrix, dense_matrix
from mdrr.protocols import clustered, independent, joint, sampled
from mdrr.tallies import tally_codes
from tests.cases import domain_of
from tests.estimation.simulated import DOMAIN, people, reports, truth

N = 400
RUNS = 300
ALARM = 1e-5


def mixed():
    banded = [[0.7, 0.2, 0.1], [0.15, 0.7, 0.15], [0.1, 0.2, 0.7]]
    rng = np.random.default_rng(3)
    wide = 0.5 * np.eye(8, 11) + rng.dirichlet(np.full(11, 4.0), 8) * 0.5
    return Design(
        DOMAIN,
        (
            Questionnaire(
                (
                    Cluster(("a",), dense_matrix(banded)),
                    Cluster(("b", "c"), dense_matrix(wide / wide.sum(axis=1, keepdims=True))),
                ),
                weight=3 * 2**14,
            ),
            Questionnaire((Cluster(("a", "c"), constant_matrix(12, epsilon=2.0)),), weight=2**14),
        ),
    )


DESIGNS = {
    "independent": independent(DOMAIN, epsilon=6.0),
    "joint": joint(DOMAIN, epsilon=3.0),
    "clustered": clustered(DOMAIN, [["a", "c"], ["b"]], epsilon=5.0),
    "sampled": sampled(DOMAIN, 2, epsilon=2.5),
    "mixed": mixed(),
}


@pytest.mark.parametrize("names", [("c",), ("c", "a"), ("a", "b"), ("b", "c", "a")])
@pytest.mark.parametrize("which", DESIGNS)
def test_mean_and_variance_over_repeated_randomization(which, names):
    design = DESIGNS[which]
    columns = people(N)
    exact = truth(columns, names)
    tables, variances = [], []
    for seed in range(RUNS):
        found = unbiased(reports(columns, design, seed), design, names)
        if found is None:
            assert which == "sampled"
            assert len(names) == 3
            return
        tables.append(found.values)
        variances.append(found.variances())
    spread = np.var(tables, axis=0, ddof=1)
    z = norm.ppf(1 - ALARM / 2 / exact.size)
    assert (np.abs(np.mean(tables, axis=0) - exact) < z * np.sqrt(spread / RUNS) + 1e-12).all()
    # A sample variance over RUNS runs lies within chi-square bounds of the stated one; the stated
    # one is itself estimated from 400 people, hence the margin of a fifth.
    low, high = (chi2.ppf(q, RUNS - 1) / (RUNS - 1) for q in (ALARM, 1 - ALARM))
    ratio = spread / np.mean(variances, axis=0)
    assert (ratio > 0.8 * low).all()
    assert (ratio < 1.2 * high).all()


def test_agrees_with_the_full_kronecker_inverse():
    design = independent(DOMAIN, epsilon=6.0)
    columns = people(N)
    tally = reports(columns, design, 1)
    full = np.kron(
        np.kron(*(c.matrix.likelihood(np.arange(c.matrix.cells)) for c in design.clusters[:2])),
        design.clusters[2].matrix.likelihood(np.arange(4)),
    )
    group = tally.groups[0]
    cells = np.ravel_multi_index([c.astype(int) for c in group.codes], (3, 2, 4))
    observed = np.bincount(cells, group.counts, 24) / group.n
    expected = np.linalg.solve(full, observed).reshape(3, 2, 4)
    assert np.allclose(unbiased(tally, design, ("a", "b", "c")).values, expected)
    turned = unbiased(tally, design, ("c", "a", "b")).values
    assert np.allclose(turned, np.transpose(expected, (2, 0, 1)))


def test_a_population_varies_more_than_its_people():
    design = DESIGNS["clustered"]
    found = unbiased(reports(people(N), design, 1), design, ("a", "c"))
    assert (found.variances(population=True) > found.variances()).all()


def test_refuses_reports_of_another_design():
    tally = reports(people(N), DESIGNS["joint"], 1)
    with pytest.raises(TallyError, match="design"):
        unbiased(tally, DESIGNS["independent"], ("a",))


def test_a_questionnaire_with_one_person_does_not_drown_the_others():
    """A single report has no spread of its own; it must not be taken for certainty."""
    domain = domain_of(2, 2, 2)
    design = Design(
        domain,
        (
            Questionnaire((Cluster(("a", "b"), constant_matrix(4, p=0.3)),), 2**15),
            Questionnaire((Cluster(("a", "b", "c"), constant_matrix(8, p=0.3)),), 2**15),
        ),
    )
    tally = tally_codes([[np.repeat([0, 1, 2, 3], 250)], [np.array([7])]], design)
    found = unbiased(tally, design, ("a", "b"))
    np.testing.assert_allclose(found.values, np.full((2, 2), 0.25), atol=0.02)
    assert found.people == 1001
    assert (found.variances() > 1e-4).all()


def test_one_person_alone_still_varies():
    design = independent(domain_of(2, 3), p=0.5)
    tally = tally_codes([[np.array([0]), np.array([1])]], design)
    for population in (False, True):
        variances = unbiased(tally, design, ("a",)).variances(population=population)
        assert variances[0] == pytest.approx(1.5**2 - 1.0)  # f² less the share, cut at 1


def test_too_many_reported_cells_are_refused():
    design = independent(domain_of(*[100] * 5), p=0.5)
    tally = tally_codes([[np.zeros(3, int)] * 5], design)
    with pytest.raises(MdrrError, match="fewer attributes"):
        unbiased(tally, design, "abcde")


def test_score_and_inverse_are_the_same_linear_map():
    """Σ weights·table is the mean of the reports' scores, in any order of the attributes."""
    for which, design in DESIGNS.items():
        names = ("c", "a")
        found = unbiased(reports(people(N), design, 1), design, names)
        weights = np.random.default_rng(2).normal(size=(4, 3))
        mean = sum(
            share * float((view.scores(weights) * view.reported).sum())
            for share, view in zip(found.shares, found.views, strict=True)
        )
        assert mean == pytest.approx(float((weights * found.values).sum()), abs=1e-9), which
