"""Tallies of sums: exact margins and pairs, fair samples and halves, whatever is added to what."""

import json
import math

import numpy as np
import pytest
from scipy.stats import binom, chi2

from mdrr import groups
from mdrr.design import Cluster, Design, Questionnaire
from mdrr.domain import Attribute, Domain
from mdrr.errors import EstimateError, TallyError
from mdrr.estimation import METHODS, estimate
from mdrr.estimation.evidence import Evidence, split
from mdrr.groups import MOST_CODES, merged
from mdrr.matrix import constant_matrix
from mdrr.plausibility import doubts
from mdrr.protocols import clustered, independent
from mdrr.randomizer import randomize_codes
from mdrr.source import SeededSource
from mdrr.sums import SAMPLE
from mdrr.tallies import Tally, tally_batches, tally_codes
from tests.cases import domain_of

SIZES = (2, 3, 4, 5)
D = independent(domain_of(*SIZES), p=0.6)


def reports_of(design, n, seed):
    rng = np.random.default_rng(seed)
    codes = [np.minimum(rng.geometric(0.5, n) - 1, s - 1) for s in design.domain.shape]
    return randomize_codes(codes, design, SeededSource(seed))


def tallied(n=2000, seed=0, **options):
    return tally_codes(reports_of(D, n, seed), D, **options)


def same_tables(one, other):
    pairs = [(i, j) for i in range(len(SIZES)) for j in range(len(SIZES)) if i != j]
    return all(
        np.array_equal(one.groups[0].pair(*p), other.groups[0].pair(*p)) for p in pairs
    ) and all(
        np.array_equal(one.groups[0].marginal(i), other.groups[0].marginal(i))
        for i in range(len(SIZES))
    )


@pytest.mark.parametrize("sample", [0, 1, 100, SAMPLE])
def test_margins_and_pairs_are_those_of_all_reports(sample):
    whole, sums = tallied(), tallied(keep="sums", sample=sample)
    assert same_tables(whole, sums)
    assert sums.n == 2000
    assert sums.distinct is None
    assert sums.listed == min(sample, 2000)


@pytest.mark.parametrize("first", ["reports", "sums"])
@pytest.mark.parametrize("second", ["reports", "sums"])
def test_tallies_of_all_kinds_add(first, second):
    both = tallied(seed=1, keep=first) + tallied(seed=2, keep=second)
    wanted = tallied(seed=1) + tallied(seed=2)
    assert both.n == 4000
    assert same_tables(both, wanted)
    assert both.has_sums == (first == "sums" or second == "sums")
    assert both == tallied(seed=1, keep=first) + tallied(seed=2, keep=second)


def test_adding_sums_does_not_depend_on_the_order():
    a, b, c = (tallied(300, seed, keep="sums", sample=50) for seed in (1, 2, 3))
    assert (a + b) + c == a + (b + c) == (c + b) + a
    assert (a + b + c).listed <= 50


def test_what_has_no_sample_leaves_none():
    assert (tallied(keep="sums") + tallied(keep="sums", sample=0)).listed == 0


def test_equal_reports_give_equal_tallies_and_others_do_not():
    assert tallied(keep="sums", sample=9) == tallied(keep="sums", sample=9)
    assert tallied(keep="sums", sample=9) != tallied(keep="sums", sample=8)
    assert tallied(keep="sums") != tallied(keep="reports")


