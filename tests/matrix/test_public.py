"""The matrix of a public attribute: the identity, without a draw and outside ε."""

import numpy as np
import pytest

from mdrr.errors import MatrixError
from mdrr.matrix import Public, Through, matrix_from_dict

THREE = Public(3)


def test_every_operation_is_the_identity():
    values = np.random.default_rng(1).normal(size=(2, 5, 3))
    for operation in (THREE.solve, THREE.forward, THREE.backward, THREE.scores):
        np.testing.assert_array_equal(operation(values), values)
    assert THREE.solve(np.array([3, 0, 1])).dtype == np.float64
    np.testing.assert_array_equal(THREE.likelihood(np.array([2, 0])), np.eye(3)[[2, 0]])
    drawn = THREE.draw(np.array([2, 0, 1]), np.zeros(3, np.uint64))
    np.testing.assert_array_equal(drawn, [2, 0, 1])
    assert drawn.dtype == np.uint64


def test_it_is_outside_epsilon_and_draws_nothing():
    assert (THREE.epsilon, THREE.total, THREE.outcomes, THREE.keep) == (0.0, 1, 3, 1.0)


def test_through_it_every_cell_is_seen_without_noise():
    seen = Through(THREE, (3,), (0,))
    np.testing.assert_array_equal(seen.scores, np.eye(3))
    assert (seen.square, seen.swing, seen.evenness) == (1.0, 1.0, 1.0)
    table = np.random.default_rng(2).normal(size=(4, 3, 2))
    for operation in (seen.invert, seen.score, seen.forward, seen.backward, seen.mean):
        np.testing.assert_array_equal(operation(table, 1), table)
    np.testing.assert_array_equal(seen.invert(table, 1, power=2), table)
    np.testing.assert_array_equal(seen.likelihood(np.array([1])), [[0, 1, 0]])


def test_it_comes_back_from_its_fields():
    assert THREE.to_dict() == {"kind": "public", "cells": 3}
    assert matrix_from_dict(THREE.to_dict()) == THREE


@pytest.mark.parametrize("cells", [1, 0, 2.0, None, True])
def test_what_is_no_number_of_cells_is_refused(cells):
    with pytest.raises(MatrixError):
        Public(cells)
