"""Public attributes in estimates: known exactly, and used to see the others by group."""

from functools import cache
from itertools import product as every

import numpy as np
import pytest
from scipy.stats import norm

from mdrr.design import Design
from mdrr.errors import EstimateError
from mdrr.estimation import METHODS, estimate
from mdrr.estimation.evidence import Evidence
from mdrr.estimation.mixture import MixtureJoint
from mdrr.estimation.strata import strata_of
from mdrr.estimation.unbiased import unbiased
from mdrr.matrix.written import weights_of
from mdrr.plausibility import doubts
from mdrr.protocols import clustered, independent, sampled
from mdrr.synthesis import synthesize
from mdrr.tallies import tally_codes
from tests.cases import domain_of, public
from tests.chance import z
from tests.people import distribution, records, reported

DOMAIN = public(domain_of(3, 2, 4, 2, 3), "a", "d")
JOINT = distribution(DOMAIN, 1, 0.4)
PEOPLE = records(JOINT, 3000, 2)
DESIGNS = {
    "independent": independent(DOMAIN, epsilon=6.0),
    "clusters": clustered(DOMAIN, [["b", "c", "e"]], epsilon=5.0),
    "sampled": sampled(DOMAIN, 2, epsilon=3.0),
    "subsets": sampled(DOMAIN, 2, epsilon=1.0, report="subset"),
}
QUICK = {"latent": {"fits": 2, "classes": 4, "passes": 30}, "auto": {"classes": 4}}
CASES = [
    (which, method)
    for which in DESIGNS
    for method in METHODS
    if method != "adjust" or which in ("independent", "clusters")
]


def shares(names, codes=PEOPLE, domain=DOMAIN):
    """The people's own table."""
    table = np.zeros([domain.attribute(name).size for name in names])
    np.add.at(table, tuple(codes[domain.index(name)] for name in names), 1 / len(codes[0]))
    return table


@cache
def made(which, method):
    tally = reported(PEOPLE, DESIGNS[which], 3)
    return estimate(tally, DESIGNS[which], method, **QUICK.get(method, {}))


def expected_over_reports(design: Design, codes, names):
    """Mean and variance of the unbiased table by listing every report that people can send."""
    matrices = [weights_of(c.matrix) / c.matrix.total for c in design.clusters]
    people = list(zip(*(codes[design.domain.index(c.name)] for c in design.clusters), strict=True))
    options = [
        [
            (sent, np.prod([m[t, y] for m, t, y in zip(matrices, true, sent, strict=True)]))
            for sent in every(*(range(m.shape[1]) for m in matrices))
        ]
        for true in people
    ]
    options = [[(sent, p) for sent, p in one if p > 0] for one in options]
    mean = square = 0.0
    for drawn in every(*options):
        chance = np.prod([p for _, p in drawn])
        columns = [np.array([sent[c] for sent, _ in drawn]) for c in range(len(matrices))]
        values = unbiased(tally_codes([columns], design), design, names).values
        mean, square = mean + chance * values, square + chance * values**2
    return mean, square - mean**2


@pytest.mark.parametrize("names", [("a",), ("b",), ("a", "b"), ("b", "a", "c"), ("a", "c")])
def test_unbiased_tables_are_those_of_every_report_listed(names):
    """E and Var over all reports of three people; the variance is Σ over her cell's people."""
    domain = public(domain_of(2, 2, 2), "a")
    design = independent(domain, epsilon={"b": 1.0, "c": 2.0})
    codes = [np.array([0, 1, 1]), np.array([1, 0, 0]), np.array([0, 1, 0])]
    mean, variance = expected_over_reports(design, codes, names)
    np.testing.assert_allclose(mean, shares(names, codes, domain), atol=1e-12)
    # given the truth, a person adds E f² − f̄² to every cell of her public group, and nothing
    # to the others
    axes = {c.name: weights_of(c.matrix) / c.matrix.total for c in design.clusters}
    wanted = np.zeros(variance.shape)
    for i in range(3):
        first, second = np.ones(()), np.ones(())
        for name in names:
            table, true = axes[name], codes[domain.index(name)][i]
            scores = np.linalg.inv(table).T
            first = np.multiply.outer(first, scores @ table[true])
            second = np.multiply.outer(second, scores**2 @ table[true])
        wanted += (second - first**2) / 9
    np.testing.assert_allclose(variance, wanted, atol=1e-12)


def test_the_variance_of_public_shares_is_none_for_people_and_binomial_for_a_population():
    for which, design in DESIGNS.items():
        found = Evidence(reported(PEOPLE, design, 3), design).table(("a", "d"))
        assert found.exact, which
        np.testing.assert_allclose(found.values, shares(("a", "d")), atol=1e-15)
        np.testing.assert_allclose(found.variances(), 0, atol=1e-18)
        binomial = found.values * (1 - found.values) / 3000
        np.testing.assert_allclose(found.variances(population=True), binomial, rtol=1e-9)


