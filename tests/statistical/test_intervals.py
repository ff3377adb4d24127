"""Intervals hold the truth as often as they say: for the people asked, and for their population.

An interval is right when it holds the true count. Each case simulates 600 collections; the
share of right intervals may stray z(1e-5) standard errors from the level, plus .01 since the theory
is first-order. Intervals that are half as wide must be seen to fail: that is the test's power.
"""

import numpy as np
import pytest

from mdrr.estimation import estimate
from mdrr.protocols import clustered, independent, joint, sampled
from mdrr.query import Query
from tests.cases import domain_of
from tests.people import distribution, records, reported, share
from tests.statistical.coverage import coverage_band

D = domain_of(2, 3)
TRIALS, PEOPLE, LEVEL = 600, 2000, 0.9
DEPENDENT = distribution(D, 21, concentration=4.0)
INDEPENDENT = np.outer(DEPENDENT.sum(axis=1), DEPENDENT.sum(axis=0))
ONE, SET = {"a": ["a0"]}, {("a", "b"): [("a0", "b1"), ("a1", "b2")]}

CASES = {
    "one cluster, one attribute": (joint(domain_of(3), p=0.4), None, {"a": ["a1"]}, "product"),
    "joint, a set of cells": (joint(D, p=0.5), DEPENDENT, SET, "product"),
    "two clusters, independent truth": (independent(D, p=0.5), INDEPENDENT, SET, "product"),
    "two clusters, one attribute": (independent(D, p=0.5), DEPENDENT, ONE, "product"),
    "sampled": (sampled(D, 1, epsilon=2.0), DEPENDENT, ONE, "product"),
    "clusters of a larger domain": (
        clustered(domain_of(2, 2, 3), [["a", "c"], ["b"]], p=0.5),
        None,
        {("a", "c"): [("a0", "c0"), ("a1", "c2")]},
        "product",
    ),
    "adjusted": (joint(D, p=0.5), DEPENDENT, SET, "adjust"),
    "pairwise, two clusters": (independent(D, p=0.5), DEPENDENT, SET, "pairwise"),
    "pairwise, sampled": (sampled(domain_of(2, 3, 2), 2, epsilon=3.0), None, SET, "pairwise"),
}


def intervals(name, of):
    """(low, high, truth) of every collection, as shares."""
    design, truth, where, method = CASES[name]
    truth = distribution(design.domain, 3, concentration=4.0) if truth is None else truth
    query = Query.of(where, design.domain)
    mask = query.mask(design.domain.names)
    fixed = records(truth, PEOPLE, 1)
    rows = []
    for trial in range(TRIALS):
        codes = fixed if of == "people" else records(truth, PEOPLE, 100 + trial)
        found = estimate(reported(codes, design, f"{name} {trial}"), design, method)
        count = found.count(query, level=LEVEL, of=of)
        held = share(codes, mask) if of == "people" else float(truth[mask].sum())
        rows.append((count.low / PEOPLE, count.high / PEOPLE, held))
    return np.array(rows).T


BOTH = [(of, name) for of in ("people", "population") for name in CASES]
BOTH.remove(("people", "pairwise, sampled"))  # slow; `test_coverage` has that


@pytest.mark.parametrize(("of", "name"), BOTH)
def test_intervals_hold_the_truth_as_often_as_they_say(name, of):
    low, high, truth = intervals(name, of)
    covered = float(((low <= truth) & (truth <= high)).mean())
    least, most = coverage_band(LEVEL, TRIALS, slack=0.01)
    assert least < covered < most
    middle, reach = (low + high) / 2, (high - low) / 4
    half = float((np.abs(truth - middle) <= reach).mean())
    assert half < least, "intervals half as wide must be seen to fail"
