"""Intervals: ends by integration, variances by enumeration, coverage by simulation."""

import math
from itertools import permutations
from itertools import product as every

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, gamma, multivariate_normal, norm

from mdrr.design import Cluster, Design, Questionnaire
from mdrr.domain import Attribute, Domain
from mdrr.estimation import estimate
from mdrr.estimation.evidence import Evidence
from mdrr.estimation.unbiased import unbiased
from mdrr.estimation.uncertainty import Deviation, agreement, bounds, deviation_of, reach
from mdrr.matrix import banded_matrix, constant_matrix, subset_matrix
from mdrr.protocols import clustered, independent, sampled
from mdrr.query import Query, Term
from mdrr.tallies import tally_codes
from tests.cases import domain_of, uneven
from tests.chance import z
from tests.people import distribution, records, reported


def constant(centre, error):
    return Deviation(centre, error**2, 0.0, 0.0)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
@pytest.mark.parametrize("rho", [0.0, 0.4, 0.9, 0.99])
def test_an_interval_misses_where_both_estimates_are_on_one_side(level, rho):
    """P(|e| > z and e, e' of one sign), e and e' with correlation ρ, from SciPy's own integral."""
    joint = multivariate_normal([0, 0], [[1, rho], [rho, 1]])
    missed = 2 * joint.cdf([-reach(level, rho), 0])
    assert missed == pytest.approx(1 - level, abs=1e-5)


def test_the_reach_goes_from_one_side_to_both():
    assert reach(0.95, 0.0) == pytest.approx(norm.ppf(0.95))
    assert reach(0.95, 1.0) == pytest.approx(norm.ppf(0.975))
    assert reach(0.3, 0.0) == 0.0, "the estimate alone is on the right side half of the time"
    grown = [reach(0.95, rho) for rho in np.linspace(0, 1, 21)]
    assert (np.diff(grown) > 0).all()


@pytest.mark.parametrize("p", [0.001, 0.03, 0.1, 0.5, 0.97])
@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_every_share_is_held_as_often_as_stated(p, rho):
    """x ~ N(p, .05²) and v as it comes of x and of other evidence, on either side of p.

    20,000 draws; v is not cut at 0 and 1, where a cut would only hold p more often.
    """
    rng, error = np.random.default_rng(5), 0.05
    first, second = rng.standard_normal((2, 20_000))
    x = p + error * first
    v = p + error * max(rho, 1e-6) * (rho * first + math.sqrt(1 - rho**2) * second)
    z_, held = reach(0.95, rho), 0
    for centre, value in zip(x, v, strict=True):
        low, high = constant(float(centre), error).within(z_)
        held += min(low, value) <= p <= max(high, value)
    assert held / 20_000 == pytest.approx(0.95, abs=z() * math.sqrt(0.05 * 0.95 / 20_000))


@pytest.mark.parametrize(("hits", "n"), [(12, 20), (40, 500)])
def test_a_binomial_share_has_wilsons_interval(hits, n):
    z = float(norm.ppf(0.975))
    share = hits / n
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    assert Deviation(share, 0.0, 1 / n, -1 / n).within(z) == pytest.approx(
        (centre - half, centre + half)
    )


def test_the_two_ends_mirror_each_other():
    for x in (-0.2, 0.01, 0.4):
        low, high = Deviation(x, 0.021, -0.02, 0.0, 1e-4, 1e-4).within(1.6)
        mirrored = Deviation(1 - x, 0.001, 0.02, 0.0, -2e-4, 1e-4).within(1.6)
        assert (1 - high, 1 - low) == pytest.approx(mirrored)


def test_without_variance_there_is_no_doubt():
    assert constant(0.3, 0.0).within(2.0) == pytest.approx((0.3, 0.3))
    assert constant(-0.3, 0.0).within(2.0) == (0.0, 0.0)
    assert constant(1.3, 0.0).within(2.0) == (1.0, 1.0)


def test_a_cell_nobody_was_reported_in_may_hold_a_few():
    """No variance at 0, some at p > 0: p² ≤ z²·slope·p."""
    low, high = Deviation(0.0, 0.0, slope=1e-3, bend=0.0).within(1.96)
    assert (low, high) == pytest.approx((0.0, 1.96**2 * 1e-3))


def test_a_share_far_below_0_never_speaks_for_large_ones():
    """The variance grows with p so fast that only shares above 1 are near enough to x."""
    assert Deviation(-21.8, 108.9, 16.1, 0.0).within(1.83) == (0.0, 0.0)
    low, high = Deviation(-19.3, 108.9, 16.1, 0.0).within(1.83)
    assert low == 0.0
    assert high == 1.0


