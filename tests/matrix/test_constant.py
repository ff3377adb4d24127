"""The constant matrix: exact integers, closed forms against written-out matrices, ε never above."""

import math
from decimal import Decimal, getcontext, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdrr.errors import MatrixError
from mdrr.matrix import TOTALS, Constant, constant_matrix, matrix_from_dict
from mdrr.matrix.protocol import add_up, fine_total, log_ratio, odds_below
from tests.cases import dense_form

EXAMPLES = [
    Constant(2, diagonal=49152, off=16384),
    constant_matrix(9, p=0.7),
    constant_matrix(7, p=0.01),
    constant_matrix(30, epsilon=14.0),
    constant_matrix(3, epsilon=30.0),
]


def ln(value: Fraction) -> Decimal:
    """ln to 60 digits by the series of 2·artanh((v−1)/(v+1)), with powers of two taken out."""
    getcontext().prec = 70
    twos = 0
    while value >= 2:
        value /= 2
        twos += 1

    def series(x: Fraction) -> Decimal:
        t = (Decimal(x.numerator) - Decimal(x.denominator)) / (
            Decimal(x.numerator) + Decimal(x.denominator)
        )
        total, power, k = Decimal(0), t, 1
        while abs(power) > Decimal(10) ** -66:
            total += power / k
            power *= t * t
            k += 2
        return 2 * total

    return series(value) + twos * series(Fraction(2))


@pytest.mark.parametrize("matrix", EXAMPLES)
def test_weights_sum_to_a_whole_number_of_bytes(matrix):
    assert matrix.diagonal + (matrix.cells - 1) * matrix.off == matrix.total
    assert matrix.total in TOTALS
    assert matrix.keep == pytest.approx(matrix.signal + matrix.floor, abs=1e-15)


@pytest.mark.parametrize("matrix", EXAMPLES)
def test_closed_forms_equal_the_written_out_matrix(matrix):
    table = dense_form(matrix)
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(2, 3, matrix.cells))
    near = {"rtol": 1e-8, "atol": 1e-12 / matrix.signal}
    np.testing.assert_allclose(matrix.forward(vectors), vectors @ table, **near)
    np.testing.assert_allclose(matrix.backward(vectors), vectors @ table.T, **near)
    inverse = np.linalg.inv(table)
    np.testing.assert_allclose(matrix.solve(vectors), vectors @ inverse, **near)
    np.testing.assert_allclose(matrix.scores(vectors), vectors @ inverse.T, **near)
    codes = rng.integers(matrix.cells, size=20)
    np.testing.assert_allclose(matrix.likelihood(codes), table[:, codes].T, **near)


@pytest.mark.parametrize("matrix", EXAMPLES)
def test_solve_undoes_forward_and_scores_are_its_transpose(matrix):
    rng = np.random.default_rng(2)
    pi, w = rng.dirichlet(np.ones(matrix.cells)), rng.normal(size=matrix.cells)
    found = matrix.solve(matrix.forward(pi))
    np.testing.assert_allclose(found, pi, atol=1e-13 / matrix.signal)
    lam = rng.dirichlet(np.ones(matrix.cells))
    assert matrix.scores(w) @ lam == pytest.approx(w @ matrix.solve(lam), rel=1e-9)


def small(cells, p):
    return constant_matrix(cells, p=p)


@pytest.mark.parametrize("matrix", [Constant(2, 49152, 16384), small(9, 0.7), small(3, 0.3)])
def test_over_all_draws_every_code_has_exactly_its_weight(matrix):
    """All 65,536 draws: no sampling, no tolerance."""
    assert matrix.total == 2**16
    draws = np.arange(2**16, dtype=np.uint64)
    for cell in range(matrix.cells):
        codes = matrix.draw(np.full(2**16, cell), draws)
        weights = np.full(matrix.cells, matrix.off)
        weights[cell] = matrix.diagonal
        np.testing.assert_array_equal(np.bincount(codes.astype(np.int64)), weights)


@pytest.mark.parametrize("matrix", EXAMPLES)
def test_code_k_begins_and_ends_where_it_must(matrix):
    """u // b is constant between its breakpoints, so its breakpoints are the whole function."""
    b, r = matrix.off, matrix.cells
    first = np.arange(r, dtype=np.uint64) * np.uint64(b)
    last = first + np.uint64(b - 1)
    truth = np.full(r, r - 1)
    np.testing.assert_array_equal(matrix.draw(truth, first), np.arange(r))
    np.testing.assert_array_equal(matrix.draw(truth, last), np.arange(r))
    rest = np.array([r * b, matrix.total - 1], dtype=np.uint64)
    for cell in range(r):
        np.testing.assert_array_equal(matrix.draw(np.array([cell, cell]), rest), [cell, cell])


@pytest.mark.parametrize("kind", [np.uint8, np.int32, np.int64, np.uint64])
def test_codes_are_integers_whatever_the_true_codes_type(kind):
    matrix = constant_matrix(3, p=0.5)
    codes = matrix.draw(np.array([0, 2], dtype=kind), np.array([65535, 0], dtype=np.uint64))
    assert np.issubdtype(codes.dtype, np.integer)
    assert codes.tolist() == [0, 0]


