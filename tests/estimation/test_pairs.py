"""Pair tables: unbiased through any design, with the variances they state."""

import numpy as np
import pytest

from mdrr.design import Cluster, Design, Questionnaire
from mdrr.errors import EstimateError, SchemaError, TallyError
from mdrr.estimation.pairs import reported_pair, unbiased_moment, unbiased_pair
from mdrr.matrix import constant_matrix, dense_matrix
from mdrr.protocols import clustered, independent, joint, sampled
from mdrr.tallies import tally_codes
from tests.cases import dense_form, domain_of, uneven
from tests.chance import z
from tests.people import distribution, records, reported
from tests.statistical.coverage import relative_tolerance

D = domain_of(2, 3, 4)
DENSE = Design(
    D,
    (
        Questionnaire(
            (Cluster(("a", "c"), uneven(8, 2)), Cluster(("b",), constant_matrix(3, p=0.6)))
        ),
    ),
)
DESIGNS = {
    "independent": independent(D, p=0.5),
    "joint": joint(D, p=0.4),
    "clustered": clustered(D, [["a", "c"], ["b"]], p=0.5),
    "dense": DENSE,
    "sampled": sampled(D, 2, epsilon=3.0),
}
PAIRS = [("a", "b"), ("b", "a"), ("a", "c"), ("c", "a"), ("b", "c")]


def exact_tally(design, truth, n=10**7):
    """Counts that are exactly what the design's reports have on average, up to rounding."""
    codes, counts = [], []
    weights = sum(q.weight for q in design.questionnaires)
    for q in design.questionnaires:
        names = q.attributes
        gone = tuple(i for i, name in enumerate(D.names) if name not in names)
        kept = [name for name in D.names if name in names]
        table = truth.sum(axis=gone)
        table = np.transpose(table, [kept.index(name) for name in names])
        table = table.reshape([c.matrix.cells for c in q.clusters])
        for axis, cluster in enumerate(q.clusters):
            m = cluster.matrix
            p = m.probabilities if m.kind == "dense" else dense_form(m)
            table = np.moveaxis(np.tensordot(table, p, axes=(axis, 0)), -1, axis)
        times = np.rint(table * n * q.weight / weights).astype(np.int64).ravel()
        grids = np.indices(table.shape).reshape(table.ndim, -1)
        codes.append([grid[times > 0] for grid in grids])
        counts.append(times[times > 0])
    return tally_codes(codes, design, counts=counts)


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("pair", PAIRS)
def test_the_expected_reports_give_the_true_table(name, pair):
    truth = distribution(D, 4)
    table = unbiased_pair(exact_tally(DESIGNS[name], truth), DESIGNS[name], *pair)
    axes = [D.index(n) for n in pair]
    wanted = truth.sum(axis=3 - sum(axes))
    wanted = wanted if axes[0] < axes[1] else wanted.T
    assert table.names == pair
    np.testing.assert_allclose(table.values, wanted, atol=1e-4)
    assert table.values.sum() == pytest.approx(1)


@pytest.mark.parametrize("name", DESIGNS)
def test_tables_are_unbiased_and_vary_as_stated(name):
    """400 collections of 500 people; every cell of three tables, false alarm 1e-5 each."""
    design, truth, trials = DESIGNS[name], distribution(D, 5, concentration=4.0), 400
    wanted = np.concatenate([truth.sum(axis=axis).ravel() for axis in (2, 1, 0)])
    values, variances = [], []
    for trial in range(trials):
        tally = reported(records(truth, 500, trial), design, f"pairs {trial}")
        tables = [unbiased_pair(tally, design, *pair) for pair in (("a", "b"), "ac", "bc")]
        values.append(np.concatenate([table.values.ravel() for table in tables]))
        variances.append(np.concatenate([table.variances.ravel() for table in tables]))
    observed = np.var(values, axis=0, ddof=1)
    assert (np.abs(np.mean(values, axis=0) - wanted) < z() * np.sqrt(observed / trials)).all()
    ratio = observed / np.mean(variances, axis=0)
    assert (np.abs(ratio - 1) < relative_tolerance(trials)).all()