@pytest.mark.parametrize("counted", [False, True])
def test_everybody_is_as_likely_in_the_sample_and_in_either_half(counted):
    """Person i reports cell i of 24; 400 samples of 6 out of 24 · 2 people, in two merged parts."""
    domain = independent(domain_of(2, 3, 4), p=0.5)
    cells = np.unravel_index(np.arange(24), (2, 3, 4))
    times, draws, size = np.zeros((2, 24)), 400, 6
    for draw in range(draws):
        order = np.random.default_rng(draw).permutation(24)
        columns = [[c[order] for c in cells]]
        options = {"counts": [np.full(24, 1)]} if counted else {}
        one, two = (
            tally_codes([[c[part] for c in columns[0]]], domain, keep="sums", sample=size, **{
                key: [value[0][part]] for key, value in options.items()
            })
            for part in (slice(10), slice(10, 24))
        )  # fmt: skip
        group = (one + two).groups[0]
        assert len(group.counts) == size
        found = np.ravel_multi_index(group.codes, (2, 3, 4))
        np.add.at(times, (group.sums.numbers % 2, found), 1)
    expected = draws * size / 48
    # 48 counts with one sum fixed; draws without replacement vary less than multinomial ones.
    assert ((times - expected) ** 2 / expected).sum() < chi2.isf(1e-5, 47)
    assert abs(times[0].sum() - draws * size / 2) < 4.42 * math.sqrt(draws * size / 4)


def test_halves_are_of_everybody_once_and_hold_their_own_sample():
    sums = tallied(keep="sums", sample=500)
    halves = split(sums, 0.5, seed=0)
    assert sum(half.n for half in halves) == 2000
    assert same_tables(halves[0] + halves[1], sums)
    assert [half.listed for half in halves] == np.bincount(sums.groups[0].sums.numbers % 2).tolist()
    assert binom.cdf(min(half.n for half in halves), 2000, 0.5) > 1e-6
    assert Evidence(sums, D).halves(0)[0].people == halves[0].n
    assert Evidence(halves[0], D).halves(0) is None  # a half is not dealt again


def test_a_half_has_sums_of_its_own_people_alone():
    """Each person's two answers are equal, so every table of a half has its people's margins."""
    rng = np.random.default_rng(0)
    codes = rng.integers(3, size=500)
    design = independent(domain_of(3, 3, 3), p=0.5)
    group = tally_codes([[codes] * 3], design, keep="sums").groups[0]
    for half in (group.half(0), group.half(1)):
        assert np.array_equal(half.pair(0, 2), np.diag(half.marginal(1)))
        assert np.array_equal(np.bincount(half.codes[0], minlength=3), half.marginal(0))


def test_many_distinct_reports_become_sums(monkeypatch):
    monkeypatch.setattr(groups, "AT_ONCE", 64)
    monkeypatch.setattr("mdrr.groups.MOST_CODES", 200)
    sums = tallied()
    assert sums.has_sums
    assert same_tables(sums, tallied(keep="reports"))
    few = tallied(20)
    assert not few.has_sums
    added = few
    for seed in range(1, 9):
        added = added + tallied(20, seed)
    assert added.has_sums  # once there are more than 200/4 distinct ones
    assert added.n == 180


def test_batches_are_counted_as_they_come(monkeypatch):
    monkeypatch.setattr("mdrr.tallies.AT_ONCE", 300)
    batches = [reports_of(D, 100, seed) for seed in range(12)]
    wanted = sum((tally_codes(b, D) for b in batches[1:]), tally_codes(batches[0], D))
    assert tally_batches(iter(batches), D) == wanted
    sums = tally_batches(batches, D, keep="sums", sample=70)
    assert same_tables(sums, wanted)
    assert sums.listed == 70
    monkeypatch.setattr("mdrr.groups.MOST_CODES", 200)
    assert same_tables(tally_batches(batches, D), wanted)
    with pytest.raises(TallyError, match="no reports to tally"):
        tally_batches([], D)


def test_designs_whose_pairs_say_it_all_or_too_much_keep_reports():
    two = independent(domain_of(3, 4), p=0.5)
    wide = clustered(domain_of(*[4] * 15), [tuple("abcdef"), tuple("ghijkl"), tuple("mno")], p=0.5)
    public = Domain((Attribute("s", ("x", "y"), public=True), *domain_of(2, 3, 4).attributes))
    for design in (two, wide, independent(public, p=0.5)):
        tally = tally_codes(reports_of(design, 50, 0), design, keep="sums")
        assert not tally.has_sums
        assert not (tally + tally).has_sums


