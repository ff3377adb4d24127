"""What predictions allow for: proper distributions, and reports that name other attributes too."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mdrr
from mdrr.errors import DesignError
from mdrr.planning.predict import gain, held, predict


@pytest.mark.parametrize("cells", [2, 5, 16])
def test_distributions_drawn_evenly_lie_as_far_from_the_even_one_as_is_held(cells):
    drawn = np.random.default_rng(cells).dirichlet(np.ones(cells), size=100_000)
    distance = float(((drawn - 1 / cells) ** 2).sum(axis=1).mean())
    assert held(1e12, cells) == pytest.approx(distance, rel=0.02)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.floats(1e-9, 1e9), st.integers(2, 50))
def test_what_is_held_is_less_than_noise_and_than_the_spread(variance, cells):
    assert 0 < held(variance, cells) < min(variance, 1 / cells)


def test_an_attribute_nobody_reports_is_not_held():
    assert math.isinf(held(math.inf, 3))


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
    assert occur == (other + 1) / 2
    assert gain(cells, [other], signal) == pytest.approx(both / alone)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.integers(2, 30), st.lists(st.integers(2, 9), max_size=4), st.floats(0, 1))
def test_gains_lie_between_nothing_and_all(cells, others, signal):
    found = gain(cells, others, signal)
    assert 1 - 1e-12 <= found <= gain(cells, others, 0.0) + 1e-12
    assert gain(cells, [*others, 4], signal) >= found - 1e-12


def test_no_design_is_predicted_to_err_more_than_a_guess_would():
    """RR-Joint at ε = 1 tells nothing of 4 attributes of 8 categories; its error is not 1,000."""
    domain = mdrr.Domain(tuple(mdrr.Attribute(name, tuple("stuvwxyz")) for name in "abcd"))
    design = mdrr.joint(domain, epsilon=1.0)
    singles = [(name,) for name in "abcd"]
    assert 0.5 < predict(design, 1000, singles).error < 1.0


@pytest.mark.parametrize("worth", [0.0, -1.0, math.inf, math.nan])
def test_single_attributes_have_a_finite_worth(worth):
    domain = mdrr.Domain(tuple(mdrr.Attribute(name, ("x", "y")) for name in "ab"))
    with pytest.raises(DesignError, match="positive number"):
        mdrr.plan(domain, n=100, epsilon=1.0, worth=worth)


def test_the_less_singles_are_worth_the_more_people_are_asked_pairs():
    domain = mdrr.Domain(tuple(mdrr.Attribute(name, tuple("uvwxyz")) for name in "abcd"))
    singles = [(name,) for name in "abcd"]
    pairs = [("a", "b"), ("c", "d")]
    errors = []
    for worth in (0.5, 5.0, 50.0):
        design = mdrr.plan(domain, n=10_000, epsilon=1.0, worth=worth).design
        errors.append([predict(design, 10_000, tables).error for tables in (singles, pairs)])
    alone, together = np.array(errors).T
    assert (np.diff(alone) < 0).all()
    assert (np.diff(together) > 0).all()
