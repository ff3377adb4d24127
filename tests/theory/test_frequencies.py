"""The paper's error formulas against χ² and simulation."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from mdrr.errors import EstimateError
from mdrr.matrix import Dense, constant_matrix, dense_matrix
from mdrr.theory import (
    deviations,
    e_abs,
    e_abs_pi,
    e_rel,
    e_rel_pi,
    frequency_errors,
    people_needed,
    propagation,
    sqrt_b,
)

PI = np.array([0.5, 0.3, 0.15, 0.05])
BAND = dense_matrix(
    [[0.7, 0.2, 0.07, 0.03], [0.15, 0.6, 0.2, 0.05], [0.05, 0.2, 0.6, 0.15], [0.1, 0.1, 0.2, 0.6]]
)
TALL = dense_matrix([[0.6, 0.2, 0.1, 0.1], [0.1, 0.5, 0.3, 0.1], [0.1, 0.1, 0.2, 0.6]])


def table(matrix):
    return matrix.likelihood(np.arange(matrix.outcomes)).T


@pytest.mark.parametrize("r", [1, 2, 9, 1000, 1_814_400])
@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.5])
def test_sqrt_b_is_the_chi_square_percentile(r, alpha):
    assert sqrt_b(r, alpha) ** 2 == pytest.approx(stats.chi2.isf(alpha / r, 1), rel=1e-9)


def test_sqrt_b_as_in_the_figure():
    """Figure 1 at α = .05: above 2 from two categories on, and growing slowly."""
    curve = [sqrt_b(r) for r in range(1, 101)]
    assert curve == sorted(curve)
    assert curve[0] == pytest.approx(1.959964, abs=1e-6)
    assert 2 < curve[1] < 2.3
    assert 3.4 < curve[-1] < 3.5


def test_sqrt_b_of_an_astronomic_domain():
    assert 40 < sqrt_b(10**400) < 45


def test_errors_by_the_printed_formulas():
    b = stats.chi2.isf(0.1 / 4, 1)
    assert e_abs(PI, 200, 0.1) == pytest.approx(max(math.sqrt(b * x * (1 - x) / 200) for x in PI))
    assert e_rel(PI, 200, 0.1) == pytest.approx(max(math.sqrt(b * (1 - x) / x / 200) for x in PI))


def test_intervals_hold_together():
    """All intervals λ̂ ± e_abs hold in at least 1−α of samples (false alarm < 1e-5).

    Power: with √B for one category in place of four they hold in clearly fewer than 1−α.
    """
    n, alpha, runs = 2000, 0.2, 4000
    lam = np.full(4, 0.25)
    counts = np.random.default_rng(11).multinomial(n, lam, size=runs)
    worst = np.abs(counts / n - lam).max(axis=1)
    held = int((worst <= e_abs(lam, n, alpha)).sum())
    assert stats.binom.cdf(held, runs, 1 - alpha) > 1e-5
    planted = e_abs(lam, n, alpha) * sqrt_b(1, alpha) / sqrt_b(4, alpha)
    assert stats.binom.cdf(int((worst <= planted).sum()), runs, 1 - alpha) < 1e-5


@pytest.mark.parametrize("matrix", [constant_matrix(4, p=0.3), BAND], ids=["constant", "dense"])
def test_deviations_against_simulation(matrix):
    """The variance of π̂ in 4000 samples lies in its χ² range for every category, α = 1e-5 each.

    Power: the variance of λ̂, as the paper has it, lies outside.
    """
    n, runs = 1000, 4000
    rng = np.random.default_rng(5)
    lam = PI @ table(matrix)
    counts = rng.multinomial(n, lam, size=runs)
    estimates = counts / n @ np.linalg.inv(table(matrix))
    low, high = stats.chi2.ppf([5e-6, 1 - 5e-6], runs - 1) / (runs - 1)
    ratio = estimates.var(axis=0, ddof=1) / (deviations(matrix, PI) ** 2 / n)
    assert ((low < ratio) & (ratio < high)).all()
    planted = estimates.var(axis=0, ddof=1) / (lam * (1 - lam) / n)
    assert (planted > high).all()


def test_deviations_of_dense_and_constant_agree():
    constant = constant_matrix(4, p=0.4)
    same = Dense(
        tuple(tuple(row) for row in (table(constant) * constant.total).round().astype(int).tolist())
    )
    assert deviations(same, PI) == pytest.approx(deviations(constant, PI), rel=1e-9)


def test_deviations_when_there_are_more_codes_than_cells():
    pi = np.array([0.2, 0.5, 0.3])
    p = table(TALL)
    inverse_even = np.diag(1 / p.mean(axis=0))
    weights = inverse_even @ p.T @ np.linalg.inv(p @ inverse_even @ p.T)
    lam = pi @ p
    covariance = weights.T @ (np.diag(lam) - np.outer(lam, lam)) @ weights
    assert deviations(TALL, pi) ** 2 == pytest.approx(np.diag(covariance))
    assert frequency_errors(TALL, pi, 100).lambda_abs == e_abs(lam, 100)


@pytest.mark.parametrize("cells", [2, 7])
def test_errors_of_pi_are_those_of_lambda_over_the_signal(cells):
    matrix = constant_matrix(cells, p=0.35)
    pi = np.random.default_rng(1).dirichlet(np.ones(cells))
    found = frequency_errors(matrix, pi, 500, 0.1)
    assert found.pi_abs == pytest.approx(found.lambda_abs / matrix.signal)
    lam = matrix.forward(pi)
    by_hand = max(
        math.sqrt(l * (1 - l) / 500) / matrix.signal / x for l, x in zip(lam, pi, strict=True)
    )
    assert found.pi_rel == pytest.approx(sqrt_b(cells, 0.1) * by_hand)


def test_a_frequency_of_zero_has_no_relative_error():
    assert math.isinf(e_rel([1.0, 0.0], 100))
    assert math.isinf(e_rel_pi(constant_matrix(2, p=0.5), [1.0, 0.0], 100))
    found = frequency_errors(constant_matrix(2, p=0.5), [1.0, 0.0], 100)
    assert math.isfinite(found.lambda_rel)
    assert found.to_dict()["pi_rel"] is None
    with pytest.raises(EstimateError, match="absolute"):
        people_needed([1.0, 0.0], relative=0.1)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    wanted=st.floats(0.003, 3.0),
    alpha=st.sampled_from([0.01, 0.05, 0.3]),
    relative=st.booleans(),
    dense=st.booleans(),
    of_pi=st.booleans(),
)
def test_people_needed_is_the_smallest_n(seed, wanted, alpha, relative, dense, of_pi):
    pi = np.random.default_rng(seed).dirichlet(np.full(4, 3.0))
    matrix = BAND if dense else constant_matrix(4, p=0.4)
    ask = {"relative": wanted} if relative else {"absolute": wanted}
    n = people_needed(pi, matrix=matrix if of_pi else None, alpha=alpha, **ask)

    def error(size):
        if of_pi:
            return (e_rel_pi if relative else e_abs_pi)(matrix, pi, size, alpha)
        return (e_rel if relative else e_abs)(pi, size, alpha)

    assert error(n) <= wanted
    assert n == 1 or error(n - 1) > wanted


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: sqrt_b(0), "at least one category"),
        (lambda: sqrt_b(3, 0.0), "alpha"),
        (lambda: sqrt_b(3, 1.0), "alpha"),
        (lambda: e_abs([0.5, 0.6], 10), "sum to 1"),
        (lambda: e_abs([1.5, -0.5], 10), "non-negative"),
        (lambda: e_abs([math.nan, 1.0], 10), "non-negative"),
        (lambda: e_abs([[0.5, 0.5]], 10), "list of probabilities"),
        (lambda: e_rel([0.5, 0.5], 0), "at least one report"),
        (lambda: e_abs_pi(BAND, [0.5, 0.5], 10), "4 cells"),
        (lambda: people_needed([0.5, 0.5]), "give absolute or relative, exactly one"),
        (lambda: people_needed([0.5, 0.5], absolute=0.1, relative=0.1), "exactly one"),
        (lambda: people_needed([0.5, 0.5], absolute=0.0), "positive"),
    ],
)
def test_bad_input_is_refused(call, words):
    with pytest.raises(EstimateError, match=words):
        call()


def amplification(matrix, lam, change):
    """How many times larger a relative error of λ̂ is in π̂, by solving twice."""
    pi, other = (np.linalg.solve(table(matrix).T, v) for v in (lam, lam + change))
    return (np.linalg.norm(other - pi) / np.linalg.norm(pi)) / (
        np.linalg.norm(change) / np.linalg.norm(lam)
    )


@pytest.mark.parametrize("matrix", [constant_matrix(4, p=0.3), BAND])
def test_some_error_grows_by_at_least_the_propagation(matrix):
    """Brute force: the worst error direction, by singular vectors."""
    found = propagation(matrix)
    left, values, _ = np.linalg.svd(table(matrix).T)
    worst = amplification(matrix, left[:, 0] * values[0], 1e-3 * left[:, -1])
    assert worst == pytest.approx(values[0] / values[-1])
    assert worst >= found * (1 - 1e-9)
    rng = np.random.default_rng(5)
    tried = [
        amplification(matrix, rng.dirichlet(np.ones(4)), rng.normal(size=4) * 1e-3)
        for _ in range(200)
    ]
    assert max(tried) <= worst * (1 + 1e-9)


def test_a_constant_matrix_propagates_by_one_over_its_signal():
    for r, p in ((2, 0.7), (9, 0.3), (16, 0.1)):
        matrix = constant_matrix(r, p=p)
        moduli = np.abs(np.linalg.eigvals(table(matrix)))
        assert propagation(matrix) == pytest.approx(moduli.max() / moduli.min())
        assert propagation(matrix) == pytest.approx(1 / p, rel=1e-3)


def test_no_symmetric_matrix_of_the_same_budget_propagates_less_than_a_constant_one():
    """Agrawal and Haritsa, on 200 random circulant matrices."""
    rng = np.random.default_rng(6)
    for _ in range(200):
        half = rng.uniform(0.2, 1.0, 3)
        row = np.array([half[0], half[1], half[2], half[2], half[1]]) / (half @ [1, 2, 2])
        rows = np.array([np.roll(row, k) for k in range(5)])
        moduli = np.abs(np.linalg.eigvalsh(rows))
        epsilon = math.log(row.max() / row.min())
        best = propagation(constant_matrix(5, epsilon=epsilon))
        assert moduli.max() / moduli.min() >= best * (1 - 1e-3)


def test_propagation_needs_as_many_codes_as_cells():
    with pytest.raises(EstimateError, match="3 cells and 4 codes has no eigenvalues"):
        propagation(TALL)
