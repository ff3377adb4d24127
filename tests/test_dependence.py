"""Dependence: against scipy, attenuated and debiased, on simulated people and on Adult."""

import json
import math
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from scipy.stats.contingency import association

from mdrr.datasets import adult, adult_domain
from mdrr.dependence import Dependences, dependences, from_codes, from_tables
from mdrr.dependence.association import cramers_v, debiased, measured, pearson
from mdrr.dependence.noise import Chance, NoisyTable, noisy_pair
from mdrr.design import Cluster, Design, Questionnaire
from mdrr.domain import Attribute, Domain
from mdrr.errors import EstimateError, SchemaError
from mdrr.estimation.unbiased import unbiased
from mdrr.frames import encode
from mdrr.matrix import Dense, banded_matrix, constant_matrix
from mdrr.protocols import clustered, independent, sampled
from mdrr.randomizer import randomize_codes
from mdrr.source import SeededSource
from mdrr.tallies import tally_codes
from tests.cases import domain_of
from tests.chance import z
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


def known(values, variances):
    """An unbiased table with given variances."""
    return SimpleNamespace(values=values, variances=variances)


def moment_variance(tally, design, pair, x, y):
    """The variance of E[x(first)·y(second)] about the population, from every report's own score."""
    found = unbiased(tally, design, pair)
    total = 0.0
    for share, view in zip(found.shares, found.views, strict=True):
        scores = view.scores(np.outer(x, y))
        mean = (scores * view.reported).sum()
        total += share**2 / view.n * float((scores**2 * view.reported).sum() - mean**2)
    return total


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


def test_reports_as_they_stand_are_read_from_codes_of_more_attributes():
    """Through equal matrices, written out or not, the reports of three attributes are the same."""
    constant = constant_matrix(CHAIN.size, p=0.6)
    rows = (
        constant.off + (constant.diagonal - constant.off) * np.eye(CHAIN.size, dtype=int)
    ).tolist()
    for matrix in (constant, Dense(tuple(map(tuple, rows)))):
        design = Design(CHAIN, (Questionnaire((Cluster(CHAIN.names, matrix),)),))
        codes = np.random.default_rng(4).integers(CHAIN.size, size=900)
        found = dependences(tally_codes([[codes]], design), design, debiased=False)
        columns = np.unravel_index(codes, CHAIN.shape)
        np.testing.assert_allclose(found.values, from_codes(columns, CHAIN).values)


def test_reports_that_are_no_cells_are_read_debiased_only():
    matrix = banded_matrix(CHAIN.size, epsilon=1.0)
    design = Design(CHAIN, (Questionnaire((Cluster(CHAIN.names, matrix),)),))
    tally = tally_codes([[np.arange(matrix.outcomes)]], design)
    with pytest.raises(EstimateError, match="'a' and 'b' are not all cells; read them debiased"):
        dependences(tally, design, debiased=False)


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


@pytest.mark.parametrize("epsilon", [0.18, 1.0, 5.0])
def test_codes_that_nobody_reported_have_noise_all_the_same(epsilon):
    """A share of 0 comes back from the inverse as −1e-16 or so, which has no square root."""
    matrix = constant_matrix(21, epsilon=epsilon)
    for k in range(21):
        values = matrix.solve(np.eye(21)[k]).reshape(3, 7)
        table = NoisyTable.through(matrix, values, people=3)
        assert np.isfinite(table.noise).all()
        assert table.variances.min() >= 0


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
    wild = known(np.array([[1.2, -0.4], [-0.3, 0.5]]), np.full((2, 2), 1e-9))
    two = domain_of(2, 2).attributes
    assert debiased(wild, *two) == 1.0
    noise = known(np.array([[0.26, 0.24], [0.24, 0.26]]), np.full((2, 2), 0.01))
    assert debiased(noise, *two) == 0.0


