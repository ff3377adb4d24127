"""The product estimator: each cluster inverted, projected and multiplied; questionnaires pooled."""

import numpy as np
import pytest

from mdrr.design import Cluster, Design, Questionnaire
from mdrr.errors import EstimateError, TallyError
from mdrr.estimation import estimate, product
from mdrr.estimation.invert import invert
from mdrr.estimation.project import clip_rescale, nearest
from mdrr.estimation.update import bayesian_update
from mdrr.matrix import constant_matrix, dense_matrix
from mdrr.protocols import clustered, independent, joint, sampled
from mdrr.tallies import tally_codes
from tests.cases import designs, domain_of, unequal_questionnaires, uneven
from tests.people import distribution, records, reported

D = domain_of(2, 3, 4)


def tally_of(design, n=3000, seed=1):
    return reported(records(distribution(design.domain, 5), n, seed), design, seed)


@pytest.mark.parametrize("name", designs())
@pytest.mark.parametrize("projection", ["euclidean", "clip"])
def test_every_design_gives_a_proper_distribution(name, projection):
    design = designs()[name]
    found = estimate(tally_of(design), design, "product", projection=projection)
    for attribute in design.domain.attributes:
        values = found.table(attribute.name).values
        assert values.shape == (attribute.size,)
        assert values.sum() == pytest.approx(1)
        assert (values >= 0).all()
    assert found.n == 3000
    assert found.notes["projection"] == projection


@pytest.mark.parametrize(
    ("projection", "function"), [("euclidean", nearest), ("clip", clip_rescale)]
)
def test_a_cluster_is_the_projection_of_its_inverse(projection, function):
    design = clustered(D, [["a", "c"], ["b"]], p=0.2)
    tally = tally_of(design, n=40)
    found = product(tally, design, projection=projection)
    raw = invert(tally.groups[0].marginal(0), design.clusters[0].matrix).reshape(2, 4)
    assert (raw < 0).any(), "else the projection does nothing"
    np.testing.assert_allclose(found.table("a", "c").values, function(raw))
    other = function(invert(tally.groups[0].marginal(1), design.clusters[1].matrix))
    np.testing.assert_allclose(
        found.table("c", "b", "a").values, np.einsum("ac,b->cba", function(raw), other)
    )


def test_bayes_is_the_iterative_update_of_each_cluster():
    design = clustered(D, [["a", "c"], ["b"]], p=0.2)
    tally = tally_of(design, n=40)
    found = product(tally, design, projection="bayes").table("a", "c").values.ravel()
    update = bayesian_update(tally.groups[0].marginal(0), design.clusters[0].matrix)
    np.testing.assert_allclose(found, update.distribution)


def test_exact_reports_give_the_exact_answer():
    """Counts that are exactly Pᵀπ: no noise, so every projection must give π."""
    matrix = constant_matrix(4, p=0.5)
    pi = np.array([0.5, 0.25, 0.25, 0.0])
    counts = np.rint(matrix.forward(pi) * 2**20).astype(np.int64)
    design = Design(domain_of(4), (Questionnaire((Cluster(("a",), matrix),)),))
    tally = tally_codes([[np.arange(4)]], design, counts=[counts])
    for projection in ("euclidean", "clip", "bayes"):
        values = product(tally, design, projection=projection).table("a").values
        slack = 1e-4 if projection == "bayes" else 2e-6  # EM reaches the border slowly
        np.testing.assert_allclose(values, pi, atol=slack)


