"""RR-Adjustment: the product's margins, the randomized records' dependence."""

import numpy as np
import pytest

from mdrr.design import Cluster, Design, Questionnaire
from mdrr.errors import EstimateError
from mdrr.estimation.adjust import adjust
from mdrr.estimation.pairwise import pairwise
from mdrr.estimation.product import product
from mdrr.matrix import constant_matrix, dense_matrix
from mdrr.protocols import clustered, independent, joint, sampled
from mdrr.randomizer import randomize_codes
from mdrr.source import SeededSource
from mdrr.tallies import tally_codes
from tests.cases import domain_of, uneven
from tests.people import distribution, records, reported

D = domain_of(2, 3, 4)

DESIGNS = {
    "attributes": independent(D, p=0.6),
    "clusters": clustered(D, [["a", "c"], ["b"]], p=0.6),
    "one cluster": joint(D, p=0.6),
    "dense": Design(
        D, (Questionnaire((Cluster(("a", "b"), uneven(6, 1)), Cluster(("c",), uneven(4, 2)))),)
    ),
}


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("projection", ["euclidean", "clip", "bayes"])
def test_an_adjusted_estimate_has_the_products_margins(name, projection):
    design = DESIGNS[name]
    tally = reported(records(distribution(D, 2), 4000, 1), design, 1)
    found = adjust(tally, design, projection=projection)
    base = product(tally, design, projection=projection)
    assert found.method == "adjust"
    assert found.notes["adjustment"].stopped == "tolerance"
    assert found.notes["unreached"] == ()
    for cluster in design.clusters:
        np.testing.assert_allclose(
            found.table(*cluster.attributes).values,
            base.table(*cluster.attributes).values,
            atol=1e-8,
        )
    assert found.table("c", "b").values.sum() == pytest.approx(1)


def test_adjustment_brings_dependence_back_that_the_product_loses():
    truth = np.array([[0.45, 0.05], [0.05, 0.45]])
    design = independent(domain_of(2, 2), p=0.8)
    tally = reported(records(truth, 50_000, 4), design, 4)
    raked = adjust(tally, design).table("a", "b").values
    flat = product(tally, design).table("a", "b").values
    assert np.abs(raked - truth).max() < 0.5 * np.abs(flat - truth).max()
    assert raked[0, 0] < truth[0, 0] - 0.02, "and it stays attenuated"


def test_options_reach_the_raking():
    design = DESIGNS["attributes"]
    tally = reported(records(distribution(D, 2), 1000, 1), design, 1)
    few = adjust(tally, design, sweeps=1).notes["adjustment"]
    assert (few.sweeps, few.stopped) == (1, "sweeps")
    loose = adjust(tally, design, tolerance=0.1).notes["adjustment"]
    assert loose.stopped == "tolerance"
    assert loose.sweeps <= 2


def test_an_unreached_category_is_named_by_its_cluster():
    """The Bayesian update leaves mass on 'b2', which no record reports: it cannot be revived."""
    design = independent(domain_of(2, 3), p=0.05)
    codes = [np.array([0, 1, 0, 1]), np.array([0, 1, 0, 0])]
    tally = tally_codes([codes], design)
    assert adjust(tally, design).notes["unreached"] == ()
    found = adjust(tally, design, projection="bayes")
    assert found.notes["unreached"] == (("b", 2),)
    assert found.table("b").values[2] == 0
    assert found.table("b").values.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("design", "complaint"),
    [
        (sampled(D, 2, epsilon=2.0), "with several questionnaires nobody reports one"),
        (
            Design(
                domain_of(2, 2),
                (
                    Questionnaire(
                        (
                            Cluster(("a",), dense_matrix([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]])),
                            Cluster(("b",), constant_matrix(2, p=0.5)),
                        )
                    ),
                ),
            ),
            "the reports of 'a' are not cells and cannot be re-weighted",
        ),
    ],
)
def test_designs_without_whole_records_are_refused(design, complaint):
    tally = reported(records(distribution(design.domain, 1), 200, 1), design, 1)
    with pytest.raises(EstimateError) as error:
        adjust(tally, design)
    assert complaint in str(error.value)


def test_one_person_has_an_interval():
    design = independent(domain_of(3, 4), p=0.6)
    tally = tally_codes(randomize_codes([[0], [1]], design, SeededSource(3)), design)
    count = adjust(tally, design).count({"a": ["a0"]})
    assert 0 <= count.low <= count.value <= count.high <= 1
    assert count.high - count.low > 0.5


def test_intervals_are_those_of_the_unbiased_count():
    """Whatever the point estimate: an interval ends where another estimator's ends, or holds it."""
    design = DESIGNS["attributes"]
    tally = reported(records(distribution(D, 2), 4000, 1), design, 1)
    raked, others = adjust(tally, design), pairwise(tally, design)
    for where in ({"a": ["a1"]}, {"a": ["a1"], "c": ["c0", "c2"]}):
        one, other = raked.count(where), others.count(where)
        assert one.low < one.value < one.high
        low, high = min(other.low, one.value), max(other.high, one.value)
        # How people are spread inside and outside the set is each estimator's own view.
        assert (one.low, one.high) == pytest.approx((low, high), abs=0.1 * (high - low))


def test_a_joint_far_too_large_to_enumerate_is_adjusted():
    design = joint(domain_of(*[8] * 10), p=0.6)
    rng = np.random.default_rng(2)
    codes = [rng.integers(0, 8, 500) for _ in range(10)]
    tally = tally_codes(randomize_codes(codes, design, SeededSource(3)), design)
    with pytest.raises(EstimateError, match="cells"):
        adjust(tally, design)