@settings(max_examples=200, deadline=None, derandomize=True)
@given(r=st.integers(2, 5000), p=st.floats(1e-5, 0.99999))
def test_p_is_met_from_below_within_the_rounding(r, p):
    """b is rounded up by less than 1, so a falls by less than r−1: both ends of ε are known."""
    matrix = constant_matrix(r, p=p)
    asked = Fraction(str(p))
    total, exact_b = matrix.total, (1 - Fraction(str(p))) / r * matrix.total
    assert exact_b <= matrix.off < exact_b + 1
    signal = Fraction(matrix.diagonal - matrix.off, total)
    assert asked - Fraction(r, total) < signal <= asked
    limit = 1 + asked * r / (1 - asked)
    assert Fraction(matrix.diagonal, matrix.off) <= limit
    if total < 2**48:
        assert signal >= asked * (1 - Fraction(1, 1024))
        assert matrix.off <= exact_b * (1 + Fraction(1, 1024))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(r=st.integers(2, 5000), epsilon=st.floats(1e-4, 24.0))
def test_epsilon_is_never_above_the_asked_and_close_below(r, epsilon):
    """ε = ln(a/b): d ln a + d ln b ≤ (r−1)/a + 1/b by rounding, plus 2^-50 for e^ε itself."""
    matrix = constant_matrix(r, epsilon=epsilon)
    assert matrix.epsilon <= epsilon
    a, b = matrix.diagonal, matrix.off
    rounding = 1.001 * ((r - 1) / a + 1 / b) + 2**-49
    assert epsilon - matrix.epsilon <= rounding
    if matrix.total < 2**48:
        assert rounding <= 2.01 / 1024  # b ≥ 1024 and a ≥ 1024·r there


@settings(max_examples=150, deadline=None, derandomize=True)
@given(low=st.integers(1, 2**47), extra=st.integers(0, 2**47))
def test_log_ratio_is_the_float_at_or_just_above(low, extra):
    """Against an independent logarithm, by series."""
    found = log_ratio(low + extra, low)
    exact = ln(Fraction(low + extra, low))
    assert Decimal(found) >= exact - Decimal(10) ** -55
    assert extra == 0 or Decimal(math.nextafter(found, 0)) < exact


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(st.floats(0, 40), min_size=1, max_size=12))
def test_add_up_is_the_float_at_or_just_above(epsilons):
    found = add_up(epsilons)
    exact = sum(map(Fraction, epsilons))
    assert Fraction(found) >= exact
    assert found == 0 or Fraction(math.nextafter(found, 0)) < exact


def test_sums_of_nothing_and_of_the_infinite():
    assert add_up([]) == 0
    assert add_up([1.0, math.inf]) == math.inf
    assert log_ratio(3, 0) == math.inf


def test_a_small_p_over_many_cells_keeps_its_signal():
    """On 2^16, rounding b up would take three quarters of this ε, or all of it."""
    asked = math.log1p(0.001 * 60 / 0.999)
    assert constant_matrix(60, p=0.001).epsilon > 0.99 * asked
    assert constant_matrix(1_814_400, epsilon=4.62).epsilon > 4.61


def test_a_matrix_comes_back_from_its_fields():
    matrix = constant_matrix(9, p=0.7)
    assert matrix_from_dict(matrix.to_dict()) == matrix
    assert all(type(matrix.to_dict()[key]) is int for key in ("cells", "diagonal", "off"))
    assert constant_matrix(np.int64(9), p=0.7).to_dict() == matrix.to_dict()


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: Constant(1, 2**16, 1), "over 1 cells randomizes nothing"),
        (lambda: Constant(2, 2**16, 0), "the truth is always sent (ε = ∞)"),
        (lambda: Constant(2, 2**15, 2**15), "singular: reports say nothing about the truth"),
        (lambda: Constant(2, 2**14, 3 * 2**14), "the truth must be the likeliest"),
        (lambda: Constant(2, 3, 1), "sum to 4; they must sum to 2^16, 2^32 or 2^48"),
        (lambda: Constant(2.0, 49152, 16384), "needs an integer 'cells', not 2.0"),
        (lambda: Constant(2, np.int64(49152), 16384), "needs an integer 'diagonal'"),
        (lambda: constant_matrix(2), "give p or epsilon, exactly one"),
        (lambda: constant_matrix(2, p=0.5, epsilon=1.0), "give p or epsilon, exactly one"),
        (lambda: constant_matrix(1, p=0.5), "over 1 cells randomizes nothing"),
        (lambda: constant_matrix(2, p=0.0), "p=0.0: the truth would never be kept"),
        (lambda: constant_matrix(2, p=-0.5), "Choose p > 0"),
        (lambda: constant_matrix(2, p=1.0), "p=1.0: the truth would always be sent"),
        (lambda: constant_matrix(2, p=1.5), "Choose p < 1"),
        (lambda: constant_matrix(2, p=math.nan), "p=nan is not a number"),
        (lambda: constant_matrix(2, epsilon=0.0), "ε=0.0: nothing could be learnt"),
        (lambda: constant_matrix(2, epsilon=-1.0), "Choose ε > 0"),
        (lambda: constant_matrix(2, epsilon=math.nan), "ε=nan is not a finite number"),
        (lambda: constant_matrix(2, epsilon=math.inf), "ε=inf is not a finite number"),
        (lambda: constant_matrix(2, epsilon=34.0), "a draw; choose ε of at most 33.2"),
        (
            lambda: constant_matrix(2**47, epsilon=34.0),
            "random bits a draw; put the attributes into several clusters",
        ),
        (lambda: constant_matrix(2, epsilon=1000.0), "choose ε below 33"),
        (lambda: constant_matrix(2, p=1 - 1e-16), "more than 48 random bits a draw"),
        (lambda: constant_matrix(2**40, epsilon=1e-9), "leaves no signal"),
        (lambda: matrix_from_dict({"kind": "magic"}), "needs a 'kind' among 'constant', 'dense'"),
        (lambda: matrix_from_dict({}), "needs a 'kind'"),
        (
            lambda: matrix_from_dict({"kind": "constant", "cells": 2, "diagonal": 1.5, "off": 1}),
            "needs an integer 'diagonal', not 1.5",
        ),
        (
            lambda: matrix_from_dict({"kind": "constant", "cells": True, "diagonal": 2, "off": 1}),
            "needs an integer 'cells', not True",
        ),
    ],
)
def test_a_bad_matrix_is_refused(make, complaint):
    with pytest.raises(MatrixError) as error:
        make()
    assert complaint in str(error.value)


