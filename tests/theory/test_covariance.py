"""Proposition 1 against the enumeration of every answer and report."""

import numpy as np
import pytest

from mdrr.errors import EstimateError
from mdrr.matrix import constant_matrix, dense_matrix
from mdrr.theory import reported_covariance

A, B = constant_matrix(3, p=0.6), constant_matrix(4, p=0.2)
ROWS, COLUMNS = np.array([0.0, 1.0, 5.0]), np.array([-2.0, 0.0, 3.0, 4.0])


def covariance(table, rows, columns):
    return float(rows @ table @ columns - (table.sum(1) @ rows) * (table.sum(0) @ columns))


def reported(table):
    """The distribution of the reports, every answer and every report enumerated."""
    first, second = (m.likelihood(np.arange(m.outcomes)) for m in (A, B))  # (reported, true)
    found = np.zeros_like(table)
    for (a, b), mass in np.ndenumerate(table):
        for y in range(3):
            for z in range(4):
                found[y, z] += mass * first[y, a] * second[z, b]
    return found


@pytest.mark.parametrize("seed", range(5))
def test_covariance_shrinks_by_the_product_of_both_p(seed):
    table = np.random.default_rng(seed).dirichlet(np.full(12, 0.5)).reshape(3, 4)
    true = covariance(table, ROWS, COLUMNS)
    assert abs(true) > 0.01
    seen = covariance(reported(table), ROWS, COLUMNS)
    assert reported_covariance(true, A, B) == pytest.approx(seen, rel=1e-9)
    assert seen == pytest.approx(0.6 * 0.2 * true, rel=1e-3)


def test_order_is_kept_with_one_p_and_may_turn_with_two():
    """Corollary 1 needs the same p for all attributes."""
    half, little = constant_matrix(2, p=0.5), constant_matrix(2, p=0.1)
    assert reported_covariance(0.2, half, half) > reported_covariance(0.1, half, half)
    assert reported_covariance(0.2, little, little) < reported_covariance(0.1, half, half)


def test_only_constant_matrices_and_finite_numbers():
    band = dense_matrix([[0.8, 0.2], [0.1, 0.9]])
    with pytest.raises(EstimateError, match="not dense ones"):
        reported_covariance(0.2, band, A)
    with pytest.raises(EstimateError, match="finite"):
        reported_covariance(float("nan"), A, B)
