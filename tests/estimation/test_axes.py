"""What axes make of interactions."""

from itertools import combinations

import numpy as np
import pytest

from mdrr.estimation.axes import Axes, gain_of, leading
from tests.estimation.planted import SHAPE, planted, seen_through


def log_density(values, mean, noise):
    return -0.5 * ((values - mean) ** 2).sum() / noise**2


def test_a_gain_is_a_difference_of_log_likelihoods():
    _, axis = planted(SHAPE)
    seen = seen_through(axis, 0.02, np.random.default_rng(1), uneven=3.0, unseen=[(1, 3)])
    trust = np.full((len(SHAPE),) * 2, 0.7)
    gains = gain_of(Axes(tuple(axis), trust, 1, 0), seen)
    for i, j in combinations(range(len(SHAPE)), 2):
        if (i, j) == (1, 3):
            assert gains[i, j] == 0
            continue
        noise = seen.precision[i, j] ** -0.5
        values = seen.values[seen.parts[i], seen.parts[j]] * noise**2
        mean = 0.7 * axis[i] @ axis[j].T
        expected = log_density(values, mean, noise) - log_density(values, 0.0, noise)
        assert gains[i, j] == gains[j, i] == pytest.approx(expected)


def test_half_of_the_people_tell_half_as_much():
    _, axis = planted(SHAPE)
    seen = seen_through(axis, 0.02, np.random.default_rng(1))
    axes = Axes(tuple(axis), np.ones((len(SHAPE),) * 2), 1, 0)
    assert gain_of(axes, seen.told(0.5)) == pytest.approx(gain_of(axes, seen) / 2)


def test_the_leading_axis_is_as_long_as_fits_best():
    margins, axis = planted(SHAPE)
    seen = seen_through(axis, 1e-3, np.random.default_rng(1))
    found = leading(seen, np.concatenate(margins), 1)
    assert abs(np.corrcoef(found[:, 0], np.concatenate(axis)[:, 0])[0, 1]) > 0.8

    def gain(scale):
        parts = tuple(np.sqrt(scale) * found[part] for part in seen.parts)
        return gain_of(Axes(parts, np.ones((len(SHAPE),) * 2), 1, 0), seen).sum()

    assert gain(1) > max(gain(0.99), gain(1.01), 0)
