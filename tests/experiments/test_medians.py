import numpy as np
import pytest
from experiments.medians import (
    BEYOND,
    FEWEST,
    Number,
    alike,
    all_of,
    any_of,
    below,
    gather,
    known,
    mean,
    median,
    most_of,
    spread,
)


def test_bands_hold_the_true_median():
    """2,000 experiments of 101 runs: 99 % bands miss at most as often as the binomial allows."""
    rng = np.random.default_rng(1)
    found = [median(rng.exponential(size=101)) for _ in range(2000)]
    missed = sum(not m.low <= np.log(2) <= m.high for m in found)
    assert missed <= 42  # 20 expected; P(more) < 1e-5
    errors = np.std([m.value for m in found])
    assert np.mean([m.number.deviation for m in found]) == pytest.approx(errors, rel=0.15)


def test_a_second_median_lies_in_the_wider_band():
    rng = np.random.default_rng(2)
    hits = [
        median(rng.exponential(size=400)).agrees(float(np.median(rng.exponential(size=1000))))
        for _ in range(1000)
    ]
    assert sum(hits) >= 970  # 990 expected


def test_runs_of_the_same_query_are_compared_with_each_other():
    """A small difference under a large common noise: the pairs tell it, the bands do not."""
    rng = np.random.default_rng(3)
    query = rng.lognormal(sigma=1.5, size=1000)
    first = median(query * rng.lognormal(sigma=0.03, size=1000))
    second = median(1.1 * query * rng.lognormal(sigma=0.03, size=1000))
    other = median(1.1 * rng.lognormal(sigma=1.5, size=1000))
    assert second.low < first.value < second.high
    assert below(first.number, second.number) is True
    assert below(first.number, other.number) is None


def test_the_interval_of_a_paired_difference_covers():
    """1,000 pairs with the same true median: 99.9 % intervals of the difference hold 0."""
    rng = np.random.default_rng(4)
    wrong = 0
    for _ in range(1000):
        query = rng.lognormal(size=200)
        pair = [median(query * rng.lognormal(sigma=0.3, size=200)).number for _ in range(2)]
        wrong += below(*pair) is not None
    assert wrong <= 8  # 1 expected; P(more) < 1e-5


def test_numbers_add_up():
    a, b = Number(2.0, np.array([0.1, 0.0])), Number(4.0, np.array([0.1, 0.2]))
    assert (b - a).value == 2
    assert (b - a).deviation == pytest.approx(0.2)
    assert mean([a, b]).deviation == pytest.approx(np.hypot(0.1, 0.1))
    assert b.log().deviation == pytest.approx(np.hypot(0.1, 0.2) / 4)
    apart = Number(4.0, np.array([0.3, 0.0, 0.0]))  # other runs: independent
    assert (apart - b).deviation == pytest.approx(np.sqrt(0.09 + 0.01 + 0.04))


def test_intervals_decide_and_not_numbers():
    noise = np.array([0.01])
    for value, said in ((0.75, True), (0.78, None), (0.82, None), (0.85, False)):
        assert below(Number(value, noise), known(1.0), 0.8) is said
    assert below(known(0.2), known(0.2)) is False  # equal, and known to be
    assert alike(Number(1.0, noise), known(1.05), 0.1) is True
    assert alike(Number(1.0, noise), known(1.2), 0.1) is False
    assert alike(Number(1.0, noise), known(1.1), 0.1) is None
    assert pytest.approx(3.2905, abs=1e-4) == BEYOND


def test_truths_join():
    assert (all_of([True, None]), all_of([None, False]), all_of([])) == (None, False, True)
    assert (any_of([True, None]), any_of([None, False]), any_of([])) == (True, None, False)
    assert most_of([True, True, None]) is True
    assert most_of([True, False, None]) is None
    assert most_of([False, False, None, True]) is False


def test_too_few_runs_decide_nothing():
    for runs, told in ((FEWEST - 1, None), (FEWEST, True)):
        one, two = (median(np.linspace(v, v + 0.01, runs)).number for v in (0.1, 0.2))
        assert below(one, two) is told
        assert below(one, one) in (None, False)


def test_one_data_set_s_band_is_that_of_its_medians():
    found = spread(np.linspace(0, 1, 1001))
    assert (found.near, found.far) == pytest.approx((0.005, 0.995))
    assert found.agrees(0.99)
    assert not median(np.linspace(0, 1, 1001)).agrees(0.6)


def test_jobs_are_put_together_in_order():
    jobs = [("table", "each", "repeated", 6, 0.3, start, start + 2, 1) for start in (2, 0)]
    results = {job: {"errors": {"50": [float(job[5]), job[5] + 1.0]}} for job in jobs}
    results["learnt", "pairs", "as stated", 1, 0.3, 0, 1, 1] = {
        "errors": {"100 0.2": [0.5], "100 0.2 clusters": [7.0]}
    }
    results["figure2", "corrected", "as stated", 1, 0.7, 0, 1, 1] = {
        "errors": {"0.1 RR-Independent absolute": [3.0]}
    }
    found = gather(results, 4, 1)
    assert found.fresh["each", "repeated", 6][0.3, 50].value == 1.5
    assert list(np.sign(found.series["table|each|repeated|6|0.3|50"].number.moves)) == [
        -1,
        -1,
        1,
        1,
    ]
    assert found.learnt["pairs", 1][0.3, 100, 0.2].value == 0.5
    assert found.clusters["pairs", 1] == {(0.3, 100, 0.2): 7.0}
    assert found.figure2[0.1, "RR-Independent", "absolute"].value == 3
