"""What predictions know of margins: how far from even they are, and what reports gain by it."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mdrr
from mdrr.dependence import Dependences, dependences, from_codes
from mdrr.errors import DesignError
from mdrr.planning.predict import Shape, gain, predict, relative_error, shapes_of
from mdrr.randomizer import randomize_codes
from mdrr.tallies import tally_codes


def unknown(cells):
    return Shape(cells, 2 / (cells + 1))


@pytest.mark.parametrize("cells", [2, 5, 16])
def test_distributions_drawn_evenly_lie_as_far_from_the_even_one_as_is_held(cells):
    drawn = np.random.default_rng(cells).dirichlet(np.ones(cells), size=100_000)
    distance = float(((drawn - 1 / cells) ** 2).sum(axis=1).mean())
    assert unknown(cells).held(1e12) == pytest.approx(distance, rel=0.02)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.floats(1e-9, 1e9), st.integers(2, 50))
def test_what_is_held_is_less_than_noise_and_than_the_spread(variance, cells):
    assert 0 < unknown(cells).held(variance) < min(variance, 1 / cells)


def test_an_attribute_nobody_reports_is_not_held():
    assert math.isinf(unknown(3).held(math.inf))


@pytest.mark.parametrize("signal", [0.001, 0.1, 0.5, 0.95])
def test_the_gain_is_the_ratio_of_two_fisher_informations(signal):
    """A table of 3 cells, reported with an attribute of which 2 of 3 categories occur, evenly.

    Whoever reads the table's own codes has Σ (s·h)²/P(y) on a direction h; whoever knows which two
    categories occur reads the pair of codes.
    """
    cells, other, occur = 3, 3, 2
    h = np.array([1.0, -0.5, -0.5])
    floor = (1 - signal) / (cells * other)
    alone = ((signal * h) ** 2 / (signal / cells + other * floor)).sum()
    shares = np.array([0.5, 0.5, 0.0])
    reported = signal / cells * shares + floor
    both = (np.multiply.outer(signal * h, shares) ** 2 / reported).sum()
    assert unknown(other).even == pytest.approx(occur / other)
    assert gain([occur / other], signal) == pytest.approx(both / alone)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(st.floats(0.05, 1), max_size=4), st.floats(0, 1))
def test_gains_lie_between_nothing_and_all(others, signal):
    found = gain(others, signal)
    assert 1 - 1e-12 <= found <= gain(others, 0.0) + 1e-12
    assert gain([*others, 0.6], signal) >= found - 1e-12


@pytest.mark.parametrize("noise", [1e-4, 0.02, 0.3, 5.0])
def test_what_is_held_of_a_known_margin_is_the_error_of_whoever_does_not_know_it(noise):
    """Estimates with noise of total variance V, drawn to the even distribution as S says."""
    margin, rng = np.array([0.55, 0.25, 0.15, 0.05]), np.random.default_rng(0)
    cells, rounds = len(margin), 200_000
    drawn = rng.standard_normal((rounds, cells)) * math.sqrt(noise / (cells - 1))
    drawn -= drawn.mean(axis=1, keepdims=True)
    spread = (cells - 1) / (cells * (cells + 1))
    kept = spread / (spread + noise)
    squares = ((1 / cells + kept * (margin + drawn - 1 / cells) - margin) ** 2).sum(axis=1)
    found = Shape(cells, float((margin**2).sum())).held(noise)
    # z(1e-5) = 4.3
    assert abs(squares.mean() - found) < 4.3 * squares.std() / math.sqrt(rounds)


def records(shares, n=20_000, seed=0):
    domain = mdrr.Domain(tuple(mdrr.Attribute(name, tuple("stuv")) for name in "abcd"))
    rng = np.random.default_rng(seed)
    return domain, [rng.choice(4, n, p=shares).astype(np.uint8) for _ in domain.names]


@pytest.mark.parametrize("shares", [(0.27, 0.25, 0.25, 0.23), (0.85, 0.08, 0.04, 0.03)])
def test_reports_that_tell_nothing_err_as_far_as_the_margins_are_from_even(shares):
    domain, codes = records(shares)
    design = mdrr.joint(domain, epsilon=0.1)
    singles = [(name,) for name in domain.names]
    known = predict(design, len(codes[0]), singles, dependences=from_codes(codes, domain))
    tally = tally_codes(randomize_codes(codes, design, mdrr.SeededSource(1)), design)
    found = mdrr.estimate(tally, design)
    far = [float(((found.table(*name).values - shares) ** 2).sum()) for name in singles]
    simulated = np.mean([relative_error(square, 4, 0.1) for square in far])
    assert 1 / 1.5 < known.error / simulated < 1.5


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.integers(2, 50), st.floats(0, 1e9), st.floats(1, 1e3))
def test_more_noise_is_never_feared_less(cells, variance, times):
    even = Shape(cells, 1 / cells)
    assert even.feared(variance) <= even.feared(variance * times) * (1 + 1e-12)
    assert even.feared(variance) == pytest.approx(unknown(cells).held(variance), abs=1e-15)


def test_even_margins_do_not_make_noise_look_good():
    domain, codes = records((0.25, 0.25, 0.25, 0.25))
    even = replace(from_codes(codes, domain), margins=(np.full(4, 0.25),) * 4)
    for workload in ("singles", "both"):
        found = mdrr.plan(domain, n=10_000, epsilon=1.0, dependences=even, workload=workload)
        blind = mdrr.plan(domain, n=10_000, epsilon=1.0, workload=workload)
        assert found.best.predicted.guess < 0.2
        assert found.best.predicted.error < 1.2 * blind.best.predicted.error


def test_a_vague_pilot_tells_no_margins():
    domain, codes = records((0.65, 0.15, 0.1, 0.1), n=500)
    for epsilon, told in ((0.5, False), (20.0, True)):
        design = mdrr.independent(domain, epsilon=epsilon)
        tally = tally_codes(randomize_codes(codes, design, mdrr.SeededSource(1)), design)
        assert (dependences(tally, design).margins is not None) == told


@pytest.mark.parametrize("share", [0.1428571, 1 / 7])
def test_even_margins_are_planned_with_whatever_their_rounding(share):
    domain = mdrr.Domain(tuple(mdrr.Attribute(name, tuple(range(7))) for name in "ab"))
    known = Dependences(("a", "b"), np.eye(2), (np.full(7, share),) * 2)
    found = mdrr.plan(domain, n=1, epsilon=0.1, dependences=known)
    assert all(c.predicted.error >= 0 for c in found.candidates)


def test_margins_of_another_domain_are_refused():
    domain, codes = records((0.4, 0.3, 0.2, 0.1))
    other = mdrr.Domain(tuple(mdrr.Attribute(name, tuple("st")) for name in "abcd"))
    with pytest.raises(DesignError, match=r"4 categories of 'a', the domain 2"):
        mdrr.plan(other, n=1_000, epsilon=2.0, dependences=from_codes(codes, domain))


def test_dependences_without_margins_leave_them_unknown():
    domain, codes = records((0.4, 0.3, 0.2, 0.1))
    known = from_codes(codes, domain)
    assert shapes_of(domain, known)["a"].square == pytest.approx(0.3, abs=0.01)
    for nothing in (None, Dependences(known.names, known.values)):
        assert shapes_of(domain, nothing) == {name: unknown(4) for name in domain.names}
