"""Nominal 95 % is 93 to 97 %: a short version of `benchmarks.coverage`, on a simulated law.

Coverage is a mean over randomizations; it may stray z(1e-5) of its standard errors beyond 93 and
97 %. Intervals of 50 % must be seen to fail: that is the test's power.
"""

import pytest
from benchmarks.coverage import Case, measure
from benchmarks.coverage_page import KINDS
from benchmarks.data import network

from benchmarks import coverage
from mdrr.protocols import clustered, independent, sampled
from tests.chance import z

ROUNDS = 40
PEOPLE = network(people=2000, seed=7)
NAMES = PEOPLE.domain.names
DESIGNS = {
    "independent": independent(PEOPLE.domain, epsilon=12.0),
    "clustered": clustered(PEOPLE.domain, [NAMES[:3], NAMES[3:5], NAMES[5:]], epsilon=9.0),
    "sampled": sampled(PEOPLE.domain, 3, epsilon=5.0),
}


def found(name, of):
    methods = {"pairwise": ROUNDS} | ({} if name == "sampled" else {"product": ROUNDS})
    for row in measure(Case(PEOPLE, name, DESIGNS[name], methods, (of,))):
        for kind in KINDS:
            if kind in row["kinds"] and row["kinds"][kind]["count"] >= 100:
                yield row["method"], kind, row["kinds"][kind]


@pytest.mark.parametrize("of", ["people", "population"])
@pytest.mark.parametrize("name", DESIGNS)
def test_unbiased_intervals_hold_the_truth_in_93_to_97_of_100_cases(name, of):
    seen = set()
    for method, kind, one in found(name, of):
        reach = z() * max(one["error"], (0.05 * 0.95 / one["count"]) ** 0.5)
        assert 0.93 - reach < one["held"] < 0.97 + reach, (method, kind)
        seen.add((method, kind))
    assert {("pairwise", kind) for kind in KINDS} <= seen


def test_intervals_that_are_too_narrow_are_seen(monkeypatch):
    monkeypatch.setattr(coverage, "LEVEL", 0.5)
    for method, kind, one in found("independent", "people"):
        if (method, kind) == ("pairwise", "sets"):
            assert one["held"] < 0.93 - z() * one["error"]
            return
    pytest.fail("nothing was measured")
