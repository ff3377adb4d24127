"""One cluster: the unbiased inverse and its dispersion."""

import numpy as np
import pytest

from mdrr.errors import EstimateError
from mdrr.estimation.invert import dispersion, invert
from mdrr.estimation.update import frequencies
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
