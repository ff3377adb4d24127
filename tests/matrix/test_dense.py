"""Dense matrices: any row-stochastic nonsingular P, sampled exactly."""

import math
from fractions import Fraction

import numpy as np
import pytest

from mdrr.errors import MatrixError
from mdrr.matrix import Dense, constant_matrix, dense_matrix, matrix_from_dict
from tests.cases import banded, dense_form, uneven

WIDE = dense_matrix([[0.5, 0.25, 0.25, 0.0], [0.1, 0.2, 0.3, 0.4]])  # two cells, four codes


def test_a_constant_matrix_written_out_does_the_same():
    constant = constant_matrix(5, p=0.4)
    dense = dense_matrix(dense_form(constant), total=constant.total)
    assert dense.epsilon == constant.epsilon
    assert dense.keep == constant.keep
    lam = np.random.default_rng(4).dirichlet(np.ones(5))
    np.testing.assert_allclose(dense.solve(lam), constant.solve(lam), atol=1e-12)


@pytest.mark.parametrize("matrix", [banded(4), dense_matrix([[0.8, 0.2], [0.3, 0.7]], total=2**16)])
def test_over_all_draws_every_code_has_exactly_its_weight(matrix):
    draws = np.arange(2**16, dtype=np.uint64)
    for cell, row in enumerate(matrix.weights):
        codes = matrix.draw(np.full(2**16, cell), draws)
        np.testing.assert_array_equal(np.bincount(codes.astype(np.int64), minlength=len(row)), row)


@pytest.mark.parametrize("total", [2**16, 2**32, 2**48])
def test_rows_are_rounded_to_the_total_and_no_possible_report_becomes_impossible(total):
    tiny = 1e-16
    table = np.array([[1 - 2 * tiny, tiny, tiny], [1 / 3, 1 / 3, 1 / 3], [0.0, 0.25, 0.75]])
    matrix = dense_matrix(table, total=total)
    weights = np.array(matrix.weights, dtype=object)
    assert [sum(row) for row in matrix.weights] == [total] * 3
    assert ((weights > 0) == (table > 0)).all()
    off = np.abs(weights.astype(float) - table * total)
    assert off.max() <= 2 + total * 1e-15  # floor, one remainder, one unit for each tiny


@pytest.mark.parametrize(
    ("exact", "rounded"),
    [
        ([1000.25, 20000.5, 44535.25], [1000, 20001, 44535]),  # the largest remainder
        ([1.25, 20000.5, 45534.25], [1, 20001, 45534]),  # to a small one nothing more than that
        ([1000.25, 2000.25, 3000.25, 59535.25], [1001, 2000, 3000, 59535]),  # the first of equal
        ([1000.25, 2000.625, 3000.375, 59534.75], [1000, 2001, 3000, 59535]),  # the two largest
        ([2.0, 0.25, 0.25, 65533.5], [1, 1, 1, 65533]),  # what two need comes off the smallest
        ([32768.0, 0.25, 0.0, 32767.75], [32768, 1, 0, 32767]),
    ],
)
def test_what_rounding_leaves_over_goes_to_the_largest_remainders(exact, rounded):
    other = [2.0**16 if i == 0 else 0.0 for i in range(len(exact))]
    rest = [np.roll(other, i) for i in range(1, len(exact))]
    matrix = dense_matrix(np.array([exact, *rest]) / 2**16, total=2**16)
    assert list(matrix.weights[0]) == rounded


def test_rows_that_miss_1_by_a_little_are_scaled():
    row = [0.9, 0.1 + 4e-10]
    first = dense_matrix([row, [0.0, 1.0]], total=2**48).weights[0]
    for weight, p in zip(first, row, strict=True):
        assert abs(weight - 2**48 * Fraction(p) / sum(map(Fraction, row))) < 2


def test_the_largest_ratio_within_a_column_is_epsilon():
    matrix = Dense(((40000, 25536), (10000, 55536)))
    assert matrix.epsilon == pytest.approx(math.log(4), abs=1e-15)
    matrix = Dense(((60000, 5536), (10000, 55536)))
    assert matrix.epsilon == pytest.approx(math.log(Fraction(55536, 5536)), abs=1e-15)


def test_a_zero_beside_a_non_zero_reveals():
    assert banded(4).epsilon == math.inf


def test_a_code_nobody_can_report_reveals_nothing():
    matrix = Dense(((40000, 25536, 0), (25536, 40000, 0)))
    assert matrix.epsilon == pytest.approx(math.log(40000 / 25536))
    assert not matrix.reports_cells


def test_a_matrix_comes_back_from_its_fields():
    assert matrix_from_dict(uneven(3, 5).to_dict()) == uneven(3, 5)
    assert uneven(3, 5) != uneven(3, 6)


HALF = ((2**15, 2**15), (2**15, 2**15))


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: Dense(HALF), "singular (rows 0 and 1 are the same)"),
        (
            lambda: dense_matrix([[0.5, 0.5, 0], [0, 0.5, 0.5], [0.25, 0.5, 0.25]]),
            "singular (rows are dependent)",
        ),
        (lambda: Dense(((2**16,),)), "at least 2 rows"),
        (lambda: Dense(((2**16, 0), (2**16,))), "all of the same length"),
        (lambda: Dense(((2**16, 0), (2**15, 2**14))), "rows sum to different totals"),
        (lambda: Dense(((3, 1), (1, 3))), "sum to 4; they must sum to 2^16"),
        (lambda: Dense(((2**16 + 1, -1), (0, 2**16))), "row 0 has a weight that is not"),
        (lambda: Dense(((2.0**16, 0), (0, 2**16))), "row 0 has a weight that is not"),
        (lambda: Dense(((2**16,), (2**16,))), "cannot be told apart by 1 reportable codes"),
        (lambda: dense_matrix([[0.5, 0.4], [0.1, 0.9]]), "row 0 sums to 0.9, not 1"),
        (lambda: dense_matrix([[1.5, -0.5], [0, 1]]), "P[0, 1] = -0.5 is negative"),
        (lambda: dense_matrix([[0, 1], [1.5, -0.5]]), "P[1, 1] = -0.5 is negative"),
        (lambda: dense_matrix([[0.5, 0.5], [0.6, 0.5]]), "row 1 sums to 1.1, not 1"),
        (lambda: dense_matrix([[math.nan, 1], [0, 1]]), "not a finite number"),
        (lambda: dense_matrix([0.5, 0.5]), "2 dimensions, not 1"),
        (lambda: dense_matrix([[1, 0], [1]]), "rows of numbers, all of the same length"),
        (lambda: dense_matrix([["a", 0], [1, 0]]), "rows of numbers"),
        (lambda: dense_matrix([[1, 0], [0, 1]], total=1000), "sum to 1000; they must"),
        (lambda: matrix_from_dict({"kind": "dense", "weights": 3}), "a list of rows of integers"),
        (lambda: matrix_from_dict({"kind": "dense", "weights": [[True, 2**16 - 1], [0, 2**16]]}),
         "row 0 has a weight that is not"),
    ],
)  # fmt: skip
def test_a_bad_matrix_is_refused(make, complaint):
    with pytest.raises(MatrixError) as error:
        make()
    assert complaint in str(error.value)
