"""The paper's sections 3.3, 4.1 and 6.3: formulas as printed, and what holds of real matrices."""

import math

import numpy as np
import pytest
from scipy import stats

from mdrr.errors import EstimateError, MatrixError
from mdrr.matrix import constant_matrix, dense_matrix
from mdrr.protocols import epsilon_of
from mdrr.theory import (
    cluster_diagonal,
    compare,
    compare_printed,
    count_error,
    paper_epsilon,
    paper_p_cluster,
    product_count_error,
    reported_covariance,
    sqrt_b,
)

ADULT = (9, 16, 7, 15, 6, 5, 2, 2)
A, B = constant_matrix(3, p=0.6), constant_matrix(4, p=0.2)
ROWS, COLUMNS = np.array([0.0, 1.0, 5.0]), np.array([-2.0, 0.0, 3.0, 4.0])


def test_printed_formulas():
    found = compare_printed((3, 5), 700, 0.1)
    b = [stats.chi2.isf(0.1 / r, 1) for r in (3, 5, 15)]
    assert found.independent == pytest.approx(
        max(math.sqrt(b[0] * 2 / 700), math.sqrt(b[1] * 4 / 700))
    )
    assert found.joint == pytest.approx(math.sqrt(b[2] * 14 / 700))


def test_printed_joint_error_is_sqrt_b_when_n_equals_the_cells():
    """Section 3.2: n = r and even frequencies give about √B, above 200 %."""
    cells = math.prod(ADULT)
    found = compare_printed(ADULT, cells)
    assert found.joint == pytest.approx(sqrt_b(cells), rel=1e-5)
    assert found.joint > 2


@pytest.mark.parametrize("epsilon", [0.5, 3.0, 8.0])
@pytest.mark.parametrize("shape", [(3, 4), (2, 2, 5)])
def test_errors_of_pi_equal_those_of_real_matrices(shape, epsilon):
    """Every field against `count_error` on matrices that are really sampled."""
    n, alpha = 900, 0.05
    found = compare(shape, n, epsilon, alpha)
    budgets = [epsilon_of(found.p, r) for r in shape]
    assert sum(budgets) == pytest.approx(epsilon)
    singles = [constant_matrix(r, epsilon=e) for r, e in zip(shape, budgets, strict=True)]
    cells = math.prod(shape)
    whole = constant_matrix(cells, epsilon=epsilon)
    even = np.full(shape, 1 / cells)
    one = np.zeros(shape)
    one[(0,) * len(shape)] = 1
    close = {"rel": 5e-3}  # the integers of the matrices are rounded

    inverse = count_error(singles, one, even, n)
    assert found.cell_independent == pytest.approx(
        sqrt_b(cells) * inverse.total / inverse.count, **close
    )
    direct = count_error(whole, one.ravel(), even.ravel(), n)
    assert found.cell_joint == pytest.approx(sqrt_b(cells) * direct.total / direct.count, **close)
    by_product = product_count_error(
        singles, [np.eye(r)[0] for r in shape], [np.full(r, 1 / r) for r in shape], n
    )
    assert found.cell_product == pytest.approx(
        sqrt_b(cells) * by_product.total / by_product.count, **close
    )
    alone, within = [], []
    for axis, r in enumerate(shape):
        single = count_error(singles[axis], np.eye(r)[0], np.full(r, 1 / r), n)
        alone.append(sqrt_b(r) * single.total / single.count)
        chosen = np.zeros(shape)
        chosen[(slice(None),) * axis + (0,)] = 1
        summed = count_error(whole, chosen.ravel(), even.ravel(), n)
        within.append(sqrt_b(r) * summed.total / summed.count)
    assert found.attribute_independent == pytest.approx(max(alone), **close)
    assert found.attribute_joint == pytest.approx(max(within), **close)


def test_joint_wins_at_large_budgets_and_loses_at_small_ones():
    spent = sum(epsilon_of(0.7, r) for r in ADULT)
    rich, poor = compare(ADULT, 32_561, spent), compare(ADULT, 32_561, 2.0)
    assert rich.p == pytest.approx(0.7)
    assert rich.attribute_joint < rich.attribute_independent
    assert rich.cell_joint < rich.cell_independent
    assert poor.attribute_joint > poor.attribute_independent


def test_one_attribute_makes_both_the_same():
    found = compare((7,), 100, 1.0)
    assert found.cell_joint == pytest.approx(found.attribute_independent)
    assert found.cell_independent == pytest.approx(found.cell_joint)
    assert set(found.to_dict()) >= {"epsilon", "p", "cell_product"}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: compare_printed((), 10), "at least 2 categories"),
        (lambda: compare_printed((3, 1), 10), "at least 2 categories"),
        (lambda: compare((3, 2), 0, 1.0), "at least one report"),
        (lambda: compare((3, 2), 10, float("inf")), "at ε = ∞ there is nothing to compare"),
        (lambda: compare((10,) * 301, 10, 1.0), "fewer attributes"),
    ],
)
def test_a_bad_comparison_is_refused(call, words):
    with pytest.raises(EstimateError, match=words):
        call()


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


def test_printed_epsilon_vanishes_where_the_corrected_one_does_not():
    assert paper_epsilon(0.1, 9) == 0.0
    assert epsilon_of(0.1, 9) == pytest.approx(math.log(2))
    assert paper_epsilon(0.05, 9) > 0  # the absolute value hides p·r < 1−p


@pytest.mark.parametrize("p", [0.2, 0.5, 0.7, 0.95])
@pytest.mark.parametrize("r", [2, 9, 16])
def test_printed_epsilon_against_its_definition(p, r):
    assert paper_epsilon(p, r) == pytest.approx(abs(math.log(p / ((1 - p) / r))))


@pytest.mark.parametrize("shape", [(2,), (7, 6, 2), (16, 2)])
def test_cluster_rows_sum_to_one(shape):
    """The printed sign gives rows that do not."""
    spent, cells = sum(paper_epsilon(0.7, r) for r in shape), math.prod(shape)
    diagonal = paper_p_cluster(0.7, shape)
    assert diagonal + (cells - 1) * diagonal * math.exp(-spent) == pytest.approx(1)
    wrong = 1 / (1 + (1 - cells) * math.exp(-spent))
    assert wrong + (cells - 1) * wrong * math.exp(-spent) != pytest.approx(1)


def test_diagonal_of_a_matrix_that_is_sampled():
    assert constant_matrix(12, epsilon=2.0).keep == pytest.approx(
        cluster_diagonal(12, 2.0), rel=1e-3
    )
    assert constant_matrix(9, p=0.7).keep == pytest.approx(
        cluster_diagonal(9, epsilon_of(0.7, 9)), rel=1e-3
    )
    assert cluster_diagonal(1, 0.0) == 1


@pytest.mark.parametrize(
    "call",
    [
        lambda: paper_epsilon(0.0, 3),
        lambda: paper_epsilon(1.0, 3),
        lambda: paper_epsilon(0.5, 0),
        lambda: cluster_diagonal(0, 1.0),
        lambda: cluster_diagonal(3, -1.0),
        lambda: cluster_diagonal(3, math.nan),
    ],
)
def test_a_bad_printed_form_is_refused(call):
    with pytest.raises(MatrixError):
        call()