@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (4, 2)])
def test_a_debiased_v_is_the_sum_written_out(shape):
    """Unlike margins, unlike variances, one rare row: every index of the formula matters."""
    rng = np.random.default_rng(12)
    values = rng.dirichlet(np.full(math.prod(shape), 0.6)).reshape(shape)
    values[0] *= 0.1
    values /= values.sum()
    variances = rng.uniform(1e-6, 6e-4, size=shape)
    total, left_out = 0.0, 0
    for a in range(shape[0]):
        for b in range(shape[1]):
            row, column = values[a, :].sum(), values[:, b].sum()
            if math.sqrt(2) * variances[a, b] > min(row, column) * row * column:
                left_out += 1
                continue
            total += ((values[a, b] - row * column) ** 2 - variances[a, b]) / (row * column)
    assert 0 < left_out < math.prod(shape)
    wanted = math.sqrt(total / (min(shape) - 1))
    found = debiased(known(values, variances), *domain_of(*shape).attributes)
    assert found == pytest.approx(wanted, rel=1e-9)


def scored(*sizes):
    """Ordinal attributes, and one with bins of unequal width."""
    made = [Attribute(f"o{i}", tuple(range(r)), kind="ordinal") for i, r in enumerate(sizes)]
    return Domain((*made, Attribute("n", kind="numeric", edges=(0, 1, 5, 100))))


def test_covariance_is_that_of_the_records():
    domain = scored(4)
    codes = records(np.random.default_rng(3).dirichlet(np.ones(12)).reshape(4, 3), 500, 1)
    numbers = [np.asarray(a.scores)[c] for a, c in zip(domain.attributes, codes, strict=True)]
    wanted = np.abs(np.cov(*numbers, bias=True))
    found = from_codes(codes, domain, measure="covariance")
    np.testing.assert_allclose(found.values, wanted, rtol=1e-9)
    assert found.measure == "covariance"
    assert found["o0", "n"] > 1  # not bounded by 1


@pytest.mark.parametrize("apart", [True, False])
def test_covariances_are_debiased_and_attenuated_as_proposition_1_says(apart):
    """Kept with probability p, else uniform: Cov(Y) = p_a·p_b·Cov(X) when randomized apart."""
    domain, n = scored(4), 60_000
    truth = np.random.default_rng(3).dirichlet(np.ones(12)).reshape(4, 3)
    design = independent(domain, p=0.6) if apart else clustered(domain, [["o0", "n"]], p=0.6)
    wanted = measured(truth, *domain.attributes, "covariance")
    tally = reported(records(truth, n, 5), design, 5)
    found = dependences(tally, design, measure="covariance")
    x, y = (np.asarray(a.scores) for a in domain.attributes)
    x, y = x - truth.sum(1) @ x, y - truth.sum(0) @ y
    sd = math.sqrt(moment_variance(tally, design, ("o0", "n"), x, y))
    assert 4 * sd < wanted
    assert abs(found["o0", "n"] - wanted) < z() * sd
    low, high = found.interval("o0", "n")
    assert low < wanted < high
    assert high - low == pytest.approx(2 * 1.96 * sd, rel=0.1)
    np.testing.assert_allclose(np.diag(found.values), [truth.sum(1) @ x**2, truth.sum(0) @ y**2],
                               rtol=0.1)  # fmt: skip
    if apart:
        kept = math.prod(cluster.matrix.signal for cluster in design.questionnaires[0].clusters)
        shrunk = dependences(tally, design, measure="covariance", debiased=False)["o0", "n"]
        assert abs(shrunk - kept * wanted) < z() * kept * sd


@pytest.mark.parametrize(
    "design",
    [
        independent(CHAIN, p=0.6),
        clustered(CHAIN, [["a", "c"], ["b"]], p=0.6),
        sampled(CHAIN, 2, epsilon=5.0),
        sampled(CHAIN, 2, epsilon=4.0, report="subset"),
    ],
)
def test_the_noise_of_a_table_is_the_variance_of_everything_in_it(design):
    """One kind of designs after another: of the cells, and of any weighted sum of them."""
    tally = reported(records(chain(0.6), 20_000, 2), design, 2)
    for pair in (("a", "c"), ("c", "b")):
        found, other = noisy_pair(tally, design, *pair), unbiased(tally, design, pair)
        np.testing.assert_allclose(found.values, other.values, atol=1e-12)
        np.testing.assert_allclose(found.variances, other.variances(population=True), rtol=0.02)
        x, y = np.array([0.0, 1, 5]), np.array([2.0, -1, 0.5])
        variance = moment_variance(tally, design, pair, x, y)
        assert found.variance(np.outer(x, y)) == pytest.approx(variance, rel=0.02)


