"""Forged reports, against really forging them."""

import numpy as np
import pytest

from mdrr.errors import EstimateError
from mdrr.matrix import Dense, constant_matrix, dense_matrix
from mdrr.theory import influence

BAND = dense_matrix([[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.05, 0.25, 0.7]])


def forged(matrix, chosen):
    """What each possible report adds to the estimated count, by estimating with and without it."""
    honest = np.full(matrix.outcomes, 10.0)
    before = matrix.solve(honest) @ chosen
    return [
        float(matrix.solve(honest + np.eye(matrix.outcomes)[y]) @ chosen - before)
        for y in range(matrix.outcomes)
    ]


@pytest.mark.parametrize("matrix", [constant_matrix(3, p=0.2), BAND], ids=["constant", "dense"])
@pytest.mark.parametrize("chosen", [[1, 0, 0], [0, 1, 1], [0, 0, 1]])
def test_influence_is_what_forging_does(matrix, chosen):
    added = forged(matrix, np.array(chosen, dtype=float))
    found = influence(matrix, chosen)
    assert found.most == pytest.approx(max(added))
    assert found.least == pytest.approx(min(added))
    assert found.swing == pytest.approx(max(added) - min(added))


@pytest.mark.parametrize("matrix", [constant_matrix(5, p=0.2), BAND], ids=["constant", "dense"])
def test_without_a_choice_it_is_the_worst_cell(matrix):
    each = [influence(matrix, row) for row in np.eye(matrix.cells)]
    worst = max(each, key=lambda one: one.swing)
    found = influence(matrix)
    assert (found.most, found.least, found.swing) == pytest.approx(
        (worst.most, worst.least, worst.swing)
    )


def test_constant_in_closed_form_and_equal_to_dense():
    matrix = constant_matrix(6, epsilon=1.0)
    assert influence(matrix).swing == pytest.approx(1 / matrix.signal)
    weights = [[matrix.off] * 6 for _ in range(6)]
    for u in range(6):
        weights[u][u] = matrix.diagonal
    same = influence(Dense(tuple(map(tuple, weights))))
    assert same.to_dict() == pytest.approx(influence(matrix).to_dict())


def test_more_privacy_makes_a_lie_heavier():
    swings = [influence(constant_matrix(4, epsilon=e)).swing for e in (0.1, 0.5, 1, 2, 5, 10)]
    assert swings == sorted(swings, reverse=True)
    assert swings[-1] == pytest.approx(1, abs=0.01)


def test_over_two_clusters_lies_multiply():
    a, b = constant_matrix(2, p=0.5), constant_matrix(3, p=0.25)
    found = influence([a, b], [[1, 0, 0], [0, 0, 0]])
    assert found.most == pytest.approx(influence(a, [1, 0]).most * influence(b, [1, 0, 0]).most)
    assert found.least == pytest.approx(influence(a, [1, 0]).least * influence(b, [1, 0, 0]).most)


def test_forgers():
    found = influence(constant_matrix(2, p=0.5), [1, 0])
    assert found.swing == pytest.approx(2)
    assert [found.forgers(people) for people in (0, 1, 2, 3, 100)] == [0, 1, 1, 2, 50]
    with pytest.raises(EstimateError, match="0 or more"):
        found.forgers(-1)


def test_bad_input_is_refused():
    with pytest.raises(EstimateError, match="which combinations"):
        influence([BAND, BAND])
    with pytest.raises(EstimateError, match="shape"):
        influence(BAND, [1, 0])
    with pytest.raises(EstimateError, match="at least one matrix"):
        influence([])
