"""The table-EM: the likelihood's maximum, through several channels, with smoothing if asked."""

import numpy as np
import pytest
from scipy.optimize import minimize

from mdrr.errors import EstimateError
from mdrr.estimation.invert import invert
from mdrr.estimation.update import Stacked, bayesian_update, choose_strength, smoothed_update
from mdrr.matrix import banded_matrix, constant_matrix
from tests.cases import dense_form, uneven

MATRICES = [constant_matrix(4, p=0.5), constant_matrix(3, epsilon=0.7), uneven(4, 7)]


def table_of(matrix):
    return matrix.probabilities if matrix.kind == "dense" else dense_form(matrix)


@pytest.mark.parametrize("matrix", MATRICES)
def test_the_update_equals_the_inverse_where_that_is_proper(matrix):
    pi = np.random.default_rng(3).dirichlet(np.full(matrix.cells, 5.0))
    counts = matrix.forward(pi) * 1e6
    found = bayesian_update(counts, matrix, tolerance=1e-13)
    assert found.stopped == "tolerance"
    np.testing.assert_allclose(found.distribution, invert(counts, matrix), atol=1e-8)


@pytest.mark.parametrize("matrix", MATRICES)
def test_the_update_is_the_likelihoods_maximum(matrix):
    counts = np.array([70, 4, 30, 1])[: matrix.outcomes]
    found = bayesian_update(counts, matrix, tolerance=1e-13)
    table = table_of(matrix)

    def loss(x):
        return -(counts * np.log(x @ table)).sum()

    best = minimize(
        loss,
        np.full(matrix.cells, 1 / matrix.cells),
        bounds=[(0, 1)] * matrix.cells,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-12},
    )
    assert (invert(counts, matrix) < 0).any(), "else this tests nothing new"
    assert loss(found.distribution) <= best.fun + 1e-6
    assert found.distribution.sum() == pytest.approx(1)


def test_the_update_says_why_it_stopped_and_can_go_on():
    matrix = constant_matrix(4, p=0.2)
    counts = [40, 30, 20, 10]
    short = bayesian_update(counts, matrix, sweeps=3)
    assert (short.stopped, short.sweeps) == ("sweeps", 3)
    assert short.change > 1e-9
    again = bayesian_update(counts, matrix, start=short.distribution)
    whole = bayesian_update(counts, matrix)
    assert again.stopped == whole.stopped == "tolerance"
    assert again.change < 1e-9
    assert again.sweeps == whole.sweeps - 3
    loose = bayesian_update(counts, matrix, tolerance=1e-3)
    assert loose.sweeps < whole.sweeps


def test_a_cell_that_starts_at_nothing_stays_there():
    """EM never moves mass to a cell that is impossible."""
    matrix = constant_matrix(3, p=0.6)
    found = bayesian_update([10, 40, 50], matrix, start=np.array([0.5, 0.0, 0.5]))
    assert found.distribution[1] == 0
    assert found.distribution.sum() == pytest.approx(1)


def test_several_channels_are_one_with_their_codes_side_by_side():
    matrices = [constant_matrix(4, p=0.5), uneven(4, 3)]
    shares = [0.3, 0.7]
    both = Stacked(matrices, shares)
    whole = np.concatenate([w * table_of(m) for m, w in zip(matrices, shares, strict=True)], axis=1)
    pi, values = np.random.default_rng(1).dirichlet(np.ones(4)), np.arange(8.0)
    np.testing.assert_allclose(both.forward(pi), pi @ whole, atol=1e-12)
    np.testing.assert_allclose(both.backward(values), whole @ values, atol=1e-12)
    found = bayesian_update(both.forward(pi) * 1e6, both, tolerance=1e-13)
    np.testing.assert_allclose(found.distribution, pi, atol=1e-7)


CELLS = 40
BELL = np.exp(-(((np.arange(CELLS) - 18) / 7) ** 2))
BELL /= BELL.sum()
SPIKE = np.full(CELLS, 0.2 / (CELLS - 2))
SPIKE[[7, 30]] = 0.4


def reports(truth, matrix, n, seed):
    rng = np.random.default_rng(seed)
    return rng.multinomial(n, matrix.forward(truth)).astype(float)


def test_without_smoothing_it_is_the_iterative_bayesian_update():
    matrix = constant_matrix(5, p=0.5)
    counts = np.array([50.0, 20, 10, 15, 5])
    found = smoothed_update(counts, matrix, strength=0.0)
    exact = bayesian_update(counts, matrix).distribution
    # It stops when ten sweeps gain .001 nats: noise moves the log-likelihood by about a nat.
    np.testing.assert_allclose(found.distribution, exact, atol=0.02)
    assert found.stopped == "tolerance"


def test_smoothing_is_taken_for_a_bell_and_left_for_spikes():
    matrix = banded_matrix(CELLS, epsilon=1.5)
    assert choose_strength(reports(BELL, matrix, 30_000, 1), matrix) >= 1 / 64
    assert choose_strength(reports(SPIKE, matrix, 30_000, 1), matrix) <= 1 / 256


@pytest.mark.parametrize("truth", [BELL, SPIKE])
def test_the_chosen_strength_is_not_much_worse_than_the_best(truth):
    matrix = banded_matrix(CELLS, epsilon=1.5)
    chosen, each = [], []
    for seed in range(3):
        counts = reports(truth, matrix, 30_000, seed)
        chosen.append(_distance(smoothed_update(counts, matrix).distribution, truth))
        each.append(
            [
                _distance(smoothed_update(counts, matrix, strength=s).distribution, truth)
                for s in (0.0, 0.25)
            ]
        )
    best, worst = sorted(np.mean(each, axis=0))
    assert np.mean(chosen) < best + 0.25 * (worst - best)


def test_order_pays_on_a_long_scale():
    """At the same ε the banded matrix is several times nearer in Wasserstein distance."""
    errors = {}
    for name, matrix in {
        "banded": banded_matrix(CELLS, epsilon=1.0),
        "constant": constant_matrix(CELLS, epsilon=1.0),
    }.items():
        found = [
            smoothed_update(reports(BELL, matrix, 20_000, seed), matrix).distribution
            for seed in range(2)
        ]
        errors[name] = np.mean([_distance(f, BELL) for f in found])
    assert errors["banded"] < errors["constant"] / 2


def test_no_reports_are_refused():
    with pytest.raises(EstimateError, match="no reports"):
        smoothed_update(np.zeros(5), constant_matrix(5, p=0.5))


def _distance(found, truth):
    return float(np.abs(np.cumsum(found - truth)).sum())