@pytest.mark.parametrize("name", ["cells", "diagonal", "off"])
@pytest.mark.parametrize("kind", [float, str, np.int64])
def test_every_weight_is_a_python_integer(name, kind):
    fields = {"cells": 2, "diagonal": 49152, "off": 16384}
    with pytest.raises(MatrixError, match=name):
        Constant(**{**fields, name: kind(fields[name])})


@pytest.mark.parametrize("cells", [2, 256, 257, 2**16, 2**16 + 1])
def test_the_last_cell_can_be_noise_and_truth_in_the_fewest_bytes(cells):
    matrix = constant_matrix(cells, epsilon=3.0)
    ends = np.array([(cells - 1) * matrix.off, cells * matrix.off, matrix.total - 1], np.uint64)
    found = matrix.draw(np.array([0, cells - 1, cells - 1]), ends)
    np.testing.assert_array_equal(found, [cells - 1] * 3)
    assert found.dtype.itemsize == (1 if cells <= 256 else 2 if cells <= 2**16 else 4)


def test_the_total_is_the_smallest_that_is_fine_enough_for_noise_and_signal():
    assert constant_matrix(9, p=0.7).total == 2**16
    assert constant_matrix(2, p=0.01).total == 2**32  # the signal is small
    assert constant_matrix(2, p=0.99).total == 2**32  # the noise is


def test_one_unit_of_noise_is_enough_and_less_is_refused():
    cells = 2**38
    assert constant_matrix(cells, p=0.9990234375) == Constant(cells, 2**48 - cells + 1, 1)
    with pytest.raises(MatrixError, match="48 random bits"):
        constant_matrix(cells, p=0.99902344)


@pytest.mark.parametrize("cells", [2, 1000, 2**40, 2**47 - 1])
def test_the_largest_epsilon_that_is_advised_can_be_had_and_little_more(cells):
    with pytest.raises(MatrixError, match="of at most") as refused:
        constant_matrix(cells, epsilon=40.0)
    largest = float(str(refused.value).rpartition(" of at most ")[2].partition(",")[0])
    assert constant_matrix(cells, epsilon=largest).off > 0
    with pytest.raises(MatrixError, match="48 random bits"):
        constant_matrix(cells, epsilon=largest + 0.11)


def test_of_too_many_cells_no_epsilon_is_advised():
    for cells in (2**48, 2**48 + 5):
        with pytest.raises(MatrixError, match=r"; put the attributes into several clusters$"):
            constant_matrix(cells, epsilon=1.0)


def test_odds_are_below_those_of_epsilon_and_close():
    """Two roundings and a margin of 2^-51 lie within 2^-49."""
    draw = np.random.default_rng(17)
    with localcontext() as context:
        context.prec = 60
        for epsilon in [1e-17, 1e-3, 1.0, 700.0, *draw.exponential(3.0, 300).tolist()]:
            exact, odds = Decimal(epsilon).exp(), odds_below(epsilon)
            found = Decimal(odds.numerator) / Decimal(odds.denominator)
            assert exact * (1 - Decimal(2) ** -49) < found < exact


def test_equal_weights_spend_nothing():
    assert log_ratio(2**15, 2**15) == 0.0


def test_a_share_of_1024_units_is_fine():
    assert fine_total(Fraction(1, 64), Fraction(1, 2)) == 2**16
    assert fine_total(Fraction(1, 2), Fraction(1, 65)) == 2**32
    assert fine_total(Fraction(1, 2**50)) == 2**48
