"""Intervals near 0 and 1: coverage by integration, and against Wilson's and a belt by ranking."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from mdrr.estimation.interval import interval
from mdrr.estimation.result import Deviation


def coverage(p, variance, level, proper=False):
    """P(p is held) for X ~ N(p, variance(p)), by a fine grid of quantiles of X."""
    steps = (np.arange(2000) + 0.5) / 2000
    drawn = p + math.sqrt(variance(p)) * norm.ppf(steps)
    ends = [interval(float(x), variance, level, proper=proper) for x in drawn]
    return float(np.mean([low - 1e-12 <= p <= high + 1e-12 for low, high in ends]))


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
@pytest.mark.parametrize("p", [0.0, 0.03, 0.1, 0.17, 0.5, 0.9, 1.0])
def test_every_share_is_held_as_often_as_stated(p, level):
    """2,000 quantiles resolve the coverage to within one at each end of what is held."""
    assert coverage(p, lambda _: 0.01, level) == pytest.approx(level, abs=2 / 2000)


def test_cutting_at_zero_instead_holds_an_empty_cell_too_often():
    assert coverage(0.0, lambda _: 0.01, 0.95, proper=True) == pytest.approx(0.975, abs=1e-3)


@pytest.mark.parametrize("x", [-3.0, -1.0, 0.0, 1.0, 1.8, 2.5, 4.0])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_ends_are_those_of_the_belt_made_by_ranking(x, level):
    """Feldman and Cousins' construction, literally: for each mean μ ≥ 0 the outcomes enter in the
    order of their likelihood ratio until they have the probability wanted; held are the means
    whose outcomes include x. In units of the standard error; the grid is 0.005 fine.
    """
    outcomes = np.arange(-9, 14, 0.005)
    means = np.arange(0, 8, 0.005)
    held = []
    for mean in means:
        likely = norm.pdf(outcomes - mean)
        order = np.argsort(-likely / norm.pdf(outcomes - np.maximum(outcomes, 0)), kind="stable")
        entered = order[: np.searchsorted(np.cumsum(likely[order]) * 0.005, level) + 1]
        if outcomes[entered].min() - 0.0025 <= x <= outcomes[entered].max() + 0.0025:
            held.append(mean)
    unit = 1e-3
    low, high = interval(x * unit, lambda _: unit**2, level)
    assert (low / unit, high / unit) == pytest.approx((min(held), max(held)), abs=0.02)


@pytest.mark.parametrize(("hits", "n"), [(3, 20), (12, 20), (40, 500)])
def test_a_binomial_share_has_wilsons_interval(hits, n):
    z = float(norm.ppf(0.975))
    share = hits / n
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    low, high = interval(share, lambda p: p * (1 - p) / n, 0.95, proper=True)
    assert (low, high) == pytest.approx((centre - half, centre + half), abs=1e-5)


def test_the_two_ends_mirror_each_other():
    for x in (-0.2, 0.01, 0.4):
        low, high = interval(x, lambda p: 0.02 * (1 - p) + 0.001, 0.9)
        mirrored = interval(1 - x, lambda p: 0.02 * p + 0.001, 0.9)
        assert (1 - high, 1 - low) == pytest.approx(mirrored, abs=1e-5)


def test_without_variance_there_is_no_doubt():
    assert interval(0.3, lambda _: 0.0, 0.95) == pytest.approx((0.3, 0.3))
    assert interval(-0.3, lambda _: 0.0, 0.95) == pytest.approx((0.0, 0.0))


def test_a_cell_nobody_was_reported_in_may_hold_a_few():
    """No variance at 0, some at p > 0: p² ≤ z²·slope·p."""
    low, high = interval(0.0, Deviation(0.0, 0.0, slope=1e-3).variance, 0.95, proper=True)
    assert (low, high) == pytest.approx((0.0, 1.96**2 * 1e-3), rel=1e-4)


def test_the_variance_is_a_parabola_about_the_proper_centre():
    deviation = Deviation(-0.1, 0.2, slope=0.3, bend=-0.5)
    assert deviation.variance(0.0) == pytest.approx(0.04)
    assert deviation.variance(0.2) == pytest.approx(0.04 + 0.06 - 0.02)
    assert Deviation(0.5, 0.1, slope=1.0).variance(0.0) == 0.0
