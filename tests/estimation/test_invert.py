"""One cluster: the unbiased inverse, its dispersion, and the iterative Bayesian update."""

import numpy as np
import pytest
from scipy.optimize import minimize

from mdrr.errors import EstimateError
from mdrr.estimation.invert import bayesian_update, dispersion, frequencies, invert
from mdrr.matrix import constant_matrix
from tests.cases import dense_form, uneven
from tests.chance import z

MATRICES = [constant_matrix(4, p=0.5), constant_matrix(3, epsilon=0.7), uneven(4, 7)]


def table_of(matrix):
    return matrix.probabilities if matrix.kind == "dense" else dense_form(matrix)


@pytest.mark.parametrize("matrix", MATRICES)
def test_the_inverse_is_equation_2(matrix):
    counts = np.arange(1, matrix.outcomes + 1) * 10
    wanted = np.linalg.solve(table_of(matrix).T, counts / counts.sum())
    np.testing.assert_allclose(invert(counts, matrix), wanted, rtol=1e-9)
    assert invert(counts, matrix).sum() == pytest.approx(1)


@pytest.mark.parametrize("matrix", MATRICES)
def test_dispersion_is_the_papers_formula_written_out(matrix):
    counts = np.array([50, 30, 15, 5])[: matrix.outcomes]
    shares, n = counts / counts.sum(), counts.sum()
    inverse = np.linalg.inv(table_of(matrix))
    middle = np.diag(shares) - np.outer(shares, shares)
    wanted = inverse.T @ middle @ inverse / (n - 1)
    np.testing.assert_allclose(dispersion(counts, matrix), wanted, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("matrix", MATRICES)
def test_inverse_and_dispersion_are_unbiased(matrix):
    """20,000 samples of 60 reports; false alarm 1e-5 for each of the r + r² comparisons."""
    rng = np.random.default_rng(12)
    pi = rng.dirichlet(np.ones(matrix.cells))
    lam = matrix.forward(pi)
    n, trials = 60, 20_000
    samples = rng.multinomial(n, lam, size=trials)
    estimates = np.array([invert(counts, matrix) for counts in samples[:4000]])
    stated = np.array([dispersion(counts, matrix) for counts in samples[:4000]])
    solved = matrix.solve(samples / n)
    np.testing.assert_allclose(estimates, solved[:4000])
    truth = matrix.scores(np.eye(matrix.cells))
    truth = truth @ (np.diag(lam) - np.outer(lam, lam)) @ truth.T / n
    sd = np.sqrt(np.diag(truth) / trials)
    assert (np.abs(solved.mean(axis=0) - pi) < z() * sd).all()
    sd = stated.std(axis=0) / np.sqrt(len(stated))
    assert (np.abs(stated.mean(axis=0) - truth) < z() * sd).all()
    centred = solved - pi
    products = centred[:, :, None] * centred[:, None, :]
    found, spread = products.mean(axis=0), products.std(axis=0) / np.sqrt(trials)
    assert (np.abs(found - truth) < z() * spread).all()


@pytest.mark.parametrize("matrix", MATRICES)
def test_the_update_equals_the_inverse_where_that_is_proper(matrix):
    pi = np.random.default_rng(3).dirichlet(np.full(matrix.cells, 5.0))
    counts = matrix.forward(pi) * 1e6
    found = bayesian_update(counts, matrix, tolerance=1e-13)
    assert found.stopped == "tolerance"
    np.testing.assert_allclose(found.distribution, invert(counts, matrix), atol=1e-8)


@pytest.mark.parametrize("matrix", MATRICES)
def test_the_update_is_the_likelihoods_maximum(matrix):
    counts = np.array([70, 4, 30, 1])[: matrix.outcomes]
    found = bayesian_update(counts, matrix, tolerance=1e-13)
    table = table_of(matrix)

    def loss(x):
        return -(counts * np.log(x @ table)).sum()

    best = minimize(
        loss,
        np.full(matrix.cells, 1 / matrix.cells),
        bounds=[(0, 1)] * matrix.cells,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-12},
    )
    assert (invert(counts, matrix) < 0).any(), "else this tests nothing new"
    assert loss(found.distribution) <= best.fun + 1e-6
    assert found.distribution.sum() == pytest.approx(1)


def test_the_update_says_why_it_stopped_and_can_go_on():
    matrix = constant_matrix(4, p=0.2)
    counts = [40, 30, 20, 10]
    short = bayesian_update(counts, matrix, sweeps=3)
    assert (short.stopped, short.sweeps) == ("sweeps", 3)
    assert short.change > 1e-9
    again = bayesian_update(counts, matrix, start=short.distribution)
    whole = bayesian_update(counts, matrix)
    assert again.stopped == whole.stopped == "tolerance"
    assert again.change < 1e-9
    assert again.sweeps == whole.sweeps - 3
    loose = bayesian_update(counts, matrix, tolerance=1e-3)
    assert loose.sweeps < whole.sweeps


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda m: frequencies([0, 0, 0]), "no reports to estimate from"),
        (lambda m: frequencies([]), "no reports to estimate from"),
        (lambda m: frequencies([1, -1, 3]), "finite and not negative"),
        (lambda m: frequencies([1, np.nan, 3]), "finite and not negative"),
        (lambda m: invert([0, 0, 0], m), "no reports"),
        (lambda m: dispersion([1, 0, 0], m), "collect at least 2"),
        (lambda m: dispersion(np.ones(5000), constant_matrix(5000, p=0.5)), "5,000 cells"),
    ],
)
def test_what_cannot_be_estimated_is_said(call, complaint):
    with pytest.raises(EstimateError) as error:
        call(constant_matrix(3, p=0.5))
    assert complaint in str(error.value)
