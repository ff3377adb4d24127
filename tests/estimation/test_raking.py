"""Raking: Algorithm 2 against an independent raking; tables that meet any margins."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdrr.errors import EstimateError
from mdrr.estimation.raking import _cut, fit_margins, margin_of, rake

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


@pytest.mark.parametrize("options", [{"sweeps": 0}, {"tolerance": -1.0}, {"tolerance": np.nan}])
def test_when_to_stop_must_be_possible(options):
    half = np.array([0.5, 0.5])
    with pytest.raises(EstimateError, match="must"):
        rake([np.array([0, 1])], [half], [1, 1], **options)


@pytest.mark.parametrize("sizes", [(2, 3), (3, 2, 4), (2, 2, 2, 2, 5), (7, 2, 2)])
@pytest.mark.parametrize("sweeps", [1, 2, 1000])
@pytest.mark.parametrize("scale", [1, 0.7, 2**24 + 1])  # small counts, fractions, large counts
def test_blocks_of_columns_are_raked_as_records_are(sizes, sweeps, scale, monkeypatch):
    rng = np.random.default_rng(len(sizes) * sweeps)
    columns = [rng.integers(size, size=400) for size in sizes]
    columns[1][columns[0] == 0] = 0
    targets = [rng.dirichlet(np.ones(size)) for size in sizes]
    targets[-1][0] = 0
    targets[-1] /= targets[-1].sum()
    start = scale * rng.integers(1, 5, size=400)
    apart = rake(columns, targets, start, sweeps=sweeps)
    monkeypatch.setattr("mdrr.estimation.raking._MANY_RECORDS", 1)
    found = rake(columns, targets, start, sweeps=sweeps)
    np.testing.assert_allclose(found.weights, apart.weights, rtol=1e-9, atol=1e-15)
    assert found.residual == pytest.approx(apart.residual, rel=1e-6, abs=1e-12)
    assert (found.sweeps, found.stopped) == (apart.sweeps, apart.stopped)


def test_blocks_of_columns_say_when_nothing_is_left(monkeypatch):
    monkeypatch.setattr("mdrr.estimation.raking._MANY_RECORDS", 1)
    columns = [np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1])]
    with pytest.raises(EstimateError, match="the targets contradict the randomized records"):
        rake(columns, [np.array([1.0, 0.0]), np.array([0.0, 1.0])], [1, 1, 1, 1])


def test_records_are_raked_one_by_one_if_they_are_few_or_blocks_are_large():
    assert _cut([16, 2, 3], 2**14) == 1
    assert _cut([2, 3, 16], 2**14) == 2
    assert _cut([16, 2, 3], 2**14 - 1) is None
    assert _cut([2**15, 2], 2**14) is None
    assert _cut([4] * 60, 2**20) is None
    assert _cut([16], 2**14) is None


def test_fitting_margins_keeps_odds_ratios():
    table = np.array([[4.0, 2.0], [1.0, 3.0]]) / 10
    fitted = fit_margins(table, [np.array([0.3, 0.7]), np.array([0.6, 0.4])])
    assert np.allclose(fitted.sum(axis=1), [0.3, 0.7])
    assert np.allclose(fitted.sum(axis=0), [0.6, 0.4])
    odds = [t[0, 0] * t[1, 1] / (t[0, 1] * t[1, 0]) for t in (table, fitted)]
    assert odds[1] == pytest.approx(odds[0], rel=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_any_margins_are_met_whatever_the_table(seed):
    """Zeros that leave no way, an empty row, a category nobody has; three axes too."""
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(2, 6, size=2 + seed % 2))
    table = rng.random(shape) * (rng.random(shape) < 0.3)
    table[0] = 0
    margins = [rng.dirichlet(np.full(size, 0.3)) for size in shape]
    margins[1] = np.append(np.zeros(1), rng.dirichlet(np.ones(shape[1] - 1)))
    fitted = fit_margins(table, margins)
    assert fitted.shape == shape
    assert (fitted >= 0).all()
    for axis, margin in enumerate(margins):
        assert margin_of(fitted, axis) == pytest.approx(margin, abs=1e-9)


def test_a_table_of_one_attribute_is_its_margin():
    margin = np.array([0.2, 0.8])
    assert (fit_margins(np.array([0.5, 0.5]), [margin]) == margin).all()
