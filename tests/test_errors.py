"""What is not a number, a domain or a tally is refused in words, wherever it is handed in."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import mdrr
from mdrr.errors import MdrrError, is_number
from mdrr.matrix import banded_matrix, constant_matrix, subset_matrix

DOMAIN = mdrr.Domain((mdrr.Attribute("a", ("x", "y")), mdrr.Attribute("b", ("u", "v", "w"))))
DESIGN = mdrr.independent(DOMAIN, p=0.5)


@pytest.mark.parametrize(
    "value", [1, 0.5, Fraction(1, 3), np.float32(2), np.int64(3), np.float16(0.5), True]
)
def test_numbers_of_any_kind_are_numbers(value):
    assert is_number(value)


@pytest.mark.parametrize(
    "value",
    [
        "1",
        None,
        [1.0],
        np.ones(2),
        1j,
        float("inf"),
        float("nan"),
        Decimal("NaN"),
        10**400,
        Fraction(10**400),
    ],
)
def test_other_values_are_not(value):
    assert not is_number(value)


@pytest.mark.parametrize("value", ["0.5", [0.5], None, np.array([0.5, 0.5])])
@pytest.mark.parametrize(
    "use",
    [
        lambda value: mdrr.independent(DOMAIN, p=value),
        lambda value: mdrr.independent(DOMAIN, epsilon=value),
        lambda value: mdrr.joint(DOMAIN, epsilon=value),
        lambda value: mdrr.sampled(DOMAIN, 1, epsilon=value),
        lambda value: constant_matrix(3, p=value),
        lambda value: constant_matrix(3, epsilon=value),
        lambda value: banded_matrix(3, epsilon=value),
        lambda value: subset_matrix(3, epsilon=value),
        lambda value: mdrr.plan(DOMAIN, n=value, epsilon=1.0),
        lambda value: mdrr.plan(DOMAIN, n=100, epsilon=value),
        lambda value: mdrr.plan(DOMAIN, n=100, epsilon=1.0, coverage=value),
        lambda value: mdrr.plan(DOMAIN, n=100, epsilon=1.0, worth=value),
    ],
)
def test_what_is_no_number_is_refused_in_words(use, value):
    with pytest.raises(MdrrError):
        use(value)


def test_arguments_of_the_wrong_kind_are_named():
    with pytest.raises(MdrrError, match=r"made for an mdrr\.Domain, not a dict"):
        mdrr.plan({"a": ["x", "y"]}, n=100, epsilon=1.0)
    with pytest.raises(MdrrError, match=r"dependences are an mdrr\.Dependences, not a ndarray"):
        mdrr.plan(DOMAIN, n=100, epsilon=1.0, dependences=np.eye(2))
    design = mdrr.independent(DOMAIN, p=0.5)
    with pytest.raises(MdrrError, match="made of a Tally, not a NoneType"):
        mdrr.estimate(None, design)
    with pytest.raises(MdrrError, match="the people come first"):
        mdrr.randomize(design, None)


TALLY = mdrr.tally(
    mdrr.randomize(pl.DataFrame({"a": ["x", "y"] * 20, "b": ["u", "v"] * 20}), DESIGN), DESIGN
)


@pytest.mark.parametrize(
    ("use", "complaint"),
    [
        (lambda e: mdrr.estimate(TALLY, DESIGN, classes="3"), "classes='3' must be a whole"),
        (lambda e: mdrr.estimate(TALLY, DESIGN, classes=2.5), "classes=2.5 must be a whole"),
        (lambda e: mdrr.estimate(TALLY, DESIGN, seed=-1), "seed=-1 must be a whole number"),
        (lambda e: mdrr.estimate(TALLY, DESIGN, "latent", prior="x"), "prior='x' must be a num"),
        (lambda e: mdrr.estimate(TALLY, DESIGN, "correspondence", axes=None), "axes=None must"),
        (lambda e: e.sample("3"), "n='3' must be a whole number"),
        (lambda e: e.sample(3, seed=-1), "seed=-1 must be a whole number, at least 0"),
        (lambda e: e.count({"a": ["x"]}, level="0.9"), "level='0.9': a confidence level"),
        (lambda e: e.table("a", level=None), "level=None: a confidence level"),
        (lambda e: mdrr.clustered(DOMAIN, None, p=0.5), "not a NoneType"),
        (lambda e: mdrr.clustered(DOMAIN, [1], p=0.5), "a list of attributes, not a int"),
        (lambda e: mdrr.plan(DOMAIN, n=9, epsilon=1.0, workload=None), "workload=None: choose"),
        (
            lambda e: mdrr.randomize(pl.DataFrame({"a": ["x"], "b": ["u"]}), DESIGN, source=7),
            "source=7 gives no random bytes",
        ),
    ],
)
def test_options_of_the_wrong_kind_are_refused_in_words(use, complaint):
    found = mdrr.estimate(TALLY, DESIGN, "product")
    with pytest.raises(MdrrError) as error:
        use(found)
    assert complaint in str(error.value)


@pytest.mark.parametrize("two", [2.0, np.int64(2), np.float32(2), Fraction(2)])
def test_whole_numbers_of_any_kind_will_do(two):
    wanted = mdrr.estimate(TALLY, DESIGN, classes=2, seed=2).table("a", "b").values
    found = mdrr.estimate(TALLY, DESIGN, classes=two, seed=two)
    assert (found.table("a", "b").values == wanted).all()
    assert len(found.sample(two, seed=two)) == 2
    axes = mdrr.estimate(TALLY, DESIGN, "correspondence", axes=two, seed=two)
    assert (axes.table("a").values > 0).all()


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, Fraction])
@pytest.mark.parametrize("epsilon", [0.5, 2, 10, 16])
def test_no_kind_of_number_spends_more_than_asked(kind, epsilon):
    """Sums in the caller's precision would."""
    wide = mdrr.datasets.adult_domain()
    given = kind(epsilon)
    for domain, clusters in ((DOMAIN, [["a", "b"]]), (wide, [[name] for name in wide.names])):
        made = [
            mdrr.independent(domain, epsilon=given),
            mdrr.clustered(domain, clusters, epsilon=given),
            mdrr.sampled(domain, 1, epsilon=given),
            mdrr.sampled(domain, np.int64(2), epsilon=given, report="subset"),
            mdrr.plan(domain, n=np.int64(5000), epsilon=given, worth=Fraction(9, 2)).design,
        ]
        assert all(0 < design.epsilon <= epsilon for design in made)


