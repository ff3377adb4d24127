"""RR-Independent against RR-Joint: the printed formulas, and π̂ through real matrices."""

import math

import numpy as np
import pytest
from scipy import stats

from mdrr.errors import EstimateError
from mdrr.matrix import constant_matrix
from mdrr.protocols import epsilon_of
from mdrr.theory import compare, compare_printed, count_error, product_count_error, sqrt_b

ADULT = (9, 16, 7, 15, 6, 5, 2, 2)


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
def test_bad_input_is_refused(call, words):
    with pytest.raises(EstimateError, match=words):
        call()