@pytest.mark.parametrize(("which", "method"), CASES)
def test_what_is_public_is_exact_in_every_estimate(which, method):
    found = made(which, method)
    for names in (("a",), ("d",), ("d", "a")):
        np.testing.assert_allclose(found.table(*names).values, shares(names), atol=1e-12)
    where = {"a": ["a1"], "d": ["d0"]}
    count, true = found.count(where), 3000 * shares(("a", "d"))[1, 0]
    assert count.low == count.value == count.high == pytest.approx(true, abs=1e-8)
    wide = found.count(where, of="population")
    half = 1.96 * np.sqrt(true * (1 - true / 3000))
    assert wide.low == pytest.approx(true - half, abs=4)
    assert wide.high == pytest.approx(true + half, abs=4)
    assert found.notes["warnings"] == ()


@pytest.mark.parametrize(("which", "method"), CASES)
def test_tables_counts_and_samples_agree(which, method):
    found = made(which, method)
    for names in (("a", "b"), ("c", "d", "e"), ("a", "b", "c", "d")):
        table = found.table(*names).values
        assert table.sum() == pytest.approx(1, abs=1e-9)
        assert (table >= 0).all()
        cell = tuple(np.unravel_index(table.argmax(), table.shape))
        where = {n: [DOMAIN.attribute(n).categories[i]] for n, i in zip(names, cell, strict=True)}
        count = found.count(where)
        assert count.value / 3000 == pytest.approx(table[cell], abs=1e-9)
        assert count.low <= count.value <= count.high
    drawn = found.joint.sample(40_000, np.random.default_rng(4))
    for names in (("a", "d"), ("a", "b"), ("c", "e")):
        table = found.table(*names).values
        seen = shares(names, drawn)
        most = z(1e-6) * np.sqrt(table * (1 - table) / 40_000)
        assert (np.abs(seen - table) <= most + 1e-9).all()


@pytest.mark.parametrize("which", DESIGNS)
def test_a_count_is_never_larger_than_its_public_part(which):
    found = made(which, "pairwise")
    for region in ("a0", "a1", "a2"):
        most = 3000 * shares(("a",))[DOMAIN.attribute("a").code(region)]
        count = found.count({"a": [region], "b": ["b0", "b1"]})
        assert count.high <= most * 1.02 + 1e-9
        assert count.value == pytest.approx(most, abs=1e-6)


def test_groups_are_estimated_as_if_each_were_a_survey_of_its_own():
    """The unbiased table of a group is that of its own reports; `pairwise` keeps it.

    Shares are far from 0 here, so that making them proper changes them by less than 1e-3.
    """
    domain = public(domain_of(2, 3), "a")
    alone = domain_of(2, 3).project("b")
    joint = np.array([[0.1, 0.2, 0.1], [0.25, 0.15, 0.2]])
    design, own = independent(domain, epsilon=3.0), independent(alone, epsilon=3.0)
    codes = records(joint, 20_000, 5)
    tally = reported(codes, design, 6)
    table = estimate(tally, design, "pairwise", shrink=False).table("a", "b").values
    raw = unbiased(tally, design, ("a", "b")).values
    for group in (0, 1):
        kept = tally.groups[0].codes[0] == group
        part = tally_codes(
            [[tally.groups[0].codes[1][kept]]], own, counts=[tally.groups[0].counts[kept]]
        )
        separate = estimate(part, own, "product").table("b").values
        share = part.n / tally.n
        np.testing.assert_allclose(raw[group] / share, separate, atol=1e-12)
        np.testing.assert_allclose(table[group] / share, separate, atol=1e-3)


def test_a_public_category_that_nobody_has_and_strata_that_halves_do_not_share():
    """No log of 0, no division by 0: a rare group and an empty one, in few people."""
    domain = public(domain_of(4, 2, 3), "a")
    codes = [np.array([0] * 60 + [1] * 59 + [2]), np.arange(120) % 2, np.arange(120) % 3]
    for design in (independent(domain, epsilon=4.0), sampled(domain, 1, epsilon=3.0)):
        tally = reported(codes, design, 1)
        for method in METHODS:
            if method == "adjust" and len(design.questionnaires) > 1:
                continue
            options = {"prior": 0.0} if method == "latent" else {}
            found = estimate(tally, design, method, **options)
            np.testing.assert_allclose(found.table("a").values, [0.5, 59 / 120, 1 / 120, 0])
            assert np.isfinite(found.table("a", "b", "c").values).all()


def test_one_stratum_alone():
    domain = public(domain_of(2, 2, 3), "a")
    codes = [np.zeros(300, int), np.arange(300) % 2, np.arange(300) % 3]
    design = independent(domain, epsilon=4.0)
    for method in METHODS:
        found = estimate(reported(codes, design, 1), design, method)
        np.testing.assert_allclose(found.table("a").values, [1, 0], atol=1e-12)
        assert found.table("b").values[0] == pytest.approx(0.5, abs=0.25)


