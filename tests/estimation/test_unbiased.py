"""Unbiased tables: their mean is the truth and their variance is the one they state."""

import numpy as np
import pytest
from scipy.stats import chi2, norm

from mdrr.design import Cluster, Design, Questionnaire
from mdrr.errors import TallyError
from mdrr.estimation.unbiased import unbiased
from mdrr.matrix import constant_matrix, dense_matrix
from mdrr.protocols import clustered, independent, joint, sampled
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
    tables, variances, counts = [], [], []
    mask = (np.arange(exact.size).reshape(exact.shape) % 3 == 0).astype(float)
    for seed in range(RUNS):
        found = unbiased(reports(columns, design, seed), design, names)
        if found is None:
            assert which == "sampled"
            assert len(names) == 3
            return
        tables.append(found.values)
        variances.append(found.variances())
        counts.append(found.count(mask))
    spread = np.var(tables, axis=0, ddof=1)
    z = norm.ppf(1 - ALARM / 2 / exact.size)
    assert (np.abs(np.mean(tables, axis=0) - exact) < z * np.sqrt(spread / RUNS) + 1e-12).all()
    # A sample variance over RUNS runs lies within chi-square bounds of the stated one; the stated
    # one is itself estimated from 400 people, hence the margin of a fifth.
    low, high = (chi2.ppf(q, RUNS - 1) / (RUNS - 1) for q in (ALARM, 1 - ALARM))
    ratio = spread / np.mean(variances, axis=0)
    assert (ratio > 0.8 * low).all()
    assert (ratio < 1.2 * high).all()
    values, stated = np.array(counts).T
    ratio = values.var(ddof=1) / stated.mean()
    assert 0.8 * low < ratio < 1.2 * high
    assert np.allclose(values, [(t * mask).sum() for t in tables])


@pytest.mark.parametrize("which", DESIGNS)
def test_the_variance_follows_the_mass(which):
    """Were the mass another, the variance would be what people with that mass show.

    The sets are a category each; people are moved into it until it has the mass asked for. Of one
    attribute the noise of a report depends on that mass alone, so the stated parabola is exact but
    for a part of a dense cluster: there E f² is taken to rise by 1 with the mass, and here rises by
    .9, so that from one mass to the other, .6 away, its .5 is misjudged by up to .06, an eighth.
    """
    close = 0.05 + (0.125 if which == "mixed" else 0.0)  # questionnaires hold ±3 % other people
    design = DESIGNS[which]
    few, many = people(4000), people(4000)
    few[1] = np.where(np.arange(4000) < 40, 1, 0).astype(np.uint8)
    many[1] = np.where(np.arange(4000) < 2400, 1, 0).astype(np.uint8)
    mask = np.array([False, True])
    for population in (False, True):
        stated = [
            unbiased(reports(c, design, 5), design, ("b",)).deviation(mask, population=population)
            for c in (few, many)
        ]
        for mass in (0.01, 0.3, 0.6):
            one, other = (found.variance(mass) for found in stated)
            assert one == pytest.approx(other, rel=close)
        assert stated[0].error ** 2 == pytest.approx(stated[0].variance(stated[0].centre))


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