def test_the_noise_of_many_codes_is_sampled():
    """Its variance is a mean of 256 squares, so it strays by √(2/256) of itself."""
    domain = domain_of(40, 30)
    design = independent(domain, epsilon=6.0)
    truth = np.outer(np.full(40, 1 / 40), np.full(30, 1 / 30))
    tally = reported(records(truth, 5000, 2), design, 2)
    x, y = np.arange(40.0), np.arange(30.0)
    variance = moment_variance(tally, design, ("a", "b"), x, y)
    found = noisy_pair(tally, design, "a", "b").variance(np.outer(x, y))
    assert found == pytest.approx(variance, rel=z() * math.sqrt(2 / 256))
    assert not dependences(tally, design).is_clear("a", "b")


def misses_allowed(trials: int, rate: float) -> int:
    """More misses than this happen once in 10,000 times."""
    return int(binom.isf(1e-4, trials, rate))


KINDS = [
    independent(CHAIN, p=0.35),
    clustered(CHAIN, [["a", "c"], ["b"]], p=0.35),
    sampled(CHAIN, 2, epsilon=2.0),
]


@pytest.mark.parametrize("design", KINDS)
@pytest.mark.parametrize("strength", [0.0, 0.3, 0.7])
def test_intervals_cover_and_independence_is_seldom_denied(design, strength):
    """60 surveys of 3 pairs each, for strengths from none to strong.

    Half the noise would miss in a third of the cases: 60 of 180, far above the 22 allowed.
    """
    joint = chain(strength)
    true = {
        ("a", "b"): cramers_v(joint.sum(2)),
        ("a", "c"): cramers_v(joint.sum(1)),
        ("b", "c"): cramers_v(joint.sum(0)),
    }
    missed = seen = 0
    for trial in range(60):
        found = dependences(reported(records(joint, 3000, trial), design, trial), design)
        for pair, value in true.items():
            low, high = found.interval(*pair)
            assert low <= found[pair] <= high
            missed += not low <= value + 1e-12 <= high + 1e-12
            seen += found.is_clear(*pair)
    assert missed <= misses_allowed(180, 0.05)
    if strength == 0:
        assert seen <= misses_allowed(180, 0.025)
    if strength == 0.7:
        assert seen > 90


def test_among_many_independent_pairs_none_is_told_from_0():
    """28 pairs: some interval excludes 0 in about half the surveys, a pair is clear in 2.5 %."""
    domain = domain_of(*[2] * 8)
    design, pairs = independent(domain, p=0.5), list(combinations(domain.names, 2))
    excluding = clear = 0
    for trial in range(40):
        people = list(np.random.default_rng(trial).integers(0, 2, (8, 2000)))
        found = dependences(reported(people, design, trial), design)
        excluding += any(found.interval(*pair)[0] > 0 for pair in pairs)
        clear += any(found.is_clear(*pair) for pair in pairs)
    assert clear <= misses_allowed(40, 0.025) < excluding


def test_correlations_are_covered_too():
    domain = Domain(tuple(Attribute(name, (1, 2, 3), kind="ordinal") for name in "abc"))
    design = independent(domain, p=0.35)
    for strength in (0.0, 0.5):
        joint, missed = chain(strength), 0
        wanted = {
            ("a", "b"): pearson(joint.sum(2), (0, 1, 2), (0, 1, 2)),
            ("b", "c"): pearson(joint.sum(0), (0, 1, 2), (0, 1, 2)),
        }
        for trial in range(80):
            found = dependences(reported(records(joint, 3000, trial), design, trial), design)
            for pair, value in wanted.items():
                low, high = found.interval(*pair)
                missed += not low <= value + 1e-12 <= high + 1e-12
        assert missed <= misses_allowed(160, 0.05)


@pytest.fixture(scope="module")
def adult_codes():
    return encode(adult(), adult_domain())


