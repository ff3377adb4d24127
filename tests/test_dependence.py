"""Dependence: against scipy, attenuated and debiased, on simulated people and on Adult."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats.contingency import association

from mdrr.dependence import (
    Dependences,
    cramers_v,
    debiased,
    dependences,
    from_codes,
    from_tables,
    measured,
    pearson,
)
from mdrr.domain import Attribute, Domain
from mdrr.errors import EstimateError, SchemaError
from mdrr.estimation.pairs import PairTable
from mdrr.protocols import clustered, independent, sampled
from tests.cases import domain_of
from tests.people import records, reported


@settings(max_examples=100, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), rows=st.integers(2, 6), columns=st.integers(2, 6))
def test_cramers_v_is_scipys(seed, rows, columns):
    table = np.random.default_rng(seed).integers(1, 40, size=(rows, columns))
    assert cramers_v(table) == pytest.approx(association(table, method="cramer"), abs=1e-12)
    assert cramers_v(table.T) == pytest.approx(cramers_v(table), abs=1e-12)
    assert cramers_v(table / table.sum()) == pytest.approx(cramers_v(table), abs=1e-12)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6))
def test_pearson_is_that_of_the_records(seed):
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 9, size=(3, 4))
    table[0, 0] += 1
    x, y = np.array([1.0, 2.5, 7.0]), np.array([-1.0, 0.0, 3.0, 10.0])
    rows, columns = (np.repeat(axis.ravel(), table.ravel()) for axis in np.indices(table.shape))
    if np.ptp(rows) == 0 or np.ptp(columns) == 0:
        assert pearson(table, x, y) == 0
    else:
        wanted = abs(np.corrcoef(x[rows], y[columns])[0, 1])
        assert pearson(table, x, y) == pytest.approx(wanted, abs=1e-10)


def test_an_empty_category_changes_no_sum():
    assert cramers_v([[10, 0, 5], [0, 0, 8]]) == pytest.approx(cramers_v([[10, 5], [0, 8]]))
    assert cramers_v([[10, 0], [5, 0]]) == 0


def test_the_measure_depends_on_the_kinds():
    table = [[30, 5, 1], [2, 10, 20], [9, 9, 9]]
    ordinal = Attribute("o", ("x", "y", "z"), kind="ordinal")
    numeric = Attribute("n", kind="numeric", edges=(0, 1, 5, 100))
    nominal = Attribute("m", ("x", "y", "z"))
    absent = Attribute("a", ("x", "y", "z"), kind="ordinal", missing="z")
    r = pearson(table, (0, 1, 2), (0.5, 3, 52.5))
    assert measured(table, ordinal, numeric) == pytest.approx(r)
    for first, second in ((ordinal, nominal), (nominal, nominal), (absent, numeric)):
        assert measured(table, first, second) == cramers_v(table)
    assert r != pytest.approx(cramers_v(table), abs=1e-3)


def chain(strength: float) -> np.ndarray:
    """a → b → c: each copies its neighbour with the given probability, else uniform."""
    step = strength * np.eye(3) + (1 - strength) / 3
    return np.einsum("a,ab,bc->abc", np.array([0.5, 0.3, 0.2]), step, step)


CHAIN = domain_of(3, 3, 3)
TRUE = from_tables(
    {("a", "b"): chain(0.6).sum(2), ("a", "c"): chain(0.6).sum(1), ("b", "c"): chain(0.6).sum(0)},
    CHAIN,
)


@pytest.mark.parametrize(
    "design",
    [
        independent(CHAIN, p=0.5),
        clustered(CHAIN, [["a", "c"], ["b"]], p=0.5),
        sampled(CHAIN, 2, epsilon=3.0),
    ],
)
def test_debiased_dependences_are_the_true_ones_and_attenuated_ones_are_not(design):
    """200,000 people. V's error is about the noise of a cell over its expected share: below .03."""
    tally = reported(records(chain(0.6), 200_000, 2), design, 2)
    found = dependences(tally, design)
    np.testing.assert_allclose(found.values, TRUE.values, atol=0.03)
    for margin, wanted in zip(found.margins, TRUE.margins, strict=True):
        np.testing.assert_allclose(margin, wanted, atol=0.03)
    shrunk = dependences(tally, design, debiased=False)
    assert shrunk.margins is None
    assert shrunk["a", "b"] < 0.75 * TRUE["a", "b"]
    assert shrunk["b", "c"] < found["b", "c"]


def test_noise_alone_is_not_taken_for_dependence():
    """Independent attributes under strong noise: the debiased V is near 0, the naive one is not."""
    domain = domain_of(5, 6)
    design = independent(domain, p=0.2)
    values = []
    for trial in range(30):
        truth = np.full((5, 6), 1 / 30)
        tally = reported(records(truth, 2000, trial), design, trial)
        values.append(dependences(tally, design)["a", "b"])
    assert np.median(values) < 0.1


def test_ordered_attributes_are_correlated_through_the_noise():
    domain = Domain(
        (Attribute("x", (1, 2, 3), kind="ordinal"), Attribute("y", (1, 2, 3), kind="ordinal"))
    )
    design = independent(domain, p=0.4)
    truth = chain(0.6).sum(axis=2)
    tally = reported(records(truth, 300_000, 3), design, 3)
    wanted = pearson(truth, (0, 1, 2), (0, 1, 2))
    assert dependences(tally, design)["x", "y"] == pytest.approx(wanted, abs=0.03)
    attenuated = dependences(tally, design, debiased=False)["x", "y"]
    assert attenuated == pytest.approx(wanted * 0.4**2, rel=0.35)


