"""Smoothed EM: right without noise, smoothing chosen by the data."""

import numpy as np
import pytest

from mdrr.errors import EstimateError
from mdrr.estimation.invert import bayesian_update
from mdrr.estimation.smooth import choose_strength, smoothed_update
from mdrr.matrix import banded_matrix, constant_matrix

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
    found = smoothed_update(counts, matrix, strength=0.0, tolerance=1e-12, sweeps=20_000)
    np.testing.assert_allclose(
        found.distribution, bayesian_update(counts, matrix).distribution, atol=1e-4
    )
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
            for seed in range(3)
        ]
        errors[name] = np.mean([_distance(f, BELL) for f in found])
    assert errors["banded"] < errors["constant"] / 2


def test_no_reports_are_refused():
    with pytest.raises(EstimateError, match="no reports"):
        smoothed_update(np.zeros(5), constant_matrix(5, p=0.5))


def _distance(found, truth):
    return float(np.abs(np.cumsum(found - truth)).sum())