@pytest.mark.parametrize("shape", [8, 25])
def test_a_lean_is_made_up_for(shape):
    """Gamma sums have skewness 2/√shape: 5 % on either side with the lean, not without."""
    unit = 0.5 / shape
    drawn = unit * gamma(shape).ppf((np.arange(4000) + 0.5) / 4000)

    def missed(third):
        ends = [Deviation(float(x), shape * unit**2, 0, 0, third).within(1.645) for x in drawn]
        low, high = np.array(ends).T
        return np.array([(low > 0.5).mean(), (high < 0.5).mean()])

    plain, leaning = missed(0.0), missed(2 * shape * unit**3)
    assert leaning == pytest.approx([0.05, 0.05], abs=0.004)
    assert np.abs(plain - 0.05).min() > 0.004


def test_the_variance_is_a_parabola_that_is_never_negative():
    deviation = Deviation(-0.1, 0.04, slope=0.3, bend=-0.5)
    assert deviation.variance(0.0) == pytest.approx(0.04)
    assert deviation.variance(0.2) == pytest.approx(0.04 + 0.06 - 0.02)
    assert Deviation(0.5, 0.0, slope=-1.0, bend=0.0).variance(0.5) == 0.0


D = domain_of(2, 3)
ORDERED = Domain((D.attributes[0], Attribute("b", tuple(range(3)), kind="ordinal")))
MASK = np.array([[True, False, True], [False, True, False]])


def one(*clusters):
    return Design(ORDERED, (Questionnaire(clusters),))


ALONE = {
    "constant": one(
        Cluster(("a",), constant_matrix(2, p=0.3)), Cluster(("b",), constant_matrix(3, p=0.5))
    ),
    "together": one(Cluster(("a", "b"), constant_matrix(6, p=0.2))),
    "dense": one(Cluster(("a", "b"), uneven(6, 3))),
    "banded": one(
        Cluster(("a",), uneven(2, 1)), Cluster(("b",), banded_matrix(3, epsilon=1.0, width=1))
    ),
    "subset": one(
        Cluster(("a",), constant_matrix(2, p=0.4)), Cluster(("b",), subset_matrix(3, epsilon=0.5))
    ),
}


def likelihoods(design, q):
    """P(report | cell of a, b), reports as tuples of codes: what a questionnaire's people send."""
    clusters = design.questionnaires[q].clusters
    found = {}
    for codes in every(*(range(c.matrix.outcomes) for c in clusters)):
        table = np.ones((2, 3))
        for c, code in zip(clusters, codes, strict=True):
            own = c.matrix.likelihood(np.array([code]))[0]
            table = table * own.reshape(
                [size if n in c.attributes else 1 for n, size in (("a", 2), ("b", 3))]
            )
        found[codes] = table
    return found


def sent(design, slots, codes):
    """The tally of people who answered some questionnaires with some codes."""
    groups = [[] for _ in design.questionnaires]
    for q, report in zip(slots, codes, strict=True):
        groups[q].append(report)
    return tally_codes([[np.array(c) for c in zip(*g, strict=True)] for g in groups], design)


def enumerated(design, slots, truths):
    """Mean, variance and third cumulant of the unbiased share over all reports."""
    options = []
    for q, truth in zip(slots, truths, strict=True):
        likely = likelihoods(design, q)
        options.append([(codes, float((p * truth).sum())) for codes, p in likely.items()])
    mean = square = cube = 0.0
    found = None
    for reports in every(*options):
        chance = math.prod(p for _, p in reports)
        found = unbiased(sent(design, slots, [codes for codes, _ in reports]), design, ("a", "b"))
        share = float(found.values[MASK].sum())
        mean += chance * share
        square += chance * share**2
        cube += chance * share**3
    return mean, square - mean**2, found, cube - 3 * mean * square + 2 * mean**3


@pytest.mark.parametrize("which", ALONE)
def test_the_variance_is_that_of_all_reports_two_people_can_send(which):
    """The people's own share: only their randomization varies."""
    design = ALONE[which]
    truths = [np.zeros((2, 3)), np.zeros((2, 3))]
    truths[0][0, 2] = truths[1][1, 2] = 1.0
    mean, variance, found, third = enumerated(design, (0, 0), truths)
    assert mean == pytest.approx(0.5, abs=1e-9)
    table = (truths[0] + truths[1]) / 2
    stated = deviation_of(found, table, MASK, "people")
    assert stated.variance(0.5) == pytest.approx(variance, rel=1e-9)
    assert stated.third + 0.5 * stated.twist == pytest.approx(third, rel=1e-9)