@pytest.mark.parametrize("epsilon", [5e-324, 1e-300, 1e-16, Fraction(1, 10**400)])
def test_budgets_that_say_nothing_are_refused_in_words(epsilon):
    for use in (
        lambda: mdrr.independent(DOMAIN, epsilon=epsilon),
        lambda: mdrr.joint(DOMAIN, epsilon=epsilon),
        lambda: mdrr.sampled(DOMAIN, 1, epsilon=epsilon),
        lambda: mdrr.sampled(DOMAIN, 1, epsilon=epsilon, report="subset"),
        lambda: mdrr.plan(DOMAIN, n=100, epsilon=epsilon),
    ):
        with pytest.raises(MdrrError):
            use()


def test_designs_and_estimates_say_what_they_need():
    for protocol in (mdrr.independent, mdrr.joint):
        with pytest.raises(MdrrError, match=r"made for an mdrr\.Domain, not a NoneType"):
            protocol(None, epsilon=1.0)
    design = mdrr.independent(DOMAIN, p=0.5)
    tally = mdrr.tally(mdrr.randomize(pl.DataFrame({"a": ["x"], "b": ["u"]}), design), design)
    with pytest.raises(MdrrError, match=r"the design is an mdrr\.Design, not a str"):
        mdrr.estimate(tally, "design")
    with pytest.raises(MdrrError, match=r"'auto' has no option 'axes'\. Known: classes, seed"):
        mdrr.estimate(tally, design, "auto", axes=3)
    with pytest.raises(MdrrError, match="there is no method"):
        mdrr.estimate(tally, design, ["auto"])