@pytest.mark.parametrize(("epsilon", "least", "most"), [(3.0, 0, 5), (12.0, 9, 20)])
def test_adult_s_dependences_lie_in_their_intervals(adult_codes, epsilon, least, most):
    """At ε = 3 for eight attributes hardly any pair can be told from 0, and none is said to be."""
    domain = adult_domain()
    true = from_codes(adult_codes, domain)
    design = independent(domain, epsilon=epsilon)
    found = dependences(reported(adult_codes, design, 1), design)
    pairs = [pair[:2] for pair in found.ranked()]
    inside = [found.interval(*pair)[0] <= true[pair] <= found.interval(*pair)[1] for pair in pairs]
    assert len(pairs) - sum(inside) <= misses_allowed(len(pairs), 0.05)
    clear = [found.is_clear(*pair) for pair in pairs]
    assert least <= sum(clear) <= most
    told = [(*found.interval(*pair), found[pair]) for pair in pairs if found.is_clear(*pair)]
    assert all(low < value < high for low, high, value in told)
    assert clear == sorted(clear, reverse=True)  # what cannot be told comes last
    if epsilon == 12:
        assert [found.interval(*p)[1] for p in pairs if not found.is_clear(*p)] < [1.0] * 28


def test_a_value_lies_inside_its_interval_and_not_on_its_start(adult_codes):
    """At ε = 1 two intervals exclude 0, by chance; the plain debiased values lie below both."""
    domain = adult_domain()
    design = independent(domain, epsilon=1.0)
    found = dependences(reported(adult_codes, design, 2), design)
    pairs = [p for p in combinations(domain.names, 2) if found.interval(*p)[0] > 0]
    assert len(pairs) == 2
    for pair in pairs:
        low, high = found.interval(*pair)
        assert 1.01 * low < found[pair] < high
        assert not found.is_clear(*pair)
        assert not Dependences.from_dict(found.to_dict()).is_clear(*pair)


def test_a_report_of_one_tells_nothing():
    design = independent(CHAIN, p=0.5)
    found = dependences(reported([np.array([0])] * 3, design, 1), design)
    for pair in (("a", "b"), ("a", "c"), ("b", "c")):
        assert found.interval(*pair) == (0.0, 1.0)
        assert not found.is_clear(*pair)


def test_some_attributes_and_another_level():
    design = independent(CHAIN, p=0.5)
    tally = reported(records(chain(0.6), 3000, 2), design, 2)
    every, some = dependences(tally, design), dependences(tally, design, attributes=["c", "a"])
    assert some.names == ("c", "a")
    assert some.interval("a", "c") == pytest.approx(every.interval("a", "c"))
    np.testing.assert_allclose(some.margins[1], every.margins[0])
    wide = dependences(tally, design, level=0.999)
    assert wide.interval("a", "b")[0] < every.interval("a", "b")[0]
    assert wide.interval("a", "b")[1] > every.interval("a", "b")[1]
    bare = dependences(tally, design, level=None)
    assert bare.interval("a", "b") is None
    assert bare["a", "b"] == pytest.approx(every["a", "b"])