@pytest.mark.parametrize("which", ALONE)
def test_a_populations_variance_is_that_of_all_people_and_reports(which):
    design, law = ALONE[which], distribution(D, 7)
    mean, variance, found, _ = enumerated(design, (0, 0), (law, law))
    assert mean == pytest.approx(float(law[MASK].sum()), abs=1e-9)
    stated = deviation_of(found, law, MASK, "population")
    assert stated.variance(mean) == pytest.approx(variance, rel=1e-9)
    own = deviation_of(found, law, MASK, "people")
    assert own.variance(mean) == pytest.approx(variance - (mean - mean**2) / 2, rel=1e-9)


SAMPLED = Design(
    ORDERED,
    (
        Questionnaire((Cluster(("a", "b"), constant_matrix(6, p=0.5)),), 2**15),
        Questionnaire(
            (
                Cluster(("a",), constant_matrix(2, p=0.3)),
                Cluster(("b",), constant_matrix(3, p=0.4)),
            ),
            2**15,
        ),
    ),
)


def test_the_variance_of_several_questionnaires():
    """Two people answer the first and one the second.

    For a population that is exact. For the people themselves who was asked what is drawn without
    replacement, and S² = N/(N − 1)·p(1 − p) stands where p(1 − p) is stated.
    """
    law, slots = distribution(D, 7), (0, 0, 1)
    mean, variance, found, _ = enumerated(SAMPLED, slots, (law, law, law))
    stated = deviation_of(found, law, MASK, "population")
    assert stated.variance(mean) == pytest.approx(variance, rel=1e-9)
    truths = []
    for cell in ((0, 0), (0, 1), (1, 2)):
        truths.append(np.zeros((2, 3)))
        truths[-1][cell] = 1.0
    moments = [enumerated(SAMPLED, order, truths)[:2] for order in permutations(slots)]
    means, variances = np.array(moments).T
    share = 1 / 3
    assert means.mean() == pytest.approx(share, abs=1e-9)
    exact = variances.mean() + means.var()
    own = deviation_of(found, sum(truths) / 3, MASK, "people")
    drawn = found.drawn(population=False) * (share - share**2)
    assert own.variance(share) - drawn + drawn * 3 / 2 == pytest.approx(exact, rel=1e-9)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), epsilon=st.floats(0.2, 8), n=st.integers(1, 40))
def test_no_share_is_certain_however_far_off_the_unbiased_one_lies(seed, epsilon, n):
    """Reports at random, so that centres are far outside [0, 1]; any spread; any set."""
    rng = np.random.default_rng(seed)
    design = [independent(D, epsilon=epsilon), clustered(D, [["a", "b"]], epsilon=epsilon)][
        seed % 2
    ]
    sizes = [c.matrix.outcomes for c in design.clusters]
    tally = tally_codes([[rng.integers(0, size, n) for size in sizes]], design)
    mask = np.zeros(6, dtype=bool)
    mask[rng.permutation(6)[: rng.integers(1, 6)]] = True
    spread = rng.dirichlet(np.full(6, 0.2)).reshape(2, 3)
    found = unbiased(tally, design, ("a", "b"))
    for of in ("people", "population"):
        stated = deviation_of(found, spread, mask.reshape(2, 3), of)
        assert min(stated.variance(p) for p in np.linspace(0, 1, 21)) > 0
        low, high = stated.within(1.96)
        assert 0 <= low <= high <= 1


NINE = Domain(
    tuple(
        Attribute(f"x{j}", tuple("uvwxyz"[:r])) for j, r in enumerate([4, 5, 6, 3, 4, 5, 3, 6, 2])
    )
)


def nine_people(n, seed):
    """Chains: every attribute follows the one before it for half of the people."""
    rng = np.random.default_rng(seed)
    codes = [rng.choice(4, n, p=[0.5, 0.3, 0.15, 0.05])]
    for size in NINE.shape[1:]:
        skewed = 0.5 ** np.arange(size)
        own = rng.choice(size, n, p=skewed / skewed.sum())
        codes.append(np.where(rng.random(n) < 0.5, codes[-1] % size, own))
    return [c.astype(np.uint8) for c in codes]


