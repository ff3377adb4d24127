"""RR-Adjustment: Algorithm 2 against an independent raking, its spread against a bootstrap."""

import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdrr.design import Cluster, Design, Questionnaire
from mdrr.errors import EstimateError
from mdrr.estimation.adjust import adjust, rake
from mdrr.estimation.product import product
from mdrr.matrix import constant_matrix, dense_matrix
from mdrr.protocols import clustered, independent, joint, sampled
from mdrr.query import Query
from mdrr.randomizer import randomize_codes
from mdrr.source import SeededSource
from mdrr.tallies import tally_codes
from tests.cases import domain_of, uneven
from tests.people import distribution, records, reported
from tests.statistical.coverage import relative_tolerance

D = domain_of(2, 3, 4)
HALF = np.array([0.5, 0.5])


def raked_by_ipfn(cells, targets, start):
    """The same problem given to ipfn: a frame of records and one series per margin."""
    from ipfn import ipfn

    frame = pd.DataFrame({f"c{j}": column for j, column in enumerate(cells)})
    frame["total"] = np.asarray(start, dtype=float)
    margins = [
        pd.Series(target, index=pd.Index(range(len(target)), name=f"c{j}"))
        for j, target in enumerate(targets)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = ipfn.ipfn(
            frame,
            margins,
            [[f"c{j}"] for j in range(len(targets))],
            convergence_rate=1e-12,
            max_iteration=5000,
        ).iteration()
    return found.sort_index()["total"].to_numpy()


@pytest.mark.parametrize("seed", range(8))
def test_weights_are_those_of_an_independent_raking(seed):
    """ipfn on random tables of 2 to 4 margins, 2 to 5 categories, unequal start weights."""
    rng = np.random.default_rng(seed)
    shape = rng.integers(2, 6, size=rng.integers(2, 5))
    cells = list(np.indices(shape).reshape(len(shape), -1))
    start = rng.gamma(2.0, size=len(cells[0])) + 0.1
    targets = [rng.dirichlet(np.full(size, 3.0)) for size in shape]
    found = rake(cells, targets, start, tolerance=1e-12)
    assert found.stopped == "tolerance"
    wanted = raked_by_ipfn(cells, targets, start / start.sum())
    np.testing.assert_allclose(found.weights, wanted, atol=1e-9)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), m=st.integers(1, 4), k=st.integers(30, 200))
