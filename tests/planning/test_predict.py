"""What predictions allow for: proper distributions, their margins, reports that name others too."""

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


def test_what_is_mostly_a_guess_is_called_so():
    """One person at ε = .01 tells nothing; ten thousand at ε = 8 nearly all."""
    domain = mdrr.Domain(tuple(mdrr.Attribute(name, tuple(range(50))) for name in "ab"))
    tables = [("a",), ("b",), ("a", "b")]
    for n, epsilon, low, high in ((1, 0.01, 0.99, 1.0), (10_000, 8.0, 0.0, 0.05)):
        design = mdrr.plan(domain, n=n, epsilon=epsilon).design
        assert low <= predict(design, n, tables).guess <= high


def test_a_wide_table_is_predicted_from_its_pairs_where_that_errs_less():
    """Margins spread over the rest, and pairs' departures likewise; the unbiased one drowns."""
    domain = mdrr.Domain(tuple(mdrr.Attribute(name, tuple("uvwxyz")) for name in "abc"))
    names = ("a", "b", "c")
    apart = mdrr.Dependences(names, np.eye(3))
    design = mdrr.sampled(domain, 1, epsilon=4.0)
    alone = [predict(design, 20_000, [(name,)]).error for name in names]
    told = predict(design, 20_000, [names], dependences=apart)
    assert not told.covered
    variance = {
        "one": alone[0] ** 2 / ((1 - 1 / 6) / (1 / 6) * 6 / 5),
        "all": told.error**2 / ((1 - 0.1) / 0.1 * 216 / 215),
    }
    assert variance["all"] == pytest.approx(3 * variance["one"] / 36, rel=1e-6)
    assert predict(design, 20_000, [names]).error == math.inf


def test_plans_for_wide_tables_do_what_they_predict():
    """Three attributes that one hidden class relates: within a factor 2 of `auto`, and best."""
    rng = np.random.default_rng(5)
    hidden = rng.integers(3, size=20_000)
    codes = [
        np.where(rng.random(20_000) < 0.4, hidden, rng.integers(5, size=20_000)) for _ in "abc"
    ]
    domain = mdrr.Domain(tuple(mdrr.Attribute(name, tuple(range(5))) for name in "abc"))
    found = mdrr.plan(domain, n=20_000, epsilon=2.0, workload=["abc"])
    truth = np.zeros((5, 5, 5))
    np.add.at(truth, tuple(codes), 1 / 20_000)
    reports = randomize_codes(codes, found.design, mdrr.SeededSource(3))
    estimate = mdrr.estimate(tally_codes(reports, found.design), found.design)
    square = float(((estimate.table("a", "b", "c").values - truth) ** 2).sum())
    error = relative_error(square, 125, 0.1)
    assert found.best.predicted.error / 2 < error < 2 * found.best.predicted.error


@pytest.mark.parametrize("epsilon", [33.0, 34.0, 50.0, 500.0])
def test_more_budget_never_makes_a_worse_plan(epsilon):
    """Beyond 48 random bits a report is as good as exact; it does not spend more."""
    domain = mdrr.Domain(tuple(mdrr.Attribute(name, tuple("uvw")) for name in "abc"))
    found = mdrr.plan(domain, n=1000, epsilon=epsilon)
    assert found.best.predicted.error < 1e-3
    assert found.design.epsilon <= epsilon
    alone = mdrr.plan(domain.project(["a"]), n=1000, epsilon=epsilon)
    assert alone.best.predicted.error < 1e-3


def test_the_more_singles_are_worth_the_better_they_do_without_end():
    domain = mdrr.Domain(tuple(mdrr.Attribute(name, tuple("uvwxyz")) for name in "abcd"))
    singles = [(name,) for name in "abcd"]
    errors = [
        predict(mdrr.plan(domain, n=9000, epsilon=1.0, worth=w).design, 9000, singles).error
        for w in (5.0, 1e3, 1e6)
    ]
    assert errors[0] > errors[1] >= errors[2] * (1 - 1e-6)


@pytest.mark.parametrize(
    "asked",
    [{"n": 1.5}, {"n": 0}, {"n": 10**400}, {"epsilon": 1e-17}, {"epsilon": 5e-324}, {"worth": 1e9}],
)
def test_numbers_out_of_reach_are_refused(asked):
    domain = mdrr.Domain(tuple(mdrr.Attribute(name, ("x", "y")) for name in "ab"))
    with pytest.raises(DesignError):
        mdrr.plan(domain, **({"n": 100, "epsilon": 1.0} | asked))


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
