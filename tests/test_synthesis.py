"""Synthetic microdata: repeats that sum to n exactly, and draws."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdrr.errors import EstimateError
from mdrr.estimation import estimate
from mdrr.protocols import clustered, independent
from mdrr.synthesis import largest_remainder, synthesize
from tests.cases import domain_of
from tests.people import distribution, records, reported

D = domain_of(2, 3, 4)
DESIGN = clustered(D, [["a", "c"], ["b"]], p=0.6)
TALLY = reported(records(distribution(D, 1), 3000, 1), DESIGN, 1)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    weights=st.lists(st.floats(0, 1), min_size=1, max_size=60).filter(lambda w: sum(w) > 1e-3),
    n=st.integers(1, 10**7),
)
def test_repeats_sum_to_n_and_are_each_within_one(weights, n):
    probabilities = np.array(weights)
    repeats = largest_remainder(probabilities, n)
    exact = probabilities / probabilities.sum() * n
    assert repeats.sum() == n
    assert (repeats >= 0).all()
    assert (np.abs(repeats - exact) < 1 + 1e-6).all()
    assert (repeats[probabilities == 0] == 0).all()


def test_the_largest_remainders_get_what_is_left():
    np.testing.assert_array_equal(largest_remainder(np.array([0.46, 0.34, 0.2]), 10), [5, 3, 2])
    np.testing.assert_array_equal(largest_remainder(np.array([1.0, 1, 1]), 2), [1, 1, 0])
    np.testing.assert_array_equal(largest_remainder(np.array([0.7, 0.2, 0.1]), 1), [1, 0, 0])
    np.testing.assert_array_equal(largest_remainder(np.array([0.1] * 10), 10**6), [10**5] * 10)


@pytest.mark.parametrize("method", ["product", "adjust"])
@pytest.mark.parametrize("n", [1, 100, None, 50_000])
def test_repeated_records_have_the_estimates_frequencies(method, n):
    found = estimate(TALLY, DESIGN, method)
    frame = synthesize(found, n, how="repeat", backend="pandas")
    assert len(frame) == (n or 3000)
    whole = found.to_frame("pandas").set_index(["a", "b", "c"])["probability"]
    seen = frame.groupby(["a", "b", "c"]).size().reindex(whole.index, fill_value=0)
    assert seen.sum() == len(frame), "no record outside the support"
    assert (np.abs(seen - whole * len(frame)) < 1 + 1e-6).all()
    assert frame.equals(synthesize(found, n, how="repeat", backend="pandas"))


def test_records_keep_the_tables_however_many_combinations_there_are():
    """1,000 records of 656,100 combinations: repeating the likeliest would lose nearly all mass.

    The distance of a drawn table with k cells from its own law is on average at most
    Σ √(p/n·2/π)/2 ≤ √(k/(2πn)); three times that allows for chance.
    """
    domain = domain_of(9, 9, 9, 9, 10, 10)
    design = independent(domain, epsilon=12.0)
    found = estimate(reported(records(distribution(domain, 2), 1000, 2), design, 2), design)
    frame = synthesize(found, 1000, seed=5, backend="pandas")
    for first, second in combinations(domain.names, 2):
        table = found.table(first, second).to_frame("pandas").set_index([first, second])
        seen = frame.groupby([first, second]).size().reindex(table.index, fill_value=0) / 1000
        distance = np.abs(seen - table["probability"]).sum() / 2
        assert distance < 3 * np.sqrt(len(table) / (2 * np.pi * 1000))


def test_drawn_records_follow_the_seed():
    found = estimate(TALLY, DESIGN)
    once, again, other = (
        synthesize(found, 500, how="sample", seed=seed, backend="pandas") for seed in (1, 1, 2)
    )
    assert once.equals(again)
    assert not once.equals(other)
    assert len(once) == 500


@pytest.mark.parametrize(
    ("n", "how", "complaint"),
    [
        (0, "repeat", "n=0: make at least one record"),
        (-1, "sample", "n=-1"),
        (5, "invent", "how='invent': choose 'repeat' or 'sample'"),
    ],
)
def test_what_cannot_be_made_is_refused(n, how, complaint):
    with pytest.raises(EstimateError) as error:
        synthesize(estimate(TALLY, DESIGN), n, how=how)
    assert complaint in str(error.value)
