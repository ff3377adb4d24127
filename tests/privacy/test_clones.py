"""Clones against sums over all that can happen, and crowds as worked out by hand."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdrr.errors import MdrrError
from mdrr.privacy import Clones
from mdrr.privacy import clones as module
from mdrr.privacy.clones import ROUNDING, Crowd, crowd_of


def chance_of(k, n, p):
    return math.comb(n, k) * p**k * (1 - p) ** (n - k)


def tail(n, k):
    """P(Binomial(n, ½) ≥ k), exact up to one rounding."""
    return sum(math.comb(n, i) for i in range(max(k, 0), n + 1)) / 2**n


def brute(clones, n, epsilon):
    """δ by its definition: every number of clones, of pointing reports, and of hers among them."""
    a, b = clones.high, clones.low
    total = 0.0
    for others in range(n):
        for pointing in range(others + 2):
            for mine in range(pointing + 1):
                size, rest = others + 1, others + 1 - pointing
                mass = (
                    chance_of(others, n - 1, clones.chance)
                    * chance_of(pointing, size, a + b)
                    * chance_of(mine, pointing, 0.5)
                )
                p = (2 * (a * mine + b * (pointing - mine)) / (a + b) + rest) / size
                q = (2 * (b * mine + a * (pointing - mine)) / (a + b) + rest) / size
                total += mass * max(p - math.exp(epsilon) * q, 0.0)
    return total


@pytest.mark.parametrize(
    ("chance", "high", "low"),
    [
        (0.0, 0.75, 0.25),
        (0.4, 0.75, 0.25),
        (1.0, 0.75, 0.25),
        (0.7, 0.3, 0.2),
        (1.0, 0.5, 0.25),
        (0.6, 0.5, 0.0),
        (0.5, 1.0, 0.0),
    ],
)
@pytest.mark.parametrize("n", [1, 2, 3, 8])
def test_delta_is_the_sum_over_all_that_can_happen(chance, high, low, n):
    clones = Clones(chance, high, low)
    for epsilon in (0.0, 0.05, 0.3, 1.0, 2.5):
        wanted = brute(clones, n, epsilon)
        assert wanted <= clones.delta(epsilon, n) <= wanted + 2 * ROUNDING * math.exp(epsilon)


@settings(max_examples=25)
@given(
    chance=st.floats(0.01, 1.0),
    low=st.floats(0.001, 0.3),
    gain=st.floats(0.01, 0.4),
    n=st.integers(1, 7),
    epsilon=st.floats(0.0, 3.0),
)
def test_delta_is_that_sum_for_any_clones(chance, low, gain, n, epsilon):
    clones = Clones(chance, low + gain, low)
    assert clones.delta(epsilon, n) == pytest.approx(brute(clones, n, epsilon), abs=1e-12)


def test_delta_is_no_more_than_one_where_rounding_hides_it():
    """Of e^-40 nothing is left in 1 − e^-40, so that the sum would be 0 from ε = 37 on."""
    low = 1 / (1 + math.exp(40.0))
    assert Clones(0.0, 1 - low, low).delta(30.0, 1) == pytest.approx(1.0, abs=0.2)
    assert Clones(0.0, 1 - low, low).delta(38.0, 1) == 1.0


def test_a_report_that_does_not_point_reveals_nothing():
    assert Clones(0.5, 0.4, 0.4).delta(0.0, 3) == 0.0
    assert Clones(0.5, 0.0, 0.0).delta(0.0, 3) == 0.0


def test_probabilities_may_exceed_one_together_by_rounding():
    found = Clones(0.5, 0.75 + 9e-13, 0.25).delta(0.3, 5)
    assert found == pytest.approx(brute(Clones(0.5, 0.75, 0.25), 5, 0.3), rel=1e-10)


def test_what_a_crowd_leaves_out_counts_in_full():
    crowd = crowd_of(Clones(1.0, 0.75, 0.25), 2, 0.0)
    less = Crowd(crowd.size, crowd.pointing, crowd.mass / 2, crowd.starts, 0.125)
    whole = Clones(1.0, 0.75, 0.25).delta_at(0.5, crowd)
    assert Clones(1.0, 0.75, 0.25).delta_at(0.5, less) == pytest.approx(whole / 2 + 0.125)


def test_tails_are_walked_from_each_start():
    """T counts up by one; k stays or grows by one, also where it is above T."""
    trials = np.array([3, 4, 5, 6, 7, 1, 2, 3, 0, 1, 2, 20], dtype=float)
    first = np.array([2, 2, 3, 3, 3, 2, 3, 3, 1, 1, 2, 11], dtype=float)
    found = module._half_tails(trials, first, np.array([0, 5, 8, 11]))
    wanted = [tail(int(t), int(k)) for t, k in zip(trials, first, strict=True)]
    assert found == pytest.approx(wanted, rel=1e-12, abs=1e-15)


def listed(crowd):
    """{(N, T): probability}"""
    pairs = zip(crowd.size.tolist(), crowd.pointing.tolist(), strict=True)
    found = dict(zip(pairs, crowd.mass.tolist(), strict=True))
    assert len(found) == len(crowd.mass)
    return found


@pytest.mark.parametrize("gamma", [0.5, 1.0])
def test_without_slack_a_crowd_has_every_pair(gamma, monkeypatch):
    for name in ("_EXACT", "_PAIRS", "_BUCKETS"):
        monkeypatch.setattr(module, name, 1)
    crowd = crowd_of(Clones(0.25, gamma - 0.125, 0.125), 4, 0.0)
    wanted = {
        (c + 1, t): chance_of(c, 3, 0.25) * chance_of(t, c + 1, gamma)
        for c in range(4)
        for t in (range(c + 2) if gamma < 1 else [c + 1])
    }
    assert listed(crowd) == pytest.approx(wanted)
    assert list(listed(crowd)) == sorted(wanted)
    assert crowd.starts.tolist() == ([0, 2, 5, 9] if gamma < 1 else [0, 1, 2, 3])
    assert crowd.left_out == 0.0


def test_all_others_are_clones_if_the_chance_is_one():
    crowd = crowd_of(Clones(1.0, 0.75, 0.25), 3, 0.0)
    assert listed(crowd) == {(3, 3): 1.0}
    assert crowd.left_out == 0.0


@pytest.mark.parametrize(
    ("step", "buckets", "pairs", "ends"),
    [
        # There are 0 to 9 clones. With 9 there are 10 reports, of which 0 to 10 point: 11 pairs.
        (1e-9, 2, 33, [0, 3, 6]),
        (1e-9, 2, 32, [0, 5]),
        (1e-9, 4, 33, [0, 2, 5, 7]),
        (1e-9, 2, 11 * 99, range(10)),
        # N goes from 1 to 10: of the ratio ln 10 a bucket has a third, or just less.
        (math.log(10) / 2.999, 9, 0, [0, 3, 6]),
        (math.log(10) / 3.001, 9, 0, [0, 2, 5, 7]),
    ],
)
def test_numbers_of_clones_are_grouped_and_each_bucket_counts_as_its_fewest(
    step, buckets, pairs, ends, monkeypatch
):
    for name, value in (("_EXACT", 8), ("_STEP", step), ("_BUCKETS", buckets), ("_PAIRS", pairs)):
        monkeypatch.setattr(module, name, value)
    crowd = crowd_of(Clones(0.5, 0.3, 0.2), 10, 1e-30)
    assert np.unique(crowd.size).tolist() == [end + 1 for end in ends]
    law = [chance_of(c, 9, 0.5) for c in range(10)]
    for end, after in zip(ends, [*ends[1:], 10], strict=True):
        mass = crowd.mass[crowd.size == end + 1].sum()
        assert mass == pytest.approx(sum(law[end:after]))


def test_a_bucket_is_as_wide_as_the_numbers_that_are_likely(monkeypatch):
    """Of 9 others 6 to 9 are clones, so that N goes from 7 to 10: P(6 or fewer) < 1/2000 < P(7)."""
    assert sum(chance_of(c, 9, 0.99) for c in range(7)) < 0.0005
    assert sum(chance_of(c, 9, 0.99) for c in range(8)) > 0.0005
    for name, value in (("_EXACT", 8), ("_BUCKETS", 9), ("_PAIRS", 0)):
        monkeypatch.setattr(module, name, value)
    for parts, sizes in ((1.999, [7, 9]), (2.001, [7, 8, 9])):
        monkeypatch.setattr(module, "_STEP", math.log(10 / 7) / parts)
        crowd = crowd_of(Clones(0.99, 0.3, 0.2), 10, 1e-3)
        assert np.unique(crowd.size).tolist() == sizes


def test_small_crowds_are_not_grouped(monkeypatch):
    monkeypatch.setattr(module, "_BUCKETS", 1)
    monkeypatch.setattr(module, "_PAIRS", 0)
    monkeypatch.setattr(module, "_EXACT", 9)
    assert len(np.unique(crowd_of(Clones(0.5, 0.3, 0.2), 10, 1e-30).size)) == 10
    assert len(np.unique(crowd_of(Clones(0.5, 0.3, 0.2), 11, 1e-30).size)) == 1


def quantile(size, chance, share):
    """The smallest k with P(Binomial ≤ k) ≥ share."""
    below = 0.0
    for k in range(size + 1):
        below += chance_of(k, size, chance)
        if below >= share:
            return k
    raise AssertionError


@pytest.mark.parametrize("chance", [0.0, 0.002, 0.2, 0.5, 0.9, 0.998])
@pytest.mark.parametrize("slack", [1e-3, 1e-6])
def test_unlikely_values_are_left_out_with_one_to_spare(chance, slack):
    size = 400
    values, masses, outside = module._binomial_body(size, chance, slack)
    low = max(quantile(size, chance, slack / 2) - 1, 0)
    high = size - max(quantile(size, 1 - chance, slack / 2) - 1, 0)
    assert values.tolist() == list(range(low, high + 1))
    assert values.dtype == np.float64
    assert masses == pytest.approx([chance_of(int(k), size, chance) for k in values], rel=1e-9)
    left = [chance_of(k, size, chance) for k in range(size + 1) if not low <= k <= high]
    assert outside == pytest.approx(sum(left), rel=1e-9)
    assert 0 <= outside <= slack


def test_of_few_no_value_is_left_out(monkeypatch):
    monkeypatch.setattr(module, "_EXACT", 50)
    assert len(module._binomial_body(50, 0.5, 0.01)[0]) == 51
    assert len(module._binomial_body(51, 0.5, 0.01)[0]) < 40
    assert len(module._binomial_body(51, 0.5, 0.0)[0]) == 52


def test_what_a_crowd_leaves_out_is_of_clones_and_of_pointing_reports():
    crowd = crowd_of(Clones(0.3, 0.3, 0.1), 1200, 1e-3)
    assert crowd.mass.sum() + crowd.left_out == pytest.approx(1.0, abs=1e-12)
    clones_alone = module._binomial_body(1199, 0.3, 1e-3)[2]
    assert clones_alone < crowd.left_out < 2e-3


@pytest.mark.parametrize(
    "fields",
    [
        (0.0, 0.5, 0.5),
        (1.0, 1.0, 0.0),
        (0.5, 0.0, 0.0),
        (0.5, 1 + 1e-12 - 0.5, 0.5),
    ],
)
def test_every_probability_is_accepted(fields):
    found = Clones(*fields)
    assert (found.chance, found.high, found.low) == fields


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ((-0.01, 0.5, 0.5), "chance=-0.01 is not a probability"),
        ((1.01, 0.5, 0.5), "chance=1.01 is not a probability"),
        ((math.nan, 0.5, 0.5), "chance=nan is not a probability"),
        ((0.5, 0.5, -0.01), "low ≤ high"),
        ((0.5, 0.4, 0.41), "low ≤ high"),
        ((0.5, 1 + 5e-13, 0.0), "low ≤ high"),
        ((0.5, 0.5 + 2e-12, 0.5), "low ≤ high"),
        ((0.5, math.nan, 0.5), "low ≤ high"),
    ],
)
def test_what_is_no_probability_is_refused(fields, words):
    with pytest.raises(MdrrError, match=words):
        Clones(*fields)
