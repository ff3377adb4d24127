"""Banded matrices: sampled exactly, never less private than asked, order kept."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdrr.errors import MatrixError
from mdrr.matrix import Banded, banded_matrix, constant_matrix, matrix_from_dict
from mdrr.matrix.banded import best_width
from mdrr.respondent import draw

SMALL = Banded(5, width=2, low=4001, total=2**16)


def test_over_all_draws_every_code_has_exactly_its_weight_in_both_samplers():
    draws = np.arange(2**16, dtype=np.uint64)
    fields = SMALL.to_dict()
    for cell, row in enumerate(SMALL.weights):
        codes = SMALL.draw(np.full(2**16, cell), draws)
        np.testing.assert_array_equal(np.bincount(codes.astype(np.int64), minlength=9), row)
        single = [draw(fields, cell, int(u)) for u in draws[::7]]
        assert single == codes[::7].tolist()


def test_the_leftover_of_the_division_goes_to_the_middle():
    left = SMALL.total - SMALL.outcomes * SMALL.low - 5 * SMALL.step
    assert left > 0  # the case is there
    assert SMALL.weights[0, 2] == SMALL.low + SMALL.step + left
    assert SMALL.epsilon >= math.log(int(SMALL.weights.max()) / SMALL.low)


def test_without_width_it_is_the_constant_matrix():
    band, constant = Banded(4, 0, 6553, 2**16), constant_matrix(4, p=0.6)
    flat = Banded(4, 0, constant.off, constant.total)
    np.testing.assert_array_equal(np.diag(flat.weights), constant.diagonal)
    assert flat.epsilon == constant.epsilon
    assert band.reports_cells
    draws = np.arange(0, 2**16, 5, dtype=np.uint64)
    for cell in range(4):
        true = np.full(len(draws), cell)
        np.testing.assert_array_equal(flat.draw(true, draws), constant.draw(true, draws))


@given(
    cells=st.integers(2, 60),
    epsilon=st.floats(0.05, 12),
    width=st.none() | st.integers(0, 1),
)
@settings(max_examples=60, deadline=None)
def test_epsilon_is_what_the_weights_say_and_at_most_what_was_asked(cells, epsilon, width):
    matrix = banded_matrix(cells, epsilon=epsilon, width=width)
    columns = matrix.weights.max(axis=0) / matrix.weights.min(axis=0)
    assert matrix.epsilon <= epsilon
    assert matrix.epsilon >= epsilon - 4e-3
    assert math.isclose(matrix.epsilon, math.log(columns.max()), rel_tol=1e-9)
    assert matrix_from_dict(matrix.to_dict()) == matrix


@pytest.mark.parametrize(("cells", "epsilon"), [(9, 0.7), (30, 1.5), (16, 2.5)])
def test_the_best_width_has_the_largest_mutual_information(cells, epsilon):
    def told(width):
        table = banded_matrix(cells, epsilon=epsilon, width=width).probabilities
        return float((table * np.log(table / table.mean(axis=0))).sum())

    best = best_width(cells, epsilon)
    assert told(best) >= max(told(width) for width in range(cells)) - 1e-6


@pytest.mark.parametrize(
    ("cells", "width", "epsilon", "total"),
    [(2, 0, 1.0, 2**16), (16, 1, 4.0, 2**32), (2, 0, 32.9, 2**48)],
)
def test_the_total_is_as_small_as_rounding_allows(cells, width, epsilon, total):
    matrix = banded_matrix(cells, epsilon=epsilon, width=width)
    assert (matrix.width, matrix.total) == (width, total)


@pytest.mark.parametrize("cells", [3, 7, 12, 20])
def test_one_unit_less_outside_the_band_would_spend_too_much(cells):
    for epsilon in (0.3, 0.8, 1.3, 2.1, 3.4):
        matrix = banded_matrix(cells, epsilon=epsilon)
        less = Banded(cells, matrix.width, matrix.low - 1, matrix.total)
        assert matrix.epsilon <= epsilon < less.epsilon


@pytest.mark.parametrize("cells", [2, 3, 5, 9, 16, 40])
@pytest.mark.parametrize("epsilon", [0.2, 0.5, 1.0, 1.7, 2.5, 4.0])
def test_no_other_width_tells_more(cells, epsilon):
    def told(width):
        band = np.arange(2 * width + 1)
        table = np.ones((cells, cells + 2 * width))
        table[np.arange(cells)[:, None], np.arange(cells)[:, None] + band] = math.exp(epsilon)
        table /= table[0].sum()
        return float((table * np.log(table / table.mean(axis=0))).sum())

    most = max(told(width) for width in range(cells))
    assert told(best_width(cells, epsilon)) == pytest.approx(most, rel=1e-9)


def test_of_widths_that_tell_the_same_the_smallest_is_taken():
    """At ε = 10^-7 a report tells about ε² = 10^-14, whatever the width."""
    assert best_width(5, 1e-7) == 0


def test_weights_by_hand():
    """65536 − 5·6553 = 3·10923 + 2, and the 2 left over go to the middle."""
    assert Banded(3, 1, 6553, 2**16).weights.tolist() == [
        [17476, 17478, 17476, 6553, 6553],
        [6553, 17476, 17478, 17476, 6553],
        [6553, 6553, 17476, 17478, 17476],
    ]


def test_one_unit_more_for_the_truth_is_enough():
    assert Banded(3, 0, 21845, 2**16).weights.tolist()[1] == [21845, 21846, 21845]
    with pytest.raises(MatrixError, match="nothing is left"):
        Banded(3, 1, 13107, 2**16)  # one unit for three codes


def test_up_to_4096_cells():
    assert Banded(4096, 0, 1, 2**16).step == 2**16 - 4096


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ((1, 0, 100, 2**16), "2 to 4096 cells"),
        ((5, 5, 100, 2**16), "reaches 0 to 4"),
        ((5, 1, 0, 2**16), "low must be positive"),
        ((5, 1, 10_000, 2**16), "nothing is left for the truth"),
        ((5, 1, 100, 1000), "2\\^16"),
        ((5.0, 1, 100, 2**16), "needs an integer 'cells'"),
        ((5, 1.0, 100, 2**16), "needs an integer 'width'"),
        ((5, 1, 100.0, 2**16), "needs an integer 'low'"),
        ((5, 1, 100, 2.0**16), "needs an integer 'total'"),
    ],
)
def test_bad_weights_are_refused(fields, says):
    with pytest.raises(MatrixError, match=says):
        Banded(*fields)


def test_too_many_cells_are_refused_before_a_width_is_sought(monkeypatch):
    def never(*_):
        raise AssertionError("a width was sought")

    monkeypatch.setattr("mdrr.matrix.banded.best_width", never)
    for cells in (1, 4097, 5000):
        with pytest.raises(MatrixError, match=f"2 to 4096 cells, not {cells}"):
            banded_matrix(cells, epsilon=1.0)


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, 1000, 60])
def test_an_epsilon_that_cannot_be_sampled_is_refused(epsilon):
    with pytest.raises(MatrixError):
        banded_matrix(10, epsilon=epsilon)