def test_a_questionnaire_with_one_person_does_not_drown_the_others():
    """A single report has no spread of its own; it must not be taken for certainty."""
    design = sampled(domain_of(2, 2, 2), 3, epsilon=2.0)
    design = Design(
        design.domain,
        (
            Questionnaire((Cluster(("a", "b"), constant_matrix(4, p=0.3)),), 2**15),
            Questionnaire((Cluster(("a", "b", "c"), constant_matrix(8, p=0.3)),), 2**15),
        ),
    )
    many = [np.repeat([0, 1, 2, 3], 250)]
    tally = tally_codes([many, [np.array([7])]], design)
    table = unbiased_pair(tally, design, "a", "b")
    np.testing.assert_allclose(table.values, np.full((2, 2), 0.25), atol=0.02)
    assert table.n == 1001
    assert (table.variances > 1e-4).all()


def test_reported_tables_are_the_reports_as_they_stand():
    design = clustered(D, [["a", "c"], ["b"]], p=0.5)
    tally = tally_codes([[np.array([0, 5, 5, 7]), np.array([2, 1, 1, 0])]], design)
    np.testing.assert_array_equal(
        reported_pair(tally, design, "a", "c"), [[1, 0, 0, 0], [0, 2, 0, 1]]
    )
    np.testing.assert_array_equal(reported_pair(tally, design, "b", "a"), [[0, 1], [0, 2], [1, 0]])


@pytest.mark.parametrize("function", [reported_pair, unbiased_pair])
def test_what_nobody_reported_together_is_said(function):
    design = sampled(D, 1, epsilon=1.0)
    tally = reported(records(distribution(D, 1), 50, 1), design, 1)
    with pytest.raises(EstimateError, match="nobody reported both 'a' and 'b'"):
        function(tally, design, "a", "b")
    with pytest.raises(TallyError, match="Use the design"):
        function(tally, independent(D, p=0.5), "a", "b")
    with pytest.raises(SchemaError, match="no attribute 'z'"):
        function(tally, design, "a", "z")


def test_an_attribute_with_itself_is_refused():
    design = independent(D, p=0.5)
    tally = reported(records(distribution(D, 1), 50, 1), design, 1)
    for function in (reported_pair, unbiased_pair):
        with pytest.raises(EstimateError, match="'a' twice"):
            function(tally, design, "a", "a")


def test_reports_that_are_not_cells_have_no_reported_table():
    wide = dense_matrix([[0.6, 0.2, 0.2], [0.1, 0.2, 0.7]])
    clusters = (Cluster(("a",), wide), Cluster(("b",), constant_matrix(3, p=0.5)))
    design = Design(domain_of(2, 3), (Questionnaire(clusters),))
    truth = distribution(design.domain, 2)
    tally = reported(records(truth, 100_000, 3), design, 3)
    with pytest.raises(EstimateError, match="the reports of 'a' are not cells"):
        reported_pair(tally, design, "a", "b")
    table = unbiased_pair(tally, design, "a", "b")
    assert (np.abs(table.values - truth) < z() * np.sqrt(table.variances)).all()


@pytest.mark.parametrize("name", DESIGNS)
def test_a_moment_is_that_of_the_table(name):
    """E[x(first)·y(second)] from the reports is the same linear functional of the pair table."""
    design = DESIGNS[name]
    tally = reported(records(distribution(D, 5), 3000, 1), design, 1)
    x, y = np.array([-1.0, 2.0]), np.array([0.5, -3.0, 1.0, 2.0])
    mean, variance = unbiased_moment(tally, design, ("a", "c"), x, y)
    turned, same = unbiased_moment(tally, design, ("c", "a"), y, x)
    assert mean == pytest.approx(x @ unbiased_pair(tally, design, "a", "c").values @ y)
    assert (turned, same) == (pytest.approx(mean), pytest.approx(variance))
    ones = unbiased_moment(tally, design, ("a", "c"), np.ones(2), np.ones(4))
    np.testing.assert_allclose(ones, (1, 0), atol=1e-10)


@pytest.mark.parametrize("name", DESIGNS)
def test_a_moment_is_unbiased_and_varies_as_stated(name):
    design, truth, trials = DESIGNS[name], distribution(D, 5, concentration=4.0), 400
    x, y = np.array([-1.0, 2.0]), np.array([0.5, -3.0, 1.0, 2.0])
    found = np.array(
        [
            unbiased_moment(
                reported(records(truth, 400, t), design, f"moment {t}"), design, ("a", "c"), x, y
            )
            for t in range(trials)
        ]
    )
    observed = found[:, 0].var(ddof=1)
    wanted = x @ truth.sum(axis=1) @ y
    assert abs(found[:, 0].mean() - wanted) < z() * np.sqrt(observed / trials)
    assert abs(observed / found[:, 1].mean() - 1) < relative_tolerance(trials)