def test_classes_are_not_spent_on_what_is_public():
    """Two public attributes say the same; the others' relation is found all the same."""
    domain = public(domain_of(8, 8, 2, 2, 2, 2), "a", "b")
    rng = np.random.default_rng(8)
    place, kind = rng.integers(8, size=8000), rng.integers(2, size=8000)
    noisy = [np.where(rng.random(8000) < 0.85, kind, 1 - kind) for _ in range(4)]
    codes = [place, place, *noisy]
    design = independent(domain, epsilon=6.0)
    tally = reported(codes, design, 9)
    found = estimate(tally, design, "latent", classes=2)
    truth = shares(("c", "d"), codes, domain)
    apart = np.outer(truth.sum(axis=1), truth.sum(axis=0))
    error = np.abs(found.table("c", "d").values - truth).sum()
    assert error < 0.1 * np.abs(apart - truth).sum()


def test_merged_reports_and_their_joint_come_back():
    design = DESIGNS["sampled"]
    evidence = Evidence(reported(PEOPLE, design, 3), design)
    strata = strata_of(evidence)
    merged = strata.merged
    assert merged.people == evidence.people
    assert merged.design.domain.public == ("stratum",)
    assert merged.design.epsilon == design.epsilon
    np.testing.assert_allclose(merged.margins[-1], strata.shares)
    rng = np.random.default_rng(3)
    shape = merged.design.domain.shape
    classes = MixtureJoint(
        merged.design.domain,
        rng.dirichlet(np.ones(4)),
        tuple(rng.dirichlet(np.ones(size), 4).T for size in shape),
    )
    spread = strata.spread(classes)
    np.testing.assert_allclose(spread.table(("a", "d")), shares(("a", "d")), atol=1e-12)
    again = strata.spread(strata.gathered(spread))
    for names in (("a", "b"), ("b", "c"), ("d", "e", "a")):
        np.testing.assert_allclose(again.table(names), spread.table(names), atol=1e-12)
    # within a stratum the classes are those of the merged joint
    of = classes.table(("stratum", "b"))[: len(strata.shares)]
    of = of / of.sum(axis=1, keepdims=True) * strata.shares[:, None]
    whole = spread.table(("a", "d", "b"))
    np.testing.assert_allclose(whole[tuple(strata.codes.T)], of, atol=1e-12)


def test_too_many_strata_are_refused_with_a_way_out():
    domain = public(domain_of(300, 300, 2), "a", "b")
    rng = np.random.default_rng(1)
    codes = [rng.integers(300, size=60_000), rng.integers(300, size=60_000), np.zeros(60_000, int)]
    design = independent(domain, epsilon=1.0)
    tally = reported(codes, design, 1)
    with pytest.raises(EstimateError, match="method='product'"):
        estimate(tally, design, "pairwise")
    found = estimate(tally, design, "product")
    np.testing.assert_allclose(found.table("a").values, shares(("a",), codes, domain), atol=1e-12)


def test_synthetic_records_keep_public_answers():
    found = made("independent", "auto")
    frame = synthesize(found, 3000, how="repeat", backend="polars")
    drawn = [
        np.array([attribute.code(label) for label in frame[attribute.name]])
        for attribute in DOMAIN.attributes
    ]
    np.testing.assert_allclose(shares(("a", "d"), drawn), shares(("a", "d")), atol=0.02)


def test_true_answers_beside_public_ones_are_doubted_by_group():
    """All is even over everybody, and nothing within a group is random."""
    domain = public(domain_of(2, 2), "a")
    design = independent(domain, epsilon=1.0)
    group = np.arange(2000) % 2
    assert doubts(tally_codes([[group, group]], design), design)
    assert not doubts(reported([group, group], design, 1), design)


@pytest.mark.parametrize("which", ["independent", "clusters", "sampled"])
def test_intervals_by_group_cover(which):
    """95 % intervals of 6 counts over 120 surveys: at least 92 % hold the truth.

    If 95 % do, fewer than 92 % of 720 would with probability 2e-4 (binomial), were they
    independent; counts of one survey are not, so the seed is fixed.
    """
    design = DESIGNS[which]
    codes = [column[:1500] for column in PEOPLE]
    inside = total = 0
    for seed in range(120):
        found = estimate(reported(codes, design, seed), design, "product")
        for label, other in every(("a0", "a1", "a2"), ("b0", "b1")):
            i, j = DOMAIN.attribute("a").code(label), DOMAIN.attribute("b").code(other)
            true = int(((codes[0] == i) & (codes[1] == j)).sum())
            count = found.count({"a": [label], "b": [other]})
            inside, total = inside + (count.low <= true <= count.high), total + 1
    least = 0.95 - norm.ppf(0.9998) * np.sqrt(0.95 * 0.05 / total)
    assert inside / total >= least