def test_intervals_of_noisy_reports_cover_what_they_say():
    """RR-Independent, ε = 1, 1,000 people, `pairwise`: unbiased shares lie far outside [0, 1].

    The share of intervals that hold the truth is a mean over randomizations; 93 to 97 % within
    z(1e-5) of its standard errors. Half as wide they must be seen to fail.
    """
    n, rounds = 1000, 40
    codes, design = nine_people(n, 1), independent(NINE, epsilon=1.0)
    rng = np.random.default_rng(3)
    held, narrow, outside = [], [], 0
    for seed in range(rounds):
        found = estimate(reported(codes, design, f"nine {seed}"), design, "pairwise")
        inside = []
        for _ in range(40):
            i, j = sorted(rng.choice(9, 2, replace=False))
            mask = rng.random((NINE.shape[i], NINE.shape[j])) < 0.15
            mask[rng.integers(NINE.shape[i]), rng.integers(NINE.shape[j])] = True
            names = NINE.names[i], NINE.names[j]
            count = found.count(Query(NINE, (Term(names, mask),)))
            true = int(mask[codes[i], codes[j]].sum())
            inside.append(count.low <= true <= count.high)
            middle, half = (count.low + count.high) / 2, (count.high - count.low) / 4
            narrow.append(abs(true - middle) <= half)
            assert count.low < count.value < count.high
            centre = float(found.evidence.table(names).values[mask].sum())
            outside += not -1 < centre < 2
        held.append(np.mean(inside))
    assert outside > 100, "else this is not that case"
    error = np.std(held, ddof=1) / np.sqrt(rounds)
    assert 0.93 - z() * error < np.mean(held) < 0.97 + z() * error
    assert np.mean(narrow) < 0.93 - z() * error


@pytest.mark.parametrize("n", [1, 2, 3, 12])
def test_a_handful_of_people_is_covered_whatever_they_are(n):
    """All reports that n people can send, for every number of them whose truth is `yes`."""
    domain = Domain((Attribute("a", ("no", "yes")),))
    matrix = constant_matrix(2, epsilon=2.0)
    design = Design(domain, (Questionnaire((Cluster(("a",), matrix),)),))
    ends = []
    for sent_yes in range(n + 1):
        tally = tally_codes([[(np.arange(n) < sent_yes).astype(np.uint8)]], design)
        count = estimate(tally, design, "product").count({"a": ["yes"]})
        ends.append((count.low, count.high))
    for true_yes in range(n + 1):
        kept, turned = (
            binom.pmf(np.arange(n + 1), size, chance)
            for size, chance in ((true_yes, matrix.keep), (n - true_yes, 1 - matrix.keep))
        )
        chances = np.convolve(kept, turned)[: n + 1]
        held = [low - 1e-9 <= true_yes <= high + 1e-9 for low, high in ends]
        assert chances[held].sum() >= 0.95


@pytest.mark.parametrize("method", ["product", "adjust", "pairwise", "correspondence", "auto"])
def test_a_point_estimate_lies_inside_its_interval(method):
    """Strictly, unless it is 0 or n; of noisy reports, where it often is not the unbiased one."""
    domain = domain_of(3, 4, 2)
    design = independent(domain, epsilon=1.5)
    for seed in range(4):
        tally = reported(records(distribution(domain, 2, 0.3), 150, seed), design, seed)
        found = estimate(tally, design, method)
        for names in (("a",), ("a", "b"), ("c", "a", "b")):
            table = found.table(*names)
            inner = (table.values > 0) & (table.values < 1)
            assert (table.low[inner] < table.values[inner]).all()
            assert (table.values[inner] < table.high[inner]).all()
            assert (table.low <= table.values).all()
            assert (table.values <= table.high).all()


def test_the_end_goes_with_an_estimate_outside_it():
    """And a fiftieth of it further, or of what is left to 1, or of the interval."""
    domain = domain_of(2)
    design = independent(domain, p=0.5)
    evidence = Evidence(tally_codes([[np.repeat([0, 1], [50, 50])]], design), design)
    query = Query.of({"a": ["a0"]}, domain)
    look = {("a",): np.array([0.5, 0.5])}.__getitem__
    low, high = bounds(evidence, look, query, "people", 0.95, 0.5)
    assert 0.9 - low > 0.1
    assert bounds(evidence, look, query, "people", 0.95, 0.9) == pytest.approx((low, 0.902))
    assert bounds(evidence, look, query, "people", 0.95, 0.1) == pytest.approx((0.098, high))
    evidence = Evidence(tally_codes([[np.repeat([0, 1], [5000, 5000])]], design), design)
    low, high = bounds(evidence, look, query, "people", 0.95, 0.5)
    end = (0.55 - low) / 50
    assert high < 0.55 < 1 - (0.55 - low)
    found = bounds(evidence, look, query, "people", 0.95, 0.55)
    assert found == pytest.approx((low, 0.55 + end))