def test_a_debiased_value_stays_between_0_and_1():
    wild = PairTable(("a", "b"), np.array([[1.2, -0.4], [-0.3, 0.5]]), np.full((2, 2), 1e-9), 10)
    two = domain_of(2, 2).attributes
    assert debiased(wild, *two) == 1.0
    noise = PairTable(("a", "b"), np.array([[0.26, 0.24], [0.24, 0.26]]), np.full((2, 2), 0.01), 10)
    assert debiased(noise, *two) == 0.0


def test_tables_may_come_in_either_order():
    table = np.array([[5, 1, 0], [1, 7, 2]])
    domain = domain_of(2, 3)
    assert from_tables({("b", "a"): table.T}, domain)["a", "b"] == pytest.approx(cramers_v(table))


def test_codes_give_the_tables_dependences():
    codes = records(chain(0.6), 3000, 9)
    found = from_codes(codes, CHAIN)
    table = np.zeros((3, 3))
    np.add.at(table, (codes[0], codes[2]), 1)
    assert found["c", "a"] == found["a", "c"] == pytest.approx(cramers_v(table))
    np.testing.assert_array_equal(np.diag(found.values), 1)


def test_tables_give_the_margins_too():
    extra = {("a", "b"): np.eye(2), ("a", "z"): np.eye(5), ("b", "a"): -np.eye(3)}
    found = from_tables(extra, domain_of(2, 2))
    np.testing.assert_allclose(found.margins[0], [0.5, 0.5])
    np.testing.assert_allclose(TRUE.margins[0], [0.5, 0.3, 0.2])
    codes = records(chain(0.6), 3000, 9)
    for margin, column in zip(from_codes(codes, CHAIN).margins, codes, strict=True):
        np.testing.assert_allclose(margin, np.bincount(column, minlength=3) / 3000)


def test_pairs_are_ranked_and_framed():
    values = np.array([[1, 0.2, 0.5], [0.2, 1, 0.5], [0.5, 0.5, 1]])
    found = Dependences(("a", "b", "c"), values)
    assert found.ranked() == [("a", "c", 0.5), ("b", "c", 0.5), ("a", "b", 0.2)]
    frame = found.to_frame("pandas")
    assert frame["dependence"].tolist() == [0.5, 0.5, 0.2]
    assert frame["first"].tolist() == ["a", "b", "a"]


@pytest.mark.parametrize(
    ("call", "kind", "complaint"),
    [
        (lambda: Dependences(("a", "b"), np.eye(3)), SchemaError, "as many rows and columns"),
        (lambda: Dependences(("a", "b"), [[1, -0.1], [-0.1, 1]]), SchemaError, "between 0 and 1"),
        (lambda: Dependences(("a", "b"), [[1, 1.1], [1.1, 1]]), SchemaError, "between 0 and 1"),
        (lambda: Dependences(("a", "b"), [[1, np.nan], [np.nan, 1]]), SchemaError, "between 0"),
        (lambda: Dependences(("a", "b"), [[1, 0.1], [0.2, 1]]), SchemaError, "symmetric"),
        (
            lambda: Dependences(("a", "b"), np.eye(2), ([1.0],)),
            SchemaError,
            "as many margins",
        ),
        (
            lambda: Dependences(("a", "b"), np.eye(2), ([0.5, 0.6], [1.0])),
            SchemaError,
            "the margin of 'a' is not a list of shares that sum to 1",
        ),
        (lambda: Dependences(("a", "b"), np.eye(2), 5), SchemaError, "as many margins"),
        (lambda: Dependences(("a", "b"), np.eye(2), (["x"], [1])), SchemaError, "margin of 'a'"),
        (lambda: Dependences(("a", "b"), [["x", 1], [1, 1]]), SchemaError, "are numbers"),
        (
            lambda: Dependences(("a", "b"), np.eye(2), ([0.5, 0.5], [1.5, -0.5])),
            SchemaError,
            "the margin of 'b' is not",
        ),
        (lambda: TRUE["a", "z"], SchemaError, "no dependence is known between 'a' and 'z'"),
        (lambda: cramers_v([[1, 2]]), SchemaError, "2 rows and 2 columns, not shape (1, 2)"),
        (lambda: cramers_v([[0, 0], [0, 0]]), SchemaError, "not all zero"),
        (lambda: cramers_v([[1, -1], [2, 2]]), SchemaError, "not negative"),
        (lambda: cramers_v([[1, np.nan], [2, 2]]), SchemaError, "finite"),
        (lambda: from_tables({}, CHAIN), SchemaError, "no table of 'a' and 'b'"),
        (
            lambda: from_tables({("a", "b"): np.ones((2, 2))}, domain_of(2, 3)),
            SchemaError,
            "has shape (2, 2), not (2, 3)",
        ),
        (lambda: from_codes([np.array([0, 1])], domain_of(2)), EstimateError, "two attributes"),
    ],
)
def test_what_is_no_dependence_is_refused(call, kind, complaint):
    with pytest.raises(kind) as error:
        call()
    assert complaint in str(error.value)
