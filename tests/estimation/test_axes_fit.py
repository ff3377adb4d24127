"""Axes that are fitted: found where they are, gone where there is only noise."""

from itertools import combinations

import numpy as np
import pytest

from mdrr.estimation.axes_fit import fit_axes
from tests.estimation.planted import SHAPE, planted, seen_through


def test_a_planted_axis_is_found_and_no_other():
    margins, axis = planted(SHAPE)
    found = fit_axes(seen_through(axis, 1e-4, np.random.default_rng(1)), margins, 4)
    assert found.kept == 1
    for i, j in combinations(range(len(axis)), 2):
        assert found.interaction(i, j) == pytest.approx(axis[i] @ axis[j].T, abs=1e-3)


def test_noise_alone_leaves_no_axis():
    margins, axis = planted((5, 6, 4, 5, 3, 6))
    nothing = [0 * part for part in axis]
    kept = [
        fit_axes(seen_through(nothing, 0.05, np.random.default_rng(seed)), margins, 6).kept
        for seed in range(12)
    ]
    # An axis of noise stays at most now and then: the largest eigenvalue of noise is below the
    # threshold of variational Bayes.
    assert sum(k > 0 for k in kept) <= 2