def test_questionnaires_are_pooled_by_how_much_they_say():
    """The pooled estimate is a weighted mean; a clearer matrix and more people weigh more."""
    domain = domain_of(3)
    clear, noisy = constant_matrix(3, p=0.9), constant_matrix(3, p=0.1)
    design = Design(
        domain,
        (
            Questionnaire((Cluster(("a",), clear),), 2**15),
            Questionnaire((Cluster(("a",), noisy),), 2**15),
        ),
    )
    counts = [np.array([500, 300, 200]), np.array([350, 340, 310])]
    tally = tally_codes([[np.arange(3)]] * 2, design, counts=counts)
    values = product(tally, design).table("a").values
    apart = [invert(c, m) for c, m in zip(counts, (clear, noisy), strict=True)]
    weight = (values[0] - apart[1][0]) / (apart[0][0] - apart[1][0])
    np.testing.assert_allclose(values, weight * apart[0] + (1 - weight) * apart[1])
    assert 0.97 < weight < 1  # signal² is 81 times as large


def test_one_person_and_a_category_never_seen():
    design = independent(D, p=0.9)
    tally = tally_codes([[np.array([1]), np.array([2]), np.array([0])]], design)
    found = product(tally, design)
    assert found.n == 1
    np.testing.assert_allclose(found.table("b").values, [0, 0, 1], atol=1e-12)
    count = found.count({"b": ["b2"]})
    assert 0 <= count.low <= count.value <= count.high <= 1


def test_dense_and_constant_clusters_together():
    design = unequal_questionnaires()
    truth = distribution(design.domain, 2)
    found = product(reported(records(truth, 200_000, 3), design, 3), design)
    for axis, name in enumerate("abc"):
        rest = tuple(i for i in range(3) if i != axis)
        np.testing.assert_allclose(found.table(name).values, truth.sum(axis=rest), atol=0.02)


def test_a_dense_matrix_with_more_codes_than_cells():
    wide = dense_matrix([[0.6, 0.2, 0.1, 0.1], [0.1, 0.2, 0.3, 0.4]])
    design = Design(domain_of(2), (Questionnaire((Cluster(("a",), wide),)),))
    counts = np.rint(wide.forward(np.array([0.3, 0.7])) * 10**6).astype(np.int64)
    found = product(tally_codes([[np.arange(4)]], design, counts=[counts]), design)
    np.testing.assert_allclose(found.table("a").values, [0.3, 0.7], atol=1e-5)


@pytest.mark.parametrize(
    ("call", "kind", "complaint"),
    [
        (
            lambda t, d: estimate(t, d, "magic"),
            EstimateError,
            "no method 'magic'. Known: 'product'",
        ),
        (lambda t, d: product(t, d, projection="best"), EstimateError, "no projection 'best'"),
        (
            lambda t, d: product(t, joint(D, p=0.4)),
            TallyError,
            "Use the design they were made under",
        ),
        (
            lambda t, d: product(tally_codes([[np.array([], int)] * 3], d), d),
            EstimateError,
            "the tally is empty",
        ),
    ],
)
def test_what_cannot_be_estimated_is_refused(call, kind, complaint):
    design = independent(D, p=0.4)
    with pytest.raises(kind) as error:
        call(tally_of(design, 50), design)
    assert complaint in str(error.value)


def test_several_questionnaires_have_no_bayesian_update():
    design = sampled(D, 2, epsilon=2.0)
    with pytest.raises(EstimateError, match="use 'euclidean' or 'clip'"):
        product(tally_of(design), design, projection="bayes")


def test_an_attribute_nobody_reported_is_named():
    design = sampled(D, 1, epsilon=2.0)
    codes = [[np.array([0])], [np.array([1])], [np.array([], int)]]
    with pytest.raises(EstimateError, match="nobody has reported 'c' yet"):
        product(tally_codes(codes, design), design)


def test_uneven_matrices_are_inverted_whole():
    design = Design(domain_of(2, 3), (Questionnaire((Cluster(("a", "b"), uneven(6, 4)),)),))
    truth = distribution(design.domain, 6)
    found = product(reported(records(truth, 300_000, 7), design, 7), design)
    np.testing.assert_allclose(found.table("b", "a").values, truth.T, atol=0.01)


def test_everybody_is_counted_without_doubt():
    design = independent(D, p=0.4)
    found = product(tally_of(design, 500), design)
    count = found.count({})
    assert (count.low, count.value, count.high) == (500, 500, 500)
