"""Projections: the nearest distribution is the nearest, clip and rescale is what the paper does."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from mdrr.errors import EstimateError
from mdrr.estimation.project import clip_rescale, nearest, posterior_mean, project

VALUES = st.lists(st.floats(-2, 2), min_size=1, max_size=6)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(VALUES)
def test_the_nearest_distribution_meets_the_optimality_conditions(values):
    """KKT: π = max(v − τ, 0) for one τ, and Σπ = 1. Convex, so necessary and sufficient."""
    v = np.array(values)
    pi = nearest(v)
    assert pi.sum() == pytest.approx(1, abs=1e-12)
    assert (pi >= 0).all()
    shift = (v - pi)[pi > 1e-12]
    assert np.ptp(shift) < 1e-9
    assert (v[pi <= 1e-12] <= shift.mean() + 1e-9).all()


@pytest.mark.parametrize("seed", range(5))
def test_a_numerical_optimizer_finds_nothing_nearer(seed):
    v = np.random.default_rng(seed).normal(scale=0.7, size=4)
    found = minimize(
        lambda x: ((x - v) ** 2).sum(),
        np.full(4, 0.25),
        bounds=[(0, 1)] * 4,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert found.success
    np.testing.assert_allclose(nearest(v), found.x, atol=1e-6)


def test_no_grid_point_is_nearer():
    """All distributions over 3 cells in steps of 1/100."""
    grid = np.array([(i, j, 100 - i - j) for i in range(101) for j in range(101 - i)]) / 100
    for v in np.random.default_rng(9).normal(0.3, 0.6, size=(20, 3)):
        best = ((grid - v) ** 2).sum(axis=1).min()
        assert ((nearest(v) - v) ** 2).sum() <= best + 1e-12


def test_the_papers_procedure_is_further():
    """(.7, .5, −.2): clip and rescale is at .2461, the projection at .2449."""
    v = np.array([0.7, 0.5, -0.2])
    clipped, projected = clip_rescale(v), nearest(v)
    np.testing.assert_allclose(clipped, [7 / 12, 5 / 12, 0])
    np.testing.assert_allclose(projected, [0.6, 0.4, 0])
    assert np.linalg.norm(clipped - v) == pytest.approx(0.2461, abs=5e-5)
    assert np.linalg.norm(projected - v) == pytest.approx(0.2449, abs=5e-5)


@pytest.mark.parametrize("how", ["euclidean", "clip"])
def test_a_distribution_stays_itself_in_any_shape(how):
    proper = np.random.default_rng(1).dirichlet(np.ones(6)).reshape(2, 3)
    np.testing.assert_allclose(project(proper, how), proper, atol=1e-15)


def test_a_tables_whole_is_one_distribution():
    table = np.array([[0.7, 0.5], [-0.2, 0.0]])
    np.testing.assert_allclose(nearest(table), [[0.6, 0.4], [0, 0]], atol=1e-15)


def test_names_are_checked():
    with pytest.raises(EstimateError, match=r"no projection 'best'. Known: 'euclidean', 'clip'"):
        project(np.array([0.5, 0.5]), "best")


@pytest.mark.parametrize("values", [[np.nan], [np.nan, 0.5], [np.inf, 1.0], [-np.inf, 1.0], []])
def test_what_is_no_number_cannot_be_projected(values):
    with pytest.raises(EstimateError, match="finite number"):
        nearest(np.array(values))


def test_nothing_positive_cannot_be_rescaled():
    with pytest.raises(EstimateError, match="no value is positive"):
        clip_rescale(np.array([-0.5, 0.0]))
    np.testing.assert_allclose(nearest(np.array([-0.5, 0.0])), [0.25, 0.75])


@pytest.mark.parametrize("error", [1e-9, 1e-3, 0.3, 30.0, 1e4, 1e9])
@pytest.mark.parametrize("cells", [1, 2, 40])
def test_a_posterior_mean_is_proper_and_positive_at_any_noise(error, cells):
    values = 1 / cells + error * np.random.default_rng(cells).standard_normal(cells)
    found = posterior_mean(values, np.full(cells, error))
    assert found.sum() == pytest.approx(1, abs=1e-12)
    assert (found > 0).all()
    order = np.argsort(values)
    assert (np.diff(found[order]) >= 0).all()


def test_a_posterior_mean_is_that_of_distributions_drawn_evenly():
    """Rejection: v = π + noise with π even over the simplex, kept where v is near the one seen."""
    rng = np.random.default_rng(3)
    seen, error = np.array([0.6, 0.35, 0.05]), 0.08
    drawn = rng.dirichlet(np.ones(3), size=400_000)
    weights = np.exp(-(((drawn - seen) ** 2).sum(axis=1)) / (2 * error**2))
    expected = weights @ drawn / weights.sum()
    np.testing.assert_allclose(posterior_mean(seen, np.full(3, error)), expected, atol=0.012)


@pytest.mark.parametrize(
    ("values", "errors"),
    [
        ([0.5, np.nan], 0.1),
        ([0.5, 0.5], np.nan),
        ([0.5, 0.5], -0.1),
        ([0.5, np.inf], 0.1),
        ([], 0.1),
    ],
)
def test_a_posterior_mean_needs_finite_numbers(values, errors):
    with pytest.raises(EstimateError):
        posterior_mean(np.array(values), np.full(len(values), errors))
