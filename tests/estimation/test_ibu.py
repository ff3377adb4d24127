"""The iterative Bayesian update per table is the most likely table."""

import numpy as np
import pytest

from mdrr.errors import EstimateError
from mdrr.estimation import bayesian_update, estimate, ibu
from mdrr.estimation.ibu import update
from mdrr.estimation.unbiased import unbiased
from mdrr.planning import split_questionnaire
from mdrr.protocols import clustered, independent, joint, sampled
from mdrr.tallies import tally_codes
from tests.estimation.simulated import DOMAIN, people, reports, truth
from tests.estimation.test_unbiased import mixed

N = 20_000


def test_equals_the_inverse_where_that_is_proper():
    design = independent(DOMAIN, epsilon=9.0)
    tally = reports(people(N), design, 1)
    found = unbiased(tally, design, ("a", "b"))
    assert (found.values > 0).all()
    start = np.full((3, 2), 1 / 6)
    assert np.allclose(
        update(found.views, start, tolerance=1e-12, sweeps=5000), found.values, atol=1e-6
    )


def test_equals_the_update_of_one_matrix():
    design = joint(DOMAIN, epsilon=1.0)
    tally = reports(people(200), design, 1)
    counts = tally.groups[0].marginal(0)
    wanted = bayesian_update(counts, design.clusters[0].matrix, tolerance=1e-7).distribution
    found = unbiased(tally, design, ("a", "b", "c"))
    start = np.full((3, 2, 4), 1 / 24)
    ours = update(found.views, start, tolerance=1e-7, sweeps=10_000)
    assert np.allclose(ours.ravel(), wanted, atol=1e-4)


@pytest.mark.parametrize(
    "design",
    [
        independent(DOMAIN, epsilon=5.0),
        clustered(DOMAIN, [["a", "c"], ["b"]], epsilon=5.0),
        sampled(DOMAIN, 2, epsilon=2.0),
        split_questionnaire(DOMAIN, ["ab", "ac", "bc"], epsilon=1.5),
        mixed(),
    ],
    ids=["independent", "clustered", "sampled", "subsets", "mixed"],
)
def test_finds_what_a_product_misses(design):
    columns = people(N)
    found = ibu(reports(columns, design, 2), design)
    exact = truth(columns, ("a", "c"))
    flat = np.outer(exact.sum(axis=1), exact.sum(axis=0))
    table = found.table("a", "c").values
    assert np.abs(table - exact).sum() < 0.7 * np.abs(flat - exact).sum()
    assert np.allclose(table.sum(axis=1), found.table("a").values, atol=1e-8)
    count = found.count({"a": [0], "c": [1]})
    assert count.low <= count.value <= count.high


def test_refuses_an_empty_tally():
    design = independent(DOMAIN, epsilon=4.0)
    with pytest.raises(EstimateError, match="empty"):
        estimate(tally_codes([[np.array([], dtype=int)] * 3], design), design, "ibu")
