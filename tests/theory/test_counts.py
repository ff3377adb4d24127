"""Predicted errors of counts against enumeration and simulation; forged reports against forging."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from mdrr.errors import EstimateError
from mdrr.matrix import Dense, constant_matrix, dense_matrix
from mdrr.theory import count_error, deviations, influence, product_count_error

SMALL = constant_matrix(2, p=0.4)
BAND = dense_matrix([[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.05, 0.25, 0.7]])
JOINT = np.array([[0.3, 0.15, 0.05], [0.05, 0.1, 0.35]])
CHOSEN = np.array([[1, 0, 0], [1, 0, 1]])


def table(matrix):
    return matrix.likelihood(np.arange(matrix.outcomes)).T


def enumerated(matrices, chosen, truth):
    """(noise², total²) for one person, by summing over all records and all reports."""
    full = np.ones((1, 1))
    for matrix in matrices:
        full = np.kron(full, table(matrix))
    scores = np.linalg.solve(full, chosen.ravel().astype(float))
    pi = truth.ravel()
    noise = sum(
        pi[x] * full[x, y] * (scores[y] - chosen.ravel()[x]) ** 2
        for x, y in product(range(len(pi)), repeat=2)
    )
    mean = float(pi @ chosen.ravel())
    return noise, noise + float(pi @ (chosen.ravel() - mean) ** 2)


def test_two_axes_against_enumeration():
    found = count_error([SMALL, BAND], CHOSEN, JOINT, 500)
    noise, total = enumerated([SMALL, BAND], CHOSEN, JOINT)
    assert found.count == pytest.approx(500 * 0.7)
    assert found.noise == pytest.approx(math.sqrt(500 * noise))
    assert found.total == pytest.approx(math.sqrt(500 * total))
    assert found.bias == 0


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 6), st.floats(0.05, 0.9))
def test_one_axis_against_enumeration(seed, cells, p):
    rng = np.random.default_rng(seed)
    matrix, pi = constant_matrix(cells, p=p), rng.dirichlet(np.ones(cells))
    chosen = rng.integers(0, 2, cells)
    found = count_error(matrix, chosen, pi, 50)
    noise, total = enumerated([matrix], chosen, pi)
    assert found.noise == pytest.approx(math.sqrt(50 * max(noise, 0)), abs=1e-6)
    assert found.total == pytest.approx(math.sqrt(50 * max(total, 0)), abs=1e-6)
    assert found.noise <= found.total * (1 + 1e-12) + 1e-9


def test_counting_everyone_or_nobody_is_exact():
    for chosen, count in (([1, 1, 1], 80), ([0, 0, 0], 0)):
        found = count_error(BAND, chosen, [0.2, 0.3, 0.5], 80)
        assert (found.count, found.noise) == pytest.approx((count, 0), abs=1e-5)
    assert math.isinf(count_error(BAND, [0, 0, 0], [0.2, 0.3, 0.5], 80).relative)


def test_one_cell_is_a_frequency():
    pi = np.array([0.2, 0.3, 0.5])
    for cell in range(3):
        found = count_error(BAND, np.eye(3)[cell], pi, 400)
        assert found.total / 400 == pytest.approx(deviations(BAND, pi)[cell] / 20)


def simulate(matrices, chosen, data, runs, rng):
    """Estimated counts over fresh randomizations of the same people, by inverse and by product."""
    inverse, by_product = [], []
    n = len(data[0])
    choices = [chosen.any(axis=1), chosen.any(axis=0)]
    for _ in range(runs):
        codes = [
            matrix.draw(column, rng.integers(0, matrix.total, n, dtype=np.uint64)).astype(int)
            for matrix, column in zip(matrices, data, strict=True)
        ]
        observed = np.zeros(chosen.shape)
        np.add.at(observed, tuple(codes), 1)
        solved = matrices[1].solve(matrices[0].solve(observed.T).T)
        inverse.append(float(solved[chosen.astype(bool)].sum()))
        shares = [
            float(matrix.solve(observed.sum(axis=1 - axis) / n)[choices[axis]].sum())
            for axis, matrix in enumerate(matrices)
        ]
        by_product.append(n * shares[0] * shares[1])
    return np.array(inverse), np.array(by_product)


def test_predictions_against_simulation():
    """Means within z(1e-5), variances within their χ² range at 1e-5, for the same 600 people.

    Power: `total` in place of `noise` is refused for the inverse, and so is an unbiased product.
    """
    runs, matrices = 3000, [SMALL, BAND]
    chosen = np.array([[0, 0, 0], [0, 1, 1]])
    cells = np.repeat(np.arange(6), (JOINT.ravel() * 600).round().astype(int))
    data = [cells // 3, cells % 3]
    inverse, by_product = simulate(matrices, chosen, data, runs, np.random.default_rng(3))
    predicted = count_error(matrices, chosen, JOINT, 600)
    product_predicted = product_count_error(
        matrices, [[0, 1], [0, 1, 1]], [JOINT.sum(1), JOINT.sum(0)], 600, share=0.45
    )
    z = stats.norm.isf(5e-6)
    low, high = stats.chi2.ppf([5e-6, 1 - 5e-6], runs - 1) / (runs - 1)
    for values, error in ((inverse, predicted), (by_product, product_predicted)):
        mean = error.count + error.bias
        assert abs(values.mean() - mean) < z * error.noise / math.sqrt(runs)
        assert low < values.var(ddof=1) / error.noise**2 < high
    assert not low < inverse.var(ddof=1) / predicted.total**2 < high
    unbiased = product_predicted.count
    assert abs(by_product.mean() - unbiased) > z * product_predicted.noise / math.sqrt(runs)


def test_product_without_a_share_is_unbiased():
    found = product_count_error([SMALL], [[0, 1]], [[0.4, 0.6]], 100)
    alone = count_error(SMALL, [0, 1], [0.4, 0.6], 100)
    assert found.bias == 0
    assert (found.count, found.noise) == pytest.approx((alone.count, alone.noise))
    assert found.rmse == found.noise
    assert found.to_dict()["relative"] == pytest.approx(found.noise / 60)


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


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: count_error([], [1], [1], 5), "at least one matrix"),
        (lambda: count_error(BAND, [1, 0], [0.2, 0.3, 0.5], 5), "chosen has shape"),
        (lambda: count_error(BAND, [1, 0, 0], [0.5, 0.5], 5), "truth has shape"),
        (lambda: count_error(BAND, [1, 0, 0], [0.5, 0.5, 0.5], 5), "sum to 1"),
        (lambda: count_error(BAND, [math.nan, 0, 0], [0.2, 0.3, 0.5], 5), "finite"),
        (lambda: count_error(BAND, [1, 0, 0], [0.2, 0.3, 0.5], 0), "at least one report"),
        (lambda: product_count_error([BAND], [], [], 5), "one of each per cluster"),
        (
            lambda: product_count_error([SMALL], [[1, 0]], [[0.5, 0.5]], 5, share=1.5),
            "not a share",
        ),
        (lambda: influence([BAND, BAND]), "which combinations"),
        (lambda: influence(BAND, [1, 0]), "shape"),
        (lambda: influence([]), "at least one matrix"),
    ],
)
def test_bad_input_is_refused(call, words):
    with pytest.raises(EstimateError, match=words):
        call()