def test_margins_are_met_and_odds_ratios_kept(seed, m, k):
    """Raking is characterised by its margins and by weights = start · Π factors of categories."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 4, size=m)
    columns = [rng.integers(size, size=k) for size in sizes]
    start = rng.integers(1, 9, size=k)
    weights = start * np.prod(
        [rng.uniform(0.5, 2, s)[c] for s, c in zip(sizes, columns, strict=True)], axis=0
    )
    targets = [
        np.bincount(c, weights=weights, minlength=s) / weights.sum()
        for c, s in zip(columns, sizes, strict=True)
    ]  # reachable by construction, and unique
    found = rake(columns, targets, start, tolerance=1e-11, sweeps=5000)
    assert found.stopped == "tolerance"
    assert found.residual < 1e-11
    for column, target in zip(columns, targets, strict=True):
        np.testing.assert_allclose(
            np.bincount(column, weights=found.weights, minlength=len(target)), target, atol=1e-10
        )
    np.testing.assert_allclose(found.weights, weights / weights.sum(), atol=1e-7)


def test_the_papers_toy_example_ends_at_one_half_none_none_one_half():
    """The limit has a zero where the start has none, so it is approached only like 1/sweeps."""
    columns = [np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])]
    far, further = (
        rake(columns, [HALF, HALF], [4, 0, 2, 4], tolerance=0, sweeps=n) for n in (1000, 10_000)
    )
    for found in (far, further):
        assert 0 < found.weights[2] < 1 / found.sweeps
        np.testing.assert_allclose(found.weights, [0.5, 0, 0, 0.5], atol=1 / found.sweeps)
    assert further.weights[2] < far.weights[2] / 9


def test_why_it_stopped_is_said():
    columns = [np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])]
    targets = [np.array([0.3, 0.7]), np.array([0.6, 0.4])]
    few = rake(columns, targets, [4, 1, 2, 4], sweeps=2)
    assert (few.stopped, few.sweeps) == ("sweeps", 2)
    assert few.residual > 1e-9
    done = rake(columns, targets, [4, 1, 2, 4])
    assert done.stopped == "tolerance"
    assert done.residual < 1e-9
    loose = rake(columns, targets, [4, 1, 2, 4], tolerance=1e-2)
    assert loose.sweeps < done.sweeps
    assert done.weights.sum() == pytest.approx(1)


def test_a_category_no_record_has_is_listed_and_not_divided_by():
    found = rake([np.array([0, 2, 2])], [np.array([0.25, 0.5, 0.25])], [1, 1, 3])
    assert found.unreached == ((0, 1),)
    np.testing.assert_allclose(found.weights, [0.5, 0.125, 0.375])


def test_a_category_that_should_not_be_gets_no_weight():
    found = rake([np.array([0, 1, 2])], [np.array([0.5, 0.0, 0.5])], [1, 1, 1])
    np.testing.assert_allclose(found.weights, [0.5, 0, 0.5])
    assert found.unreached == ()


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 1003])
def test_any_number_of_records_and_categories_is_raked(k):
    """One sweep by hand: margins of 300 and of 2 categories, records not a multiple of four."""
    rng = np.random.default_rng(k)
    columns = [rng.integers(300, size=k), rng.integers(2, size=k)]
    targets = [rng.dirichlet(np.ones(300)), np.array([0.3, 0.7])]
    start = rng.integers(1, 5, size=k)
    found = rake(columns, targets, start, sweeps=1)
    weights = start / start.sum()
    for column, target in zip(columns, targets, strict=True):
        sums = np.bincount(column, weights=weights, minlength=len(target))
        reachable = np.where(sums > 0, target, 0) / target[sums > 0].sum()
        weights = weights * (reachable / np.where(sums > 0, sums, 1))[column]
    np.testing.assert_allclose(found.weights, weights, rtol=1e-12)


def test_weights_sum_to_one_where_a_margin_takes_what_the_next_one_wants():
    """The first target empties the only record with code 0 in the second, which wants half."""
    columns = [np.array([0, 1, 1]), np.array([0, 1, 1])]
    found = rake(columns, [np.array([0.0, 1.0]), HALF], [1, 1, 3], sweeps=3)
    np.testing.assert_allclose(found.weights, [0, 0.25, 0.75], rtol=1e-12)
    assert found.stopped == "sweeps"


@pytest.mark.parametrize(
    ("columns", "targets", "start", "complaint"),
    [
        ([], [], [], "no reports to adjust"),
        ([[0, 1]], [HALF], [0, 0], "no reports to adjust"),
        ([[0, 1]], [HALF], [1, -1], "no reports to adjust"),
        ([[0, 1]], [HALF], [3, -1], "finite and not negative"),
        ([[0, 1]], [HALF], [np.inf, 1], "finite and not negative"),
        ([[0, 1]], [HALF, HALF], [1, 1], "1 columns and 2 targets"),
        ([[0, 1]], [np.array([0.5, 0.6])], [1, 1], "target 0 is not a distribution"),
        ([[0, 1]], [np.array([1.5, -0.5])], [1, 1], "target 0 is not a distribution"),
        ([[0, 1]], [np.array([np.nan, 1])], [1, 1], "target 0 is not a distribution"),
        ([[0, 2]], [HALF], [1, 1], "column 0 needs one code per record, each in 0…1"),
        ([[0, -1]], [HALF], [1, 1], "column 0 needs one code per record"),
        ([[0, 1, 1]], [HALF], [1, 1], "column 0 needs one code per record"),
        ([[0, 0]], [np.array([0.0, 1.0])], [1, 1], "no record has a category that target 0 allows"),
        (
            [[0, 0, 1], [0, 0, 1]],
            [np.array([1.0, 0.0]), np.array([0.0, 1.0])],
            [1, 1, 1],
            "the targets contradict the randomized records",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_raked_is_refused(columns, targets, start, complaint):
    with pytest.raises(EstimateError) as error:
        rake([np.array(column) for column in columns], targets, start)
    assert complaint in str(error.value)


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


QUERIES = [
    {"a": ["a1"]},
    {"a": ["a1"], "c": ["c0", "c2"]},
    {("b", "c"): [("b0", "c1"), ("b2", "c3")]},
]


@pytest.mark.parametrize("name", ["attributes", "clusters"])
def test_the_spread_is_that_of_a_bootstrap(name):
    """500 resamples of the reports, adjusted anew; linearization is exact to first order."""
    design, replicates = DESIGNS[name], 500
    tally = reported(records(distribution(D, 2, 5.0), 20_000, 1), design, 1)
    group = tally.groups[0]
    rng = np.random.default_rng(6)
    queries = [Query.of(where, D) for where in QUERIES]
    seen = []
    for _ in range(replicates):
        times = rng.multinomial(group.n, group.counts / group.n)
        kept = times > 0
        again = tally_codes([[c[kept] for c in group.codes]], design, counts=[times[kept]])
        joint_again = adjust(again, design).joint
        seen.append([joint_again.mass(query) for query in queries])
    stated = [adjust(tally, design).spread.deviation(query, "population") for query in queries]
    ratio = np.var(seen, axis=0, ddof=1) / [d.error**2 for d in stated]
    assert (np.abs(ratio - 1) < relative_tolerance(replicates)).all()


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


def test_large_margins_are_regressed_without_a_dense_matrix(monkeypatch):
    """RR-Joint has as many margins as cells; both ways give the same interval."""
    design = joint(domain_of(3, 4, 5), p=0.6)
    codes = [np.arange(500) % 3, np.arange(500) % 4, np.arange(500) * 7 % 5]
    tally = tally_codes(randomize_codes(codes, design, SeededSource(3)), design)
    where = {"a": ["a0"], "c": ["c1", "c2"]}
    dense = adjust(tally, design).count(where)
    monkeypatch.setattr(sys.modules["mdrr.estimation.adjust"], "_MOST_DENSE", 0)
    sparse = adjust(tally, design).count(where)
    assert sparse.low == pytest.approx(dense.low, abs=1e-4)
    assert sparse.high == pytest.approx(dense.high, abs=1e-4)
    assert dense.low < dense.value < dense.high


def test_one_person_tells_nothing_of_spread():
    design = independent(domain_of(3, 4), p=0.6)
    tally = tally_codes(randomize_codes([[0], [1]], design, SeededSource(3)), design)
    count = adjust(tally, design).count({"a": ["a0"]})
    assert (count.low, count.high) == (0, 1)


@pytest.mark.parametrize("options", [{"sweeps": 0}, {"tolerance": -1.0}, {"tolerance": np.nan}])
def test_when_to_stop_must_be_possible(options):
    half = np.array([0.5, 0.5])
    with pytest.raises(EstimateError, match="must"):
        rake([np.array([0, 1])], [half], [1, 1], **options)