@pytest.mark.parametrize("epsilon", [6.0, 12.0, 18.0])
def test_nearly_exact_reports_have_short_intervals(epsilon):
    """However large the share: 1.96 standard errors to both sides, and a fiftieth of the width."""
    domain = domain_of(2)
    design = independent(domain, epsilon=epsilon)
    tally = tally_codes([[np.repeat([0, 1], [40_000, 60_000])]], design)
    evidence = Evidence(tally, design)
    query = Query.of({"a": ["a0"]}, domain)
    found = unbiased(tally, design, ("a",))
    share = float(found.values[0])
    look = {("a",): found.values}.__getitem__
    low, high = bounds(evidence, look, query, "people", 0.95, share)
    error = math.sqrt(found.variances()[0])
    # Skewed where hardly any answer is randomized: a few reports more at the upper end.
    assert low < share < high
    assert high - low <= 2 * 1.96 * 1.05 * error + 10 / 100_000


def test_an_estimate_that_follows_the_unbiased_one_has_the_usual_interval():
    """ρ² = 1 − |x − v|²/V over the table, with V as if it had four directions more."""
    domain = domain_of(3, 3)
    design = independent(domain, epsilon=2.0)
    tally = reported(records(distribution(domain, 4), 400, 1), design, 1)
    found = unbiased(tally, design, ("a", "b"))
    assert agreement(found, found.values, "people") == 1.0
    noise = found.variances().sum()
    away = np.zeros((3, 3))
    away[0, 0] = math.sqrt(noise)
    assert agreement(found, found.values + away, "people") == pytest.approx(
        math.sqrt(1 - 4 * found.evenness / (4 * found.evenness + 4))
    )
    assert agreement(found, found.values + 3 * away, "people") == 0.0


def test_what_was_asked_of_nobody_together_is_bounded_by_its_parts():
    """Fréchet: max(0, p_a + p_b − 1) ≤ p_ab ≤ min(p_a, p_b), for every cell of 20 surveys."""
    domain = domain_of(2, 3, 2)
    law = distribution(domain, 9, 0.5)
    design = sampled(domain, 1, epsilon=3.0)
    misses = 0
    for seed in range(20):
        codes = records(law, 3_000, seed)
        found = estimate(reported(codes, design, seed), design, "product")
        table = found.table("a", "b")
        exact = np.zeros((2, 3))
        np.add.at(exact, (codes[0], codes[1]), 1 / 3_000)
        misses += int(((exact < table.low) | (exact > table.high)).sum())
        alone = [found.count({"a": ["a0"]}, level=0.975), found.count({"b": ["b0"]}, level=0.975)]
        both = found.count({"a": ["a0"], "b": ["b0"]})
        assert both.high <= min(count.high for count in alone) + 1e-6
        assert both.low >= max(0, sum(count.low for count in alone) - 3_000) - 1e-6
    # Each cell misses with 5 % at most, Bonferroni's share of two parts.
    assert misses <= 15
    tied = found.count({("a", "b"): [("a0", "b0"), ("a1", "b1")]})
    assert (tied.low, tied.high) == (0, 3_000)


def test_everybody_is_counted_without_doubt_and_the_level_sets_the_width():
    design = independent(D, epsilon=1.0)
    found = estimate(reported(records(distribution(D, 1), 200, 1), design, 1), design, "product")
    everybody = found.count({})
    assert (everybody.low, everybody.value, everybody.high) == (200, 200, 200)
    narrow, wide = (found.count({"a": ["a0"]}, level=level) for level in (0.5, 0.99))
    assert narrow.high - narrow.low < wide.high - wide.low


def test_the_people_are_less_uncertain_than_their_population():
    design = independent(D, p=0.7)
    found = estimate(reported(records(distribution(D, 3), 2000, 1), design, 1), design, "pairwise")
    for where in ({"a": ["a1"]}, {"a": ["a0"], "b": ["b1"]}):
        own, population = (found.count(where, of=of) for of in ("people", "population"))
        assert own.high - own.low < population.high - population.low