def test_dependences_are_what_their_json_says():
    design = independent(CHAIN, p=0.5)
    tally = reported(records(chain(0.6), 3000, 2), design, 2)
    for found in (dependences(tally, design), dependences(tally, design, level=None)):
        again = Dependences.from_dict(json.loads(json.dumps(found.to_dict())))
        assert again.to_dict() == found.to_dict()
    frame = dependences(tally, design).to_frame("pandas")
    assert list(frame) == ["first", "second", "dependence", "low", "high"]
    assert (frame["low"] <= frame["dependence"]).all()
    assert (frame["dependence"] <= frame["high"]).all()


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
        (
            lambda: Dependences(("a", "b"), np.eye(2), low=np.eye(2)),
            SchemaError,
            "give low and high, or neither",
        ),
        (
            lambda: Dependences(("a", "b"), np.eye(2), low=np.eye(2), high=np.eye(2) / 2),
            SchemaError,
            "inside its interval",
        ),
        (
            lambda: Dependences(("a", "b"), np.eye(2), low=np.eye(2), high=np.eye(2), clear=[1, 0]),
            SchemaError,
            "true or false for every pair",
        ),
        (
            lambda: Dependences(("a", "b"), np.eye(2), clear=np.eye(2) > 0),
            SchemaError,
            "only if its interval excludes 0",
        ),
        (lambda: Dependences(("a", "b"), np.eye(2), level=95), SchemaError, "level=95"),
        (lambda: Dependences(("a", "b"), np.eye(2), measure="V"), SchemaError, "measure='V'"),
        (lambda: Dependences.from_dict({"names": ["a"]}), SchemaError, "'names' and 'values'"),
        (lambda: Dependences.from_dict({"names": [1], "values": [[1]]}), SchemaError, "'names'"),
        (
            lambda: from_tables({("a", "b"): np.eye(2)}, domain_of(2, 2), measure="covariance"),
            SchemaError,
            "'a' is not ordered, so it has no |cov|: leave it out, or take the measure 'auto'",
        ),
        (
            lambda: from_tables({("a", "b"): np.eye(2)}, domain_of(2, 2), measure="tau"),
            SchemaError,
            "measure='tau' is not known",
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


def independent_answers(sizes, n, seed):
    """Two answers that have nothing to do with each other; most categories are rare."""
    rng = np.random.default_rng(seed)
    return [rng.choice(size, n, p=rng.dirichlet(np.full(size, 0.5))) for size in sizes]


@pytest.mark.parametrize(("sizes", "n"), [((30, 20), 400), ((9, 16), 100), ((5, 4), 40)])
def test_categories_that_nobody_reported_are_no_dependence(sizes, n):
    """Their noise was a rounding error, by which χ² was divided: V was 1, and its interval [1, 1].

    Each of 20 intervals excludes 0 with probability 2.5 %: more than five do in 1 of 100,000 runs.
    """
    domain = domain_of(*sizes)
    design = independent(domain, epsilon=16.0)
    wrong = 0
    for seed in range(20):
        reports = randomize_codes(
            independent_answers(sizes, n, seed), design, SeededSource(f"unreported {seed}")
        )
        found = dependences(tally_codes(reports, design), design)
        assert found.values[0, 1] < 0.9
        wrong += int(found.low[0, 1] > 0)
    assert wrong <= 5


def test_of_an_attribute_that_all_report_alike_no_dependence_is_known():
    design = independent(domain_of(2, 2), epsilon=8.0)
    tally = tally_codes([[np.zeros(50, int), np.arange(50) % 2]], design)
    found = dependences(tally, design)
    assert (found.low[0, 1], found.high[0, 1]) == (0, 1)
    assert not found.clear[0, 1]


def sizes_of(design) -> tuple[int, int]:
    return tuple(design.domain.attribute(name).size for name in "ab")


def rare(sizes, share):
    """Both attributes' distributions: all categories but the first have this share."""
    return [np.array([1 - share * (size - 1), *[share] * (size - 1)]) for size in sizes]


def clear_of(design, joint, n, surveys, measure="auto") -> int:
    """Of so many surveys of n people, in how many the pair a, b is clear."""
    found = 0
    for seed in range(surveys):
        codes = records(joint, n, [seed, n])
        reports = randomize_codes(codes, design, SeededSource(f"clear {seed}"))
        tally = tally_codes(reports, design)
        found += bool(dependences(tally, design, measure=measure, attributes="ab").clear[0, 1])
    return found


PAIR, WIDE = domain_of(2, 2), domain_of(4, 5)
ORDERED = Domain(tuple(Attribute(name, ("no", "yes"), kind="ordinal") for name in "ab"))
TOGETHER = [["a", "b"]]


@pytest.mark.parametrize(
    ("design", "n", "share"),
    [
        (independent(PAIR, epsilon=16.0), 3000, 0.02),
        (independent(ORDERED, epsilon=12.0), 1000, 0.03),
        (independent(PAIR, epsilon=8.0), 1000, 0.02),
        (independent(ORDERED, epsilon=8.0), 1000, 0.02),
        (independent(PAIR, epsilon=8.0), 1000, 0.005),
        (clustered(PAIR, TOGETHER, epsilon=8.0), 1000, 0.005),
        (clustered(PAIR, TOGETHER, epsilon=1.0), 10, 0.5),
        (independent(WIDE, epsilon=16.0), 1000, 0.01),
        (clustered(WIDE, TOGETHER, epsilon=8.0), 100, 0.005),
        (sampled(domain_of(2, 2, 2), 2, epsilon=8.0), 3000, 0.005),
    ],
)
def test_independent_answers_are_seldom_called_dependent_however_few_people_gave_them(
    design, n, share
):
    """More than 15 of 200 surveys are once in 10,000 times, if 2.5 % are.

    By the noise that the reports themselves show, 43 to 114 of most of these were.
    """
    joint = np.outer(*rare(sizes_of(design), share))
    if len(design.domain) == 3:
        joint = joint[..., None] * np.array([0.5, 0.5])
    assert clear_of(design, joint, n, 200) <= misses_allowed(200, 0.025) == 15


@pytest.mark.parametrize(
    "design", [independent(PAIR, epsilon=16.0), independent(WIDE, epsilon=16.0)]
)
def test_a_dependence_among_few_people_is_found(design):
    """100 people, of whom those with a rare answer (2 %) nearly all give the other one too.

    At least two people give both rare answers with probability 0.54, or more if there are more
    categories: fewer than 30 of 100 surveys show it once in a million times. 1 and 10 did.
    """
    rows, columns = rare(sizes_of(design), 0.02)
    copied = np.zeros((len(rows), len(columns)))
    np.fill_diagonal(copied, np.minimum(rows, columns[: len(rows)]))
    copied[0] += columns - copied.sum(axis=0)
    copied[0, 0] += 1 - copied.sum()
    joint = 0.9 * copied + 0.1 * np.outer(rows, columns)
    assert clear_of(design, joint / joint.sum(), 100, 100) >= 30


@pytest.mark.parametrize(
    "design", [independent(CHAIN, p=0.6), clustered(CHAIN, [["a", "c"], ["b"]], epsilon=4.0)]
)
def test_apart_the_noise_of_independent_answers_is_that_of_the_margins(design):
    """Cov(gap) = S₁ ⊗ S₂/n, whatever the dependence that the reports show: exact, to rounding."""
    tally = reported(records(chain(0.6), 500, 2), design, 2)
    table = noisy_pair(tally, design, "a", "b")
    (view,) = table.found.views
    covariances = []
    for axis, codes in zip(view.axes, (view.reported.sum(1), view.reported.sum(0)), strict=True):
        scores = axis.scores - (axis.scores @ codes)[:, None]
        covariances.append((scores * codes) @ scores.T)
    noise = Chance(table).noise.reshape(9, -1)
    wanted = np.kron(*covariances) / 500
    np.testing.assert_allclose(noise @ noise.T, wanted, atol=1e-10 * np.abs(wanted).max())


@pytest.mark.parametrize(
    "design", [clustered(CHAIN, [["b", "a"], ["c"]], p=0.5), sampled(CHAIN, 2, epsilon=3.0)]
)
def test_together_it_is_what_independent_answers_have(design):
    """200,000 people whose answers are independent: what they report tells the same noise.

    A variance of codes of which 1 % or more are reported is known to z·√(1/2000) or better.
    """
    truth = np.einsum("a,b,c->abc", *([np.array([0.5, 0.3, 0.2])] * 3))
    table = noisy_pair(reported(records(truth, 200_000, 5), design, 5), design, "a", "b")
    found = (Chance(table).noise ** 2).sum(axis=-1)
    shown = (table.moved(table.noise) ** 2).sum(axis=-1)
    np.testing.assert_allclose(found, shown, rtol=z() * math.sqrt(1 / 2000))


def test_the_deviance_of_a_rare_combination_is_that_of_a_poisson_count():
    """Of 100,000 people 50 and 100 gave two rare answers: 0.05 are expected to give both.

    Pearson's χ² of x such people is (x − m)²/m, their deviance 2·(x·ln(x/m) − x + m). A binomial
    differs from a Poisson count by shares of 0.001, and ε = 60 hardly randomizes.
    """
    design, n, m = independent(PAIR, epsilon=60.0), 100_000, 0.05
    for x in (1, 2, 3):
        codes = [np.zeros(n, int), np.zeros(n, int)]
        codes[0][:50] = 1
        codes[1][50 - x : 150 - x] = 1
        table = noisy_pair(tally_codes([codes], design), design, "a", "b")
        wanted = 2 * (x * math.log(x / m) - x + m) / ((x - m) ** 2 / m)
        assert Chance(table).excess(table.gap) == pytest.approx(wanted, rel=0.01)


def test_normal_noise_has_the_usual_deviance():
    """50,000 people in cells of a ninth: skewness changes the deviance by about 1/√5000 of it."""
    design = independent(CHAIN, p=0.7)
    truth = np.full((3, 3, 3), 1 / 27)
    table = noisy_pair(reported(records(truth, 50_000, 1), design, 1), design, "a", "b")
    assert 0.95 < Chance(table).excess(table.gap) <= 1


@pytest.mark.parametrize(
    "design", [independent(WIDE, epsilon=12.0), independent(domain_of(2, 3), epsilon=3.0)]
)
def test_surveys_are_drawn_with_the_same_margins_and_the_noise_of_independence(design):
    """4,000 surveys: means stray by sd/√4000, variances by a factor √(k/4000) for kurtosis k + 1.

    Given the margins the variance is n/(n − 1) times S₁ ⊗ S₂/n. Cells of few people have a
    kurtosis of up to about 1/(expected count); those where 0.5 or more are expected are compared.
    """
    n, draws = 400, 4000
    joint = np.outer(*rare(sizes_of(design), 0.1))
    table = noisy_pair(reported(records(joint, n, 3), design, 3), design, "a", "b")
    chance = Chance(table)
    gaps = chance.drawn(draws)
    for axis in (1, 2):
        np.testing.assert_allclose(gaps.sum(axis=axis), 0, atol=1e-9)
    variances = (chance.noise**2).sum(axis=-1) * n / (n - 1)
    assert (np.abs(gaps.mean(axis=0)) < z() * np.sqrt(variances / draws)).all()
    assert chance.likely[0].min() * n > 0.5
    np.testing.assert_allclose(gaps.var(axis=0), variances, rtol=z() * math.sqrt((2 + 2) / draws))


def test_if_no_share_but_one_can_be_seen_the_dependence_may_be_anything():
    """Fewer people report 'yes' than randomization alone would make: its share is not above 0."""
    design = clustered(PAIR, TOGETHER, epsilon=3.0)
    cells = np.repeat([0, 1, 2, 3], [970, 10, 10, 10])
    found = dependences(tally_codes([[cells]], design), design)
    assert (found.low[0, 1], found.high[0, 1]) == (0, 1)
    assert not found.clear[0, 1]


@pytest.mark.parametrize("measure", ["covariance", "pearson"])
@pytest.mark.parametrize("ordered", ["constant", "banded"])
def test_ordered_attributes_that_all_report_alike_tell_of_no_dependence(measure, ordered):
    """A rounding error over a rounding error is no evidence."""
    domain = Domain(
        tuple(
            Attribute(name, tuple(map(str, range(size))), kind="ordinal")
            for name, size in (("a", 8), ("b", 4))
        )
    )
    design = independent(domain, epsilon=1.0, ordered=ordered)
    others = np.arange(12_345) % design.clusters[1].matrix.outcomes
    tally = tally_codes([[np.full(12_345, 5), others]], design)
    found = dependences(tally, design, measure=measure)
    assert not found.clear[0, 1]
    assert found.low[0, 1] == 0
    assert found.high[0, 1] == pytest.approx(1.0 if measure == "pearson" else 3.5 * 1.5)


def test_codes_that_also_tell_of_others_are_not_taken_for_independent():
    """a is reported with c through a matrix that depends on c, and c goes with b; a does not.

    In 60 surveys at most 2.5 % are called clear: 9 or more have a probability below 1e-4.
    """
    domain = domain_of(2, 4, 2)
    weights = np.full((8, 8), 400.0)
    weights[np.diag_indices(8)] += np.where(np.arange(8) % 4, 62_336.0, 3_000.0)
    whole = np.rint(weights / weights.sum(axis=1, keepdims=True) * 65_536).astype(int)
    whole[np.diag_indices(8)] += 65_536 - whole.sum(axis=1)
    matrix = Dense(tuple(tuple(map(int, row)) for row in whole))
    apart = Cluster(("c",), constant_matrix(2, epsilon=4.0))
    design = Design(domain, (Questionnaire((Cluster(("a", "b"), matrix), apart)),))
    clear = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        second = (rng.random(2000) < 0.1).astype(int)
        people = [
            rng.integers(0, 2, 2000),
            np.where(second, 0, rng.integers(1, 4, 2000)),
            second,
        ]
        tally = reported(people, design, f"with others {seed}")
        table = noisy_pair(tally, design, "a", "c")
        assert not Chance(table).apart
        clear += bool(dependences(tally, design, attributes=("a", "c")).clear[0, 1])
    assert binom.sf(8, 60, 0.025) < 1e-4
    assert clear <= 8
