"""Standard errors of the product: gradients by differences, variances by simulation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdrr.estimation.joint import Factor, ProductJoint
from mdrr.estimation.product import product
from mdrr.estimation.variance import gradient
from mdrr.protocols import clustered, independent, joint, sampled
from mdrr.query import Query
from mdrr.tallies import tally_codes
from tests.cases import domain_of
from tests.people import distribution, records, reported
from tests.statistical.coverage import relative_tolerance

D = domain_of(2, 3, 2)
QUERIES = [
    {"a": ["a1"]},
    {"a": ["a1"], "b": ["b0", "b2"]},
    {("a", "b"): [("a0", "b1"), ("a1", "b2")]},
    {("b", "c"): [("b0", "c1")], "a": ["a0"]},
    "a == 'a0' or (b == 'b1' and c == 'c0')",
    {},
]


def factors_of(seed, groups):
    rng = np.random.default_rng(seed)
    return tuple(
        Factor(names, rng.dirichlet(np.ones(D.project(names).size)).reshape(D.project(names).shape))
        for names in groups
    )


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 1000),
    groups=st.sampled_from(
        [
            (("a",), ("b",), ("c",)),
            (("c", "a"), ("b",)),
            (("a",), ("b", "c")),
            (("a", "b", "c"),),
        ]
    ),
    where=st.sampled_from(QUERIES),
)
def test_the_gradient_is_the_difference_each_cell_makes(seed, groups, where):
    """The mass is multilinear, so a step of 1 in one cell gives its derivative exactly."""
    made = ProductJoint(D, factors_of(seed, groups))
    query = Query.of(where, D)
    slopes = gradient(query, made)
    base = made.mass(query)
    for i, factor in enumerate(made.factors):
        for cell in np.ndindex(factor.values.shape):
            stepped = factor.values.copy()
            stepped[cell] += 1
            others = list(made.factors)
            others[i] = Factor(factor.names, stepped)
            difference = ProductJoint(D, tuple(others)).mass(query) - base
            slope = 0.0 if slopes[i] is None else float(slopes[i][cell])
            assert slope == pytest.approx(difference, abs=1e-12)


CASES = {
    "independent": independent(D, p=0.4),
    "clusters with unlike ε": clustered(D, [["a", "b"], ["c"]], p=0.6),
    "joint": joint(D, p=0.5),
    "sampled": sampled(D, 2, epsilon=3.0),
}
TRIALS = 400
BOTH = ("sampled", "people")  # over several attributes the same interval as the population's


@pytest.mark.parametrize(
    ("name", "of"),
    [(name, of) for name in CASES for of in ("people", "population") if (name, of) != BOTH],
)
def test_stated_errors_are_the_spread_that_is_seen(name, of):
    """400 simulated collections of 1,000 people; the stated variance against the one observed.

    People stay the same (`people`) or are drawn anew (`population`). With several questionnaires
    both intervals over several attributes are the population's, so only that one is compared.
    """
    design = CASES[name]
    truth = distribution(D, 11, concentration=3.0)
    queries = [Query.of(where, D) for where in QUERIES[:5]]
    seen, stated = [], []
    for trial in range(TRIALS):
        codes = records(truth, 1000, 0 if of == "people" else trial)
        found = product(reported(codes, design, f"{of} {trial}"), design)
        deviations = [found.spread.deviation(query, of) for query in queries]
        seen.append([d.centre for d in deviations])
        stated.append([d.error**2 for d in deviations])
    observed, mean = np.var(seen, axis=0, ddof=1), np.mean(stated, axis=0)
    assert (np.abs(observed / mean - 1) < relative_tolerance(TRIALS)).all()


def test_the_peoples_interval_is_shorter_than_the_populations():
    design = independent(D, p=0.7)
    tally = reported(records(distribution(D, 3), 2000, 1), design, 1)
    found = product(tally, design)
    for where in QUERIES[:5]:
        query = Query.of(where, D)
        people, population = (found.spread.deviation(query, of) for of in ("people", "population"))
        assert people.centre == population.centre
        assert people.error < population.error


def test_questionnaires_with_one_person_each_still_vary():
    """Their spread is about what all questionnaires say together, so it does not vanish."""
    design = sampled(D, 2, epsilon=2.0)
    codes = [[np.array([q])] for q in (0, 1, 2)]
    tally = tally_codes(codes, design)
    assert [group.n for group in tally.groups] == [1, 1, 1]
    for name in "abc":
        query = Query.of({name: [f"{name}0"]}, D)
        assert product(tally, design).spread.deviation(query, "population").error > 0.3


def test_one_person_alone_still_varies():
    design = independent(D, p=0.5)
    tally = tally_codes([[np.array([0]), np.array([1]), np.array([1])]], design)
    for of in ("people", "population"):
        deviation = product(tally, design).spread.deviation(Query.of({"a": ["a0"]}, D), of)
        assert deviation.error == pytest.approx(0.866, abs=1e-3)  # √(f² − f), f = 1.5


def test_everybody_is_counted_without_doubt():
    design = independent(D, p=0.4)
    found = product(reported(records(distribution(D, 3), 500, 1), design, 1), design)
    count = found.count({})
    assert (count.low, count.value, count.high) == (500, 500, 500)