@pytest.mark.parametrize("sample", [0, 100, SAMPLE])
def test_sums_survive_json(sample):
    sums = tallied(keep="sums", sample=sample)
    again = Tally.from_json(sums.to_json(), D)
    assert again == sums
    assert again + sums == sums + sums
    assert json.loads(sums.to_json())["mdrr-tally"] == 2


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("mdrr-tally",), 1),
        (("questionnaires", 0, "sums"), []),
        (("questionnaires", 0, "sums", 0), [1, 2]),
        (("questionnaires", 0, "sums", 0, 0), 10**6),
        (("questionnaires", 0, "sums", 0, 0), -1),
        (("questionnaires", 0, "sums", 0, 0), 1.5),
        (("questionnaires", 0, "numbers"), [3, 2, 1]),
        (("questionnaires", 0, "numbers"), [-1, 2, 3]),
        (("questionnaires", 0, "numbers", 2), 2**53),
        (("questionnaires", 0, "codes", 1), [0, 0, 3]),
        (("questionnaires", 0, "codes", 1), [0, 0]),
        (("questionnaires", 0, "numbers"), None),
    ],
)
def test_mangled_sums_are_refused(path, value):
    fields = json.loads(tallied(60, keep="sums", sample=3).to_json())
    place = fields
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(TallyError):
        Tally.from_json(json.dumps(fields), D)


def test_a_sample_of_more_people_than_there_are_is_refused():
    fields = json.loads(tallied(3, keep="sums").to_json())
    part = fields["questionnaires"][0]
    part["numbers"] = list(range(4))
    part["codes"] = [[0] * 4] * 4
    with pytest.raises(TallyError, match="do not belong to these sums"):
        Tally.from_json(json.dumps(fields), D)


@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_method_estimates_from_sums_and_a_sample(method):
    whole, sums = estimate(tallied(), D, method), estimate(tallied(keep="sums"), D, method)
    assert sums.n == 2000
    for name in "abcd":
        np.testing.assert_allclose(sums.table(name).values, whole.table(name).values, atol=0.02)


@pytest.mark.parametrize("method", sorted(METHODS))
def test_sums_alone_are_enough_or_the_method_says_what_it_needs(method):
    alone = tallied(keep="sums", sample=0)
    if method in ("adjust", "latent"):
        with pytest.raises(EstimateError, match=r"reads reports, .* holds sums alone"):
            estimate(alone, D, method)
    else:
        assert estimate(alone, D, method).table("a", "b").values.sum() == pytest.approx(1)


@pytest.mark.parametrize("method", ["product", "pairwise"])
def test_intervals_from_sums_are_those_of_all_people(method):
    """A sample of 10 changes nothing of what is said of single attributes and pairs."""
    whole = estimate(tallied(), D, method)
    sums = estimate(tallied(keep="sums", sample=10), D, method)
    for where in ({"a": ["a0"]}, {"b": ["b1"], "d": ["d0", "d2"]}):
        assert sums.count(where) == whole.count(where)


def test_what_pairs_do_not_say_is_bounded_by_its_parts():
    where = {"a": ["a0"], "b": ["b0"], "c": ["c0"]}
    whole = estimate(tallied(), D, "product").count(where)
    sums = estimate(tallied(keep="sums"), D, "product").count(where)
    assert sums.value == whole.value
    assert sums.low <= whole.low <= whole.high <= sums.high


