"""What every matrix must do, whatever its kind, against its weights written out."""

import json
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from mdrr.errors import MatrixError
from mdrr.matrix import Banded, Dense, Subset, banded_matrix, dense_matrix, subset_matrix
from mdrr.matrix.written import least_variance_inverse, raised_matrix, weights_of
from mdrr.respondent import draw
from tests.cases import banded, uneven

WIDE = dense_matrix([[0.5, 0.25, 0.25, 0.0], [0.1, 0.2, 0.3, 0.4]])  # two cells, four codes
EXAMPLES = {
    "dense of two": uneven(2, 0),
    "dense of five": uneven(5, 1),
    "dense with zeros": banded(4),
    "dense with more codes": WIDE,
    "dense with a code nobody reports": Dense(((40000, 25536, 0), (25536, 40000, 0))),
    "banded": Banded(5, width=2, low=4001, total=2**16),
    "banded by epsilon": banded_matrix(16, epsilon=1.0),
    "banded without width": banded_matrix(7, epsilon=2.0, width=0),
    "subset": Subset(6, codes=7, block=(1, 2, 4), low=6000, total=2**16),
    "subset by epsilon": subset_matrix(12, epsilon=1.0),
    "subset of few": subset_matrix(60, epsilon=2.0),
}


@pytest.mark.parametrize("matrix", EXAMPLES.values(), ids=EXAMPLES)
def test_operations_are_those_of_the_weights(matrix):
    weights = np.array(matrix.weights)
    table = weights / matrix.total
    assert (weights.sum(axis=1) == matrix.total).all()
    rng = np.random.default_rng(3)
    pi = rng.dirichlet(np.ones(matrix.cells), size=(2, 3))
    np.testing.assert_allclose(matrix.forward(pi), pi @ table)
    np.testing.assert_allclose(matrix.solve(matrix.forward(pi)), pi, atol=1e-9)
    v = rng.normal(size=(2, matrix.outcomes))
    np.testing.assert_allclose(matrix.backward(v), v @ table.T)
    w = rng.normal(size=(2, matrix.cells))
    np.testing.assert_allclose(matrix.scores(w) @ table.T, w, atol=1e-8)
    lam = rng.dirichlet(np.ones(matrix.outcomes))
    np.testing.assert_allclose(matrix.scores(w) @ lam, w @ matrix.solve(lam), atol=1e-8)
    codes = rng.integers(matrix.outcomes, size=9)
    np.testing.assert_allclose(matrix.likelihood(codes), table[:, codes].T)


@pytest.mark.parametrize("matrix", EXAMPLES.values(), ids=EXAMPLES)
def test_no_unbiased_inverse_has_less_variance_when_all_cells_are_equally_likely(matrix):
    table = matrix.probabilities
    even = table.mean(axis=0)
    scores = matrix.scores(np.eye(matrix.cells))
    variances = scores**2 @ even
    rng = np.random.default_rng(5)
    null = np.linalg.svd(table)[2][matrix.cells :]  # what may be added to a score: P v = 0
    for _ in range(5):
        other = (
            matrix.scores(np.eye(matrix.cells)) + rng.normal(size=(matrix.cells, len(null))) @ null
        )
        np.testing.assert_allclose(other @ table.T, np.eye(matrix.cells), atol=1e-8)
        assert (other**2 @ even >= variances * (1 - 1e-9)).all()


@pytest.mark.parametrize("matrix", EXAMPLES.values(), ids=EXAMPLES)
def test_people_of_all_cells_are_drawn_at_once_as_one_by_one(matrix):
    rng = np.random.default_rng(6)
    true = rng.integers(matrix.cells, size=200)
    u = rng.integers(matrix.total, size=200, dtype=np.uint64)
    codes = matrix.draw(true, u)
    assert codes.dtype.kind == "u"
    fields = matrix.to_dict()
    assert codes.tolist() == [draw(fields, int(t), int(x)) for t, x in zip(true, u, strict=True)]


@pytest.mark.parametrize("matrix", EXAMPLES.values(), ids=EXAMPLES)
def test_the_weights_come_back_from_the_probabilities(matrix):
    found = weights_of(matrix)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, matrix.weights)


@pytest.mark.parametrize("matrix", EXAMPLES.values(), ids=EXAMPLES)
def test_a_matrix_is_read_back_by_its_class(matrix):
    fields = matrix.to_dict()
    assert type(matrix).from_dict(fields) == matrix
    assert json.loads(json.dumps(fields)) == fields  # lists, no tuples


def test_the_inverse_of_a_wide_table_is_that_of_generalized_least_squares():
    """(P M⁻¹ Pᵀ)⁻¹ P M⁻¹, M the mean of the rows; a code that nobody reports weighs nothing."""
    wide = np.array([[0.5, 0.25, 0.125, 0.125], [0.1, 0.2, 0.3, 0.4], [0.25, 0.25, 0.3, 0.2]])
    gained = wide / wide.mean(axis=0)
    expected = np.linalg.solve(gained @ wide.T, gained)
    np.testing.assert_allclose(least_variance_inverse(wide), expected, rtol=1e-10)
    unused = np.insert(wide, 2, 0.0, axis=1)
    expected = np.insert(expected, 2, 0.0, axis=1)
    np.testing.assert_allclose(least_variance_inverse(unused), expected, rtol=1e-10)


def test_the_inverse_of_a_square_table_is_the_inverse():
    square = np.array([[0.8, 0.2], [0.3, 0.7]])
    np.testing.assert_allclose(
        least_variance_inverse(square), [[1.4, -0.6], [-0.4, 1.6]], rtol=1e-12
    )
    with pytest.raises(MatrixError, match="nothing can be told"):
        least_variance_inverse(np.full((2, 2), 0.5))


def test_a_wide_table_whose_rows_nearly_agree_has_no_inverse():
    def apart(by):
        return np.array([[0.5, 0.25, 0.25], [0.5, 0.25 + by, 0.25 - by]])

    np.testing.assert_allclose(
        least_variance_inverse(apart(1e-6)) @ apart(1e-6).T, np.eye(2), atol=1e-6
    )
    with pytest.raises(MatrixError, match="spend a larger ε"):
        least_variance_inverse(apart(1e-10))


def test_the_smallest_weight_is_one_unit(monkeypatch):
    """With odds of 2^48 − 1 among two codes, one of 2^48 units is left for the other code."""
    for odds, fits in ((2**48 - 1, True), (2**48 - 0.5, False)):
        monkeypatch.setattr("mdrr.matrix.written.odds_below", lambda _, odds=odds: Fraction(odds))
        if fits:
            assert raised_matrix(made, 2, 1, 33.0).fields == (1, 2**48)
        else:
            with pytest.raises(MatrixError, match="more than 48 random bits"):
                raised_matrix(made, 2, 1, 33.0)


def made(low, total, spent=lambda low: 0.0):
    return SimpleNamespace(fields=(low, total), epsilon=spent(low))


def test_all_of_the_wanted_epsilon_may_be_spent_and_no_more(monkeypatch):
    """Odds of 3 among four codes ask for a weight of 2^16/6, rounded up."""
    monkeypatch.setattr("mdrr.matrix.written.odds_below", lambda _: Fraction(3))
    for spent, low in (({}, 10923), ({10923: 1.25}, 10924), ({10923: 1.25, 10924: 1.01}, 10925)):
        found = raised_matrix(
            lambda *given, s=spent: made(*given, lambda b: s.get(b, 1.0)), 4, 1, 1
        )
        assert (found.fields, found.epsilon) == ((low, 2**16), 1.0)
