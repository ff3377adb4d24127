"""What predictions allow for: proper distributions, and reports that name other attributes too."""

import math

import numpy as np
import pytest

import mdrr
from mdrr.errors import DesignError
from mdrr.planning.predict import predict, relative_error
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