def test_true_answers_are_doubted_in_sums_too():
    rng = np.random.default_rng(0)
    codes = [[rng.integers(2, size=3000) // 2, *(rng.integers(s, size=3000) for s in SIZES[1:])]]
    whole, sums = (tally_codes(codes, D, keep=keep) for keep in ("reports", "sums"))
    assert doubts(whole, D)
    assert doubts(sums, D) == doubts(whole, D)
    pairs = clustered(domain_of(2, 2, 3, 3, 2, 2), [("a", "b"), ("c", "d"), ("e", "f")], p=0.9)
    many = [[np.zeros(3000, int)] * 3]
    assert doubts(tally_codes(many, pairs, keep="sums"), pairs) == doubts(
        tally_codes(many, pairs), pairs
    )


def test_clusters_are_read_from_sums_as_from_reports():
    design = clustered(domain_of(2, 2, 3, 3, 2), [("a", "b"), ("c", "d"), ("e",)], p=0.7)
    reports = reports_of(design, 3000, 5)
    whole, sums = (tally_codes(reports, design, keep=keep) for keep in ("reports", "sums"))
    for names in [("a",), ("b", "a"), ("a", "c"), ("d", "e"), ("a", "b", "c")]:
        found = [Evidence(tally, design).table(names) for tally in (whole, sums)]
        np.testing.assert_array_equal(found[0].values, found[1].values)
        np.testing.assert_array_equal(found[0].variances(), found[1].variances())
    assert Evidence(sums, design).table(("a", "c", "e")) is None


def test_sums_and_reports_of_one_questionnaire_pool():
    parts = [tallied(seed=1).groups[0], tallied(seed=2, keep="sums").groups[0]]
    assert merged(parts).n == 4000
    assert merged(parts).limits.most == MOST_CODES


@pytest.mark.parametrize(("options", "said"), [
    ({"keep": "sum"}, "Did you mean 'sums'"), ({"sample": -1}, "sample=-1 must be"),
    ({"sample": 0.5}, "sample=0.5 must be"),
])  # fmt: skip
def test_bad_options_are_refused(options, said):
    with pytest.raises(TallyError, match=said):
        tallied(**options)


def test_other_clusters_of_questionnaires_have_their_own_kind():
    """Two questionnaires, of which only one has three clusters."""
    domain = domain_of(2, 3, 4)
    three = tuple(Cluster((a.name,), constant_matrix(a.size, p=0.5)) for a in domain.attributes)
    one = (Cluster(("a", "b"), constant_matrix(6, p=0.5)),)
    design = Design(domain, (Questionnaire(three, 2**15), Questionnaire(one, 2**15)))
    codes = [[np.array([0, 1]), np.array([2, 0]), np.array([3, 1])], [np.array([5, 5, 0])]]
    tally = tally_codes(codes, design, keep="sums")
    assert [group.sums is None for group in tally.groups] == [False, True]
    assert tally.n == 5
    assert Tally.from_json(tally.to_json(), design) == tally
    assert (tally + tally).n == 10


def test_the_default_reads_the_sample_of_joint_answers():
    """Clusters of three attributes, whose reports become classes and records: here of a sample."""
    design = clustered(
        domain_of(2, 3, 2, 2, 3, 2, 3), [("a", "b", "c"), ("d", "e", "f"), ("g",)], p=0.7
    )
    reports = reports_of(design, 4000, 7)
    whole = estimate(tally_codes(reports, design), design)
    for sample in (2000, 0):
        sums = estimate(tally_codes(reports, design, keep="sums", sample=sample), design)
        assert sums.n == 4000
        assert ("latent" in sums.notes["shares"]) == (sample > 0)
        for names in [("a", "b"), ("c", "d"), ("f", "g")]:
            values = sums.table(*names).values
            assert values.sum() == pytest.approx(1)
            np.testing.assert_allclose(values, whole.table(*names).values, atol=0.04)


def test_a_sample_stands_for_everybody():
    group = tallied(keep="sums", sample=100).groups[0]
    assert group.weights.sum() == pytest.approx(2000)
    np.testing.assert_allclose(group.weights, 20)
    whole = tallied().groups[0]
    np.testing.assert_array_equal(whole.weights, whole.counts)


def test_sums_that_no_tally_keeps_are_refused():
    """Public answers are needed together, person by person, and sums do not have them so."""
    public = Domain((Attribute("s", ("x", "y"), public=True), *domain_of(2, 3).attributes))
    design = independent(public, p=0.5)
    whole = tally_codes(reports_of(design, 50, 0), design)
    sums = Tally(whole.fingerprint, tuple(group.as_sums() for group in whole.groups))
    with pytest.raises(TallyError, match="no sums are kept of questionnaire 0"):
        Tally.from_json(sums.to_json(), design)
