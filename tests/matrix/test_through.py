"""A matrix through some attributes: what the whole matrix says, added up over the others."""

import numpy as np
import pytest

from mdrr.errors import MatrixError
from mdrr.matrix import Through, banded_matrix, constant_matrix, dense_matrix, subset_matrix
from tests.cases import dense_form, uneven

SHAPE = (2, 3, 4)
PLACES = [(0,), (1,), (2,), (0, 2), (1, 2), (0, 1, 2)]
MATRICES = {
    "constant": constant_matrix(24, epsilon=3.0),
    "dense": uneven(24, 5),
    "dense with more codes": dense_matrix(
        np.random.default_rng(2).dirichlet(np.ones(30), size=24) * 0.3 + 0.7 * np.eye(24, 30)
    ),
    "banded": banded_matrix(24, epsilon=1.0, width=2),
    "subset": subset_matrix(24, epsilon=1.0),
}


def table_of(matrix):
    return dense_form(matrix) if matrix.kind == "constant" else matrix.probabilities


def kept_cells(places):
    digits = np.unravel_index(np.arange(24), SHAPE)
    sizes = [SHAPE[place] for place in places]
    return np.ravel_multi_index([digits[place] for place in places], sizes)


def away(places):
    return tuple(place for place in range(3) if place not in places)


@pytest.mark.parametrize("places", PLACES, ids=str)
@pytest.mark.parametrize("matrix", MATRICES.values(), ids=MATRICES)
def test_inverting_what_is_seen_gives_the_margin_of_the_truth(matrix, places):
    seen = Through(matrix, SHAPE, places)
    pi = np.random.default_rng(7).dirichlet(np.ones(24))
    reported = np.bincount(
        seen.codes(np.arange(matrix.outcomes)), matrix.forward(pi), seen.outcomes
    )
    margin = pi.reshape(SHAPE).sum(axis=away(places)).ravel()
    np.testing.assert_allclose(seen.invert(reported), margin, atol=1e-10)
    np.testing.assert_allclose(seen.scores @ reported, margin, atol=1e-10)
    squares = (seen.scores**2) @ reported
    np.testing.assert_allclose(seen.invert(reported, power=2), squares, rtol=1e-9)
    weights = np.random.default_rng(8).normal(size=seen.cells)
    assert seen.score(weights) @ reported == pytest.approx(weights @ margin, abs=1e-10)


@pytest.mark.parametrize("places", PLACES, ids=str)
def test_a_constant_matrix_stays_constant_and_its_likelihood_is_the_whole_ones_added_up(places):
    matrix = MATRICES["constant"]
    seen = Through(matrix, SHAPE, places)
    kept = kept_cells(places)
    whole = np.zeros((24, seen.cells))  # P(kept part of the report | true cell)
    for code, part in enumerate(kept):
        whole[:, part] += dense_form(matrix)[:, code]
    np.testing.assert_allclose(seen.likelihood(np.arange(seen.cells)).T[kept], whole, atol=1e-15)
    codes = seen.codes(np.arange(24, dtype=np.uint8))
    np.testing.assert_array_equal(codes, kept)
    assert codes.dtype == np.int64


@pytest.mark.parametrize("matrix", MATRICES.values(), ids=MATRICES)
def test_the_whole_matrix_is_itself(matrix):
    seen = Through(matrix, SHAPE, (0, 1, 2))
    table = table_of(matrix)
    pi = np.random.default_rng(9).dirichlet(np.ones(24), size=3)
    np.testing.assert_allclose(seen.forward(pi), pi @ table)
    np.testing.assert_allclose(seen.forward(pi.T, at=0), (pi @ table).T)
    values = np.random.default_rng(10).normal(size=(2, matrix.outcomes))
    np.testing.assert_allclose(seen.backward(values), values @ table.T, atol=1e-12)
    np.testing.assert_allclose(seen.likelihood(np.array([3, 0])), table[:, [3, 0]].T)


@pytest.mark.parametrize("places", PLACES, ids=str)
@pytest.mark.parametrize("matrix", MATRICES.values(), ids=MATRICES)
def test_square_and_swing_are_those_of_the_scores(matrix, places):
    seen = Through(matrix, SHAPE, places)
    codes = seen.codes(np.arange(matrix.outcomes))
    even = np.bincount(codes, table_of(matrix).mean(axis=0), seen.outcomes)
    np.testing.assert_allclose(seen.even, even)
    assert seen.square == pytest.approx(float((seen.scores**2 @ even).sum()))
    assert seen.swing == pytest.approx(float(np.ptp(seen.scores, axis=1).max()))


def test_noise_is_even_but_for_banded_and_dense_matrices():
    assert Through(MATRICES["constant"], SHAPE, (2,)).evenness == 1.0
    assert Through(MATRICES["subset"], (24,), (0,)).evenness == 1.0
    band = Through(MATRICES["banded"], (24,), (0,))
    covariance = band.scores @ np.diag(band.even) @ band.scores.T
    means = band.scores @ band.even
    noise = np.linalg.eigvalsh(covariance - np.outer(means, means))
    assert band.evenness == pytest.approx(noise.sum() ** 2 / (noise**2).sum() / 23)
    assert band.evenness < 0.5


@pytest.mark.parametrize(
    ("shape", "places", "complaint"),
    [
        ((2, 3), (0,), "does not have 24 combinations"),
        (SHAPE, (), "increasing"),
        (SHAPE, (1, 0), "increasing"),
        (SHAPE, (0, 0), "increasing"),
        (SHAPE, (3,), "increasing"),
    ],
)
def test_attributes_that_are_not_there_are_refused(shape, places, complaint):
    with pytest.raises(MatrixError, match=complaint):
        Through(MATRICES["constant"], shape, places)


def test_a_part_that_is_no_channel_says_so():
    part = Through(MATRICES["dense"], SHAPE, (1,))
    assert not part.likely
    for ask in (
        lambda: part.likelihood(np.array([0])),
        lambda: part.forward(np.ones(3)),
        lambda: part.backward(np.ones(24)),
    ):
        with pytest.raises(MatrixError, match="no channel of their own"):
            ask()


def test_a_constant_matrix_of_any_size_is_seen_without_writing_it_out():
    huge = Through(constant_matrix(2**40, epsilon=25.0), (2**20, 2**10, 2**10), (1,))
    assert huge.invert(huge.forward(np.eye(1, 2**10)[0])) == pytest.approx(np.eye(1, 2**10)[0])
    with pytest.raises(MatrixError, match="too many"):
        _ = Through(constant_matrix(2**40, epsilon=25.0), (2**20, 2**20), (0,)).scores


@pytest.mark.parametrize("at", [0, 1, 2, -1])
@pytest.mark.parametrize("places", [(0, 2), (0, 1, 2)], ids=str)
@pytest.mark.parametrize("matrix", MATRICES.values(), ids=MATRICES)
def test_an_operation_works_on_each_line_along_an_axis(matrix, places, at):
    seen = Through(matrix, SHAPE, places)
    operations = [(seen.invert, seen.outcomes), (seen.score, seen.cells)]
    operations += [(seen.mean, matrix.outcomes)]
    if seen.likely:
        operations += [(seen.forward, seen.cells), (seen.backward, seen.outcomes)]
    for operation, size in operations:
        shape = [2, 3, 5]
        shape[at] = size
        table = np.random.default_rng(11).normal(size=shape)
        expected = np.apply_along_axis(operation, at, table)
        np.testing.assert_allclose(operation(table, at), expected, atol=1e-10)
