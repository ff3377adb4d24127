"""Subset selection: balanced blocks, sampled exactly, better than one cell at small ε."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdrr.errors import MatrixError
from mdrr.matrix import Subset, constant_matrix, matrix_from_dict, subset_matrix
from mdrr.matrix.differences import Shape, _primes, hyperplane, shapes
from mdrr.matrix.protocol import LEAST_EPSILON
from mdrr.matrix.subset import best_shape
from mdrr.respondent import draw

FANO = Subset(6, codes=7, block=(1, 2, 4), low=6000, total=2**16)


@pytest.mark.parametrize("shape", [s for s in shapes() if s.codes < 400], ids=str)
def test_every_difference_occurs_equally_often(shape):
    block = shape.block()
    assert len(block) == shape.size
    differences = Counter((x - y) % shape.codes for x in block for y in block if x != y)
    assert differences == dict.fromkeys(range(1, shape.codes), shape.pairs)


def test_over_all_draws_every_set_has_exactly_its_weight_in_both_samplers():
    draws = np.arange(2**16, dtype=np.uint64)
    fields = FANO.to_dict()
    for cell, row in enumerate(FANO.weights):
        codes = FANO.draw(np.full(2**16, cell), draws)
        np.testing.assert_array_equal(np.bincount(codes.astype(np.int64), minlength=7), row)
        assert [draw(fields, cell, int(u)) for u in draws[::7]] == codes[::7].tolist()
        holds = {t for t in range(7) if (cell - t) % 7 in FANO.block}
        assert set(np.flatnonzero(row > FANO.low).tolist()) == holds


def test_keep_is_the_probability_that_the_set_holds_the_truth():
    inside = FANO.weights[0][FANO.weights[0] > FANO.low].sum() / FANO.total
    assert FANO.keep == pytest.approx(inside)


@given(cells=st.integers(2, 80), epsilon=st.floats(0.05, 5))
@settings(max_examples=40, deadline=None)
def test_epsilon_is_what_the_weights_say_and_at_most_what_was_asked(cells, epsilon):
    matrix = subset_matrix(cells, epsilon=epsilon)
    assert epsilon - 4e-3 <= matrix.epsilon <= epsilon
    if isinstance(matrix, Subset):
        ratios = matrix.weights.max(axis=0) / matrix.weights.min(axis=0)
        assert math.isclose(matrix.epsilon, math.log(ratios.max()), rel_tol=1e-9)
        assert matrix_from_dict(matrix.to_dict()) == matrix


@pytest.mark.parametrize("cells", [2, 7, 10, 30, 57])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.0, 3.0, 4.5])
def test_the_best_shape_is_the_first_of_least_variance(cells, epsilon):
    single = Shape(cells, 1, 0).rare_variance(epsilon)
    fit = [s for s in shapes() if s.codes >= cells and s.rare_variance(epsilon) < single]
    wanted = min(fit, key=lambda s: s.rare_variance(epsilon), default=None)
    assert best_shape(cells, epsilon) == wanted


def test_sets_are_as_long_and_as_much_better_as_was_asked():
    best = best_shape(60, 1.0)
    assert best_shape(60, 1.0, most_codes=best.codes) == best
    assert best_shape(60, 1.0, least_gain=0.99) is None
    assert subset_matrix(60, epsilon=1.0, most_codes=60).kind == "constant"
    assert subset_matrix(60, epsilon=1.0, least_gain=0.99).kind == "constant"


@pytest.mark.parametrize(("cells", "epsilon"), [(60, 1.0), (135, 2.0)])
def test_the_variance_is_the_predicted_one_and_several_times_that_of_one_cell_less(cells, epsilon):
    matrix, one = subset_matrix(cells, epsilon=epsilon), constant_matrix(cells, epsilon=epsilon)
    pi = np.zeros(cells)
    pi[0] = 1  # every other cell is rare

    def variance(m):
        scores = m.scores(np.eye(cells)[1:])
        lam = m.forward(pi)
        return float((scores**2 @ lam - (scores @ lam) ** 2).mean())

    pairs = len(matrix.block) * (len(matrix.block) - 1) // (matrix.codes - 1)
    predicted = Shape(matrix.codes, len(matrix.block), pairs).rare_variance(epsilon)
    assert variance(matrix) == pytest.approx(predicted, rel=0.1)
    assert variance(matrix) < variance(one) / 2


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ((1, 7, (1, 2, 4), 100, 2**16), "1 cells"),
        ((8, 7, (1, 2, 4), 100, 2**16), "8 cells"),
        ((6, 7, (2, 1, 4), 100, 2**16), "increasing residues"),
        ((6, 7, (1, 2, 7), 100, 2**16), "increasing residues"),
        ((6, 7, (-1, 2, 4), 100, 2**16), "increasing residues"),
        ((6, 7, (), 100, 2**16), "increasing residues"),
        ((6, 7, tuple(range(7)), 100, 2**16), "singular"),
        ((4, 4, (0, 2), 100, 2**16), "singular"),
        ((6, 7, (1, 2, 4), 0, 2**16), "low must be positive"),
        ((6, 7, (1, 2, 4), 9_400, 2**16), "nothing is left"),
        ((6, 7, (1, 2, 4), 100, 1000), "2\\^16"),
        ((6, 7, (1, 2, 4.0), 100, 2**16), "integers"),
        ((6.0, 7, (1, 2, 4), 100, 2**16), "needs an integer 'cells'"),
        ((6, 7.0, (1, 2, 4), 100, 2**16), "needs an integer 'codes'"),
        ((6, 7, (1, 2, 4), 100.0, 2**16), "needs an integer 'low'"),
        ((6, 7, (1, 2, 4), 100, 2.0**16), "needs an integer 'total'"),
    ],
)
def test_bad_weights_are_refused(fields, says):
    with pytest.raises(MatrixError, match=says):
        Subset(*fields)


def test_weights_by_hand():
    """65536 − 7·6000 = 3·7845 + 1; x − 1, x − 2 and x − 4 hold cell x, and the 1 goes to x − 1."""
    fresh = Subset(2, codes=7, block=(1, 2, 4), low=6000, total=2**16)
    assert fresh.weights.tolist() == [
        [6000, 6000, 6000, 13845, 6000, 13845, 13846],
        [13846, 6000, 6000, 6000, 13845, 6000, 13845],
    ]


def test_shifts_that_cannot_tell_all_codes_apart_may_tell_fewer_cells():
    """The block {0, 2} mod 4 has two shifts; cell 0 is in one of them and cell 1 in the other."""
    two = Subset(2, codes=4, block=(0, 2), low=8192, total=2**16)
    assert two.weights.tolist() == [[24576, 8192] * 2, [8192, 24576] * 2]


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, 1000])
def test_an_epsilon_that_cannot_be_sampled_is_refused(epsilon):
    with pytest.raises(MatrixError):
        subset_matrix(10, epsilon=epsilon)


def test_an_epsilon_too_small_to_tell_anything_is_refused_in_words():
    with pytest.raises(MatrixError, match="spend a larger ε"):
        subset_matrix(12, epsilon=1e-9).scores(np.eye(12))


def test_the_smallest_epsilon_that_can_be_sampled():
    assert subset_matrix(4, epsilon=LEAST_EPSILON).epsilon <= LEAST_EPSILON


def test_blocks_stay_what_they_are():
    """Designs hold them: another block of the same numbers would be another design."""
    assert hyperplane.__wrapped__(3, 3) == (1, 2, 6, 12)
    assert hyperplane.__wrapped__(5, 3) == (1, 2, 15, 21, 25, 30)
    assert hyperplane.__wrapped__(7, 3) == (1, 2, 4, 14, 33, 37, 44, 53)


def test_difference_sets_are_found_without_what_was_kept():
    """Anew, since blocks are kept once they are found."""
    assert _primes(30) == [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]
    assert shapes.__wrapped__() == shapes()
    for q, size in ((2, 3), (2, 5), (3, 3), (3, 4), (5, 3), (7, 3)):
        block, v = hyperplane.__wrapped__(q, size), (q**size - 1) // (q - 1)
        pairs = (q ** (size - 2) - 1) // (q - 1)
        differences = Counter((x - y) % v for x in block for y in block if x != y)
        assert differences == dict.fromkeys(range(1, v), pairs)
