"""Tallies: counts of distinct reports that add, survive JSON, and refuse what does not belong."""

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from mdrr import groups, tallies
from mdrr.design import Cluster, Design, Questionnaire
from mdrr.errors import EstimateError, TallyError
from mdrr.matrix import constant_matrix
from mdrr.protocols import independent
from mdrr.randomizer import Batch, Reports, randomize_codes
from mdrr.response import Report
from mdrr.source import SeededSource
from mdrr.tallies import (
    Tally,
    gathered,
    tally_batches,
    tally_codes,
    tally_of_parts,
    tally_responses,
)
from tests.cases import designs, domain_of

D = independent(domain_of(2, 3), p=0.5)
TALLY = tally_codes([[np.array([1, 0, 1, 1]), np.array([2, 0, 2, 0])]], D)


def reports_of(design, n=500, seed=0):
    rng = np.random.default_rng(seed)
    codes = [rng.integers(size, size=n) for size in design.domain.shape]
    return randomize_codes(codes, design, SeededSource(seed))


def counted(tally):
    """Counter of (questionnaire, codes)."""
    return Counter(
        {
            (q, *(int(c[i]) for c in group.codes)): int(times)
            for q, group in enumerate(tally.groups)
            for i, times in enumerate(group.counts)
        }
    )


@pytest.mark.parametrize("name", designs())
def test_distinct_reports_are_counted(name):
    design = designs()[name]
    reports = reports_of(design)
    wanted = Counter(
        (q, *map(int, row))
        for q, batch in enumerate(reports.batches)
        for row in zip(*batch.codes, strict=True)
    )
    tally = tally_codes(reports, design)
    assert counted(tally) == wanted
    assert tally.n == reports.n == 500


@pytest.mark.parametrize("name", designs())
def test_tallies_add_and_come_back_from_json(name):
    design = designs()[name]
    first, second = (tally_codes(reports_of(design, seed=s), design) for s in (1, 2))
    both = first + second
    assert counted(both) == counted(first) + counted(second)
    assert both == second + first
    assert both != first
    again = Tally.from_json(both.to_json(), design)
    assert again == both
    assert [c.dtype for g in again.groups for c in g.codes] == [
        c.dtype for g in both.groups for c in g.codes
    ]


def test_responses_one_by_one_count_the_same():
    design = designs()["unequal"]
    reports = reports_of(design)
    responses = [
        Report(design.fingerprint, q, tuple(int(c) for c in row), id=f"{q} {row}")
        for q, batch in enumerate(reports.batches)
        for row in zip(*batch.codes, strict=True)
    ]
    assert tally_responses(responses, design) == tally_codes(reports, design)
    parsed = (json.loads(report.to_json()) for report in responses)
    assert tally_responses(parsed, design) == tally_codes(reports, design)
    assert tally_responses([], design).n == 0


def test_margins_and_pairs_are_sums_of_the_counts():
    group = TALLY.groups[0]
    np.testing.assert_array_equal(group.marginal(0), [1, 3])
    np.testing.assert_array_equal(group.marginal(1), [2, 0, 2])
    np.testing.assert_array_equal(group.pair(0, 1), [[1, 0, 0], [1, 0, 2]])
    np.testing.assert_array_equal(group.pair(1, 0), [[1, 1], [0, 0], [0, 2]])


def test_reports_are_in_lexicographic_order():
    codes = TALLY.groups[0].codes
    assert list(zip(*(c.tolist() for c in codes), strict=True)) == [(0, 0), (1, 0), (1, 2)]


def test_keys_beyond_63_bits_are_told_apart():
    """Five clusters of 2^20 cells: 2^100 possible reports."""
    domain = domain_of(*[2] * 100)
    groups = [domain.names[i : i + 20] for i in range(0, 100, 20)]
    clusters = tuple(Cluster(names, constant_matrix(2**20, epsilon=5.0)) for names in groups)
    design = Design(domain, (Questionnaire(clusters),))
    rng = np.random.default_rng(5)
    rows = rng.integers(2**20, size=(50, 5))
    rows = np.concatenate([rows, rows[:20], rows[:1] ^ [[0, 0, 0, 0, 1]]])
    tally = tally_codes([list(rows.T)], design)
    assert counted(tally) == Counter((0, *map(int, row)) for row in rows)
    assert counted(tally + tally) == Counter({k: 2 * v for k, v in counted(tally).items()})


def test_counts_stay_exact_up_to_2_to_the_53():
    codes = [[np.array([0, 0, 1]), np.array([1, 1, 2])]]
    tally = tally_codes(codes, D, counts=[np.array([2**52 + 1, 2**52 - 4, 2])])
    assert tally.n == 2**53 - 1
    assert tally.groups[0].counts.tolist() == [2**53 - 3, 2]
    assert tally.groups[0].marginal(0).tolist() == [2**53 - 3, 2]
    assert tally.groups[0].pair(0, 1).sum() == 2**53 - 1
    assert Tally.from_json(tally.to_json(), D) == tally


@pytest.mark.parametrize(
    "counts",
    [[2**53], [2**52, 2**52], [2**53 - 1, 1], [2**63 - 1, 2**63 - 1], np.array([2**64 - 1], "u8")],
)
def test_more_people_than_can_be_counted_exactly_are_refused(counts):
    codes = [[np.zeros(len(counts), int), np.zeros(len(counts), int)]]
    with pytest.raises(TallyError, match=r"fewer than 2\^53 people"):
        tally_codes(codes, D, counts=[counts])


def test_tallies_that_add_up_to_too_many_are_refused():
    half = tally_codes([[np.array([0]), np.array([1])]], D, counts=[[2**52]])
    with pytest.raises(TallyError, match=r"fewer than 2\^53 people"):
        _ = half + half


@pytest.mark.parametrize(
    ("clusters", "size"), [(62, 2), (63, 2), (64, 2), (65, 2), (39, 3), (40, 3), (41, 3), (80, 3)]
)
def test_reports_are_told_apart_and_in_order_around_63_bits(clusters, size):
    """So many clusters that a report's number needs all of 63 bits, or more: 3^40 > 2^63."""
    design = independent(domain_of(*[size] * clusters), epsilon=1.0 * clusters)
    rng = np.random.default_rng(clusters)
    rows = rng.integers(size, size=(40, clusters))
    for j in (0, 1, clusters - 1):  # the same but for one answer, at either end
        rows = np.concatenate([rows, (rows[:10] + (np.arange(clusters) == j)) % size])
    tally = tally_codes([list(rows.T)], design)
    found = list(zip(*(c.tolist() for c in tally.groups[0].codes), strict=True))
    wanted = Counter(map(tuple, rows.tolist()))
    assert found == sorted(wanted)
    assert tally.groups[0].counts.tolist() == [wanted[row] for row in found]


def test_other_designs_reports_are_refused():
    other = independent(domain_of(2, 3), p=0.6)
    with pytest.raises(TallyError, match="belong to different designs"):
        _ = TALLY + tally_codes([[np.array([1]), np.array([2])]], other)
    with pytest.raises(TallyError, match="Use the design they were made under"):
        TALLY.check(other)
    with pytest.raises(TallyError, match="not under"):
        tally_codes(reports_of(other), D)
    with pytest.raises(TallyError, match="not under"):
        tally_responses([{"design": other.fingerprint, "questionnaire": 0, "codes": [0, 0]}], D)
    with pytest.raises(TallyError, match="the code of 'b' is not in 0…2"):
        tally_responses([{"design": D.fingerprint, "questionnaire": 0, "codes": [0, 3]}], D)
    with pytest.raises(TallyError, match="not under"):
        Tally.from_json(TALLY.to_json(), other)
    with pytest.raises(TypeError):
        _ = TALLY + 1


@pytest.mark.parametrize(
    ("codes", "counts", "complaint"),
    [
        ([], None, "codes for 0 questionnaires, the design has 1"),
        ([[[0]]], None, "questionnaire 0 has 2 clusters, not 1"),
        ([[[0], [0, 1]]], None, "the codes of 'b' have another length"),
        ([[[0], [3]]], None, "'b' has codes outside 0…2"),
        ([[[-1], [0]]], None, "'a' has codes outside 0…1"),
        ([[[0.5], [0]]], None, "the codes of 'a' are not a column of integers"),
        ([[[np.nan], [0]]], None, "the codes of 'a' are not a column of integers"),
        ([[["0"], [0]]], None, "the codes of 'a' are not a column of integers"),
        ([[[0], [0]]], [[0]], "needs a positive whole count"),
        ([[[0], [0]]], [[-2]], "needs a positive whole count"),
        ([[[0], [0]]], [[1.5]], "needs a positive whole count"),
        ([[[0], [0]]], [[np.nan]], "needs a positive whole count"),
        ([[[0], [0]]], [[1, 1]], "needs a positive whole count"),
    ],
)
def test_bad_codes_are_refused(codes, counts, complaint):
    arrays = [[np.array(column) for column in columns] for columns in codes]
    times = None if counts is None else [np.array(c) for c in counts]
    with pytest.raises(TallyError) as error:
        tally_codes(arrays, D, counts=times)
    assert complaint in str(error.value)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("mdrr-tally",), 2),
        (("mdrr-tally",), None),
        (("design",), "00"),
        (("questionnaires",), None),
        (("questionnaires",), []),
        (("questionnaires", 0), []),
        (("questionnaires", 0, "codes"), 3),
        (("questionnaires", 0, "codes"), []),
        (("questionnaires", 0, "codes", 0), [0, 1]),
        (("questionnaires", 0, "codes", 0), [0, 1, 2]),
        (("questionnaires", 0, "codes", 0), [0, 1, 0.5]),
        (("questionnaires", 0, "codes", 0), [0, 1, True]),
        (("questionnaires", 0, "codes", 0), [0, 1, "1"]),
        (("questionnaires", 0, "codes", 0), [0, 1, [1]]),
        (("questionnaires", 0, "codes", 0), [0, 1, 10**30]),
        (("questionnaires", 0, "codes", 0), [0, 1, -(10**30)]),
        (("questionnaires", 0, "counts"), [1, 1, 0]),
        (("questionnaires", 0, "counts"), [1, 1, 1.5]),
        (("questionnaires", 0, "counts"), [1, 1, float("nan")]),
        (("questionnaires", 0, "counts"), [1, 1, None]),
        (("questionnaires", 0, "counts"), [1, 1, 2**64]),
        (("questionnaires", 0, "counts"), [1, 1]),
    ],
)
def test_a_mangled_tally_is_refused(path, value):
    fields = json.loads(TALLY.to_json())
    place = fields
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(TallyError):
        Tally.from_json(json.dumps(fields), D)


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "null", "{}"])
def test_what_is_no_tally_is_refused(text):
    with pytest.raises(TallyError):
        Tally.from_json(text, D)


def test_a_tally_is_shown_in_a_line():
    assert repr(TALLY) == f"<Tally of design {D.fingerprint[:12]}: 4 reports, 3 distinct>"


def test_bulk_reports_are_counted_as_they_come():
    reports = reports_of(D)
    assert tally_codes(reports, D).n == 500
    with pytest.raises(TallyError, match="counts go with arrays"):
        tally_codes(reports, D, counts=[np.ones(500, dtype=np.int64)])


THREE = independent(domain_of(2, 3, 4), p=0.5)
SUMS = tally_codes(reports_of(THREE, 60), THREE, keep="sums", sample=3)
MIXED = Design(  # one questionnaire of a cluster, one of three
    domain_of(2, 3, 300),
    (
        Questionnaire((Cluster(("c",), constant_matrix(300, p=0.5)),), 2**14),
        Questionnaire(
            tuple(
                Cluster((name,), constant_matrix(size, p=0.5))
                for name, size in (("a", 2), ("b", 3), ("c", 300))
            ),
            2**16 - 2**14,
        ),
    ),
)


def test_a_tally_is_written_as_it_says():
    wanted = {
        "mdrr-tally": 1,
        "design": D.fingerprint,
        "questionnaires": [{"codes": [[0, 1, 1], [0, 0, 2]], "counts": [1, 1, 2]}],
    }
    assert TALLY.to_dict() == wanted
    assert TALLY.to_json() == json.dumps(wanted, separators=(",", ":")) + "\n"
    sums = SUMS.to_dict()
    assert list(sums) == ["mdrr-tally", "design", "questionnaires"]
    assert sums["mdrr-tally"] == 2
    assert list(sums["questionnaires"][0]) == ["sums", "numbers", "codes"]
    assert json.loads(SUMS.to_json()) == sums


def test_what_a_wrong_file_is_said_to_be():
    def said(text, design=D):
        with pytest.raises(TallyError) as error:
            Tally.from_json(text, design)
        return str(error.value)

    assert said(D.to_json()) == "this is a design, not a tally or reports"
    assert said("[]").startswith("this is not a tally: TypeError")
    assert said("{}").startswith("this is not a tally: KeyError('questionnaires')")
    assert said("{").startswith("this is not a tally: JSONDecodeError")
    fields = TALLY.to_dict()
    assert said(json.dumps(fields | {"mdrr-tally": 2})) == "this tally has format 2, not 1"
    listed = json.dumps(fields | {"questionnaires": [[1]]})
    assert said(listed).startswith("this is not a tally: ")
    fields = SUMS.to_dict() | {"mdrr-tally": "1"}
    assert said(json.dumps(fields), THREE) == "this tally has format '1', not 2"
    del fields["mdrr-tally"]
    assert said(json.dumps(fields), THREE) == "this is not a tally: KeyError('mdrr-tally')"
    twice = TALLY.to_dict()
    twice["questionnaires"] *= 2
    assert said(json.dumps(twice)) == "codes for 2 questionnaires, the design has 1"
    fields = TALLY.to_dict()
    fields["questionnaires"][0]["counts"] = [1, 1, 2**53]
    assert said(json.dumps(fields)) == "a tally holds lists of whole numbers below 2^53"
    fields["questionnaires"][0]["counts"] = {"0": 1}
    assert said(json.dumps(fields)) == "a tally holds lists of whole numbers below 2^53"


def test_the_largest_count_comes_back():
    most = tally_codes([[np.array([1]), np.array([2])]], D, counts=[[2**53 - 1]])
    assert Tally.from_json(most.to_json(), D).n == 2**53 - 1


def test_sums_need_the_format_of_sums_wherever_they_stand():
    """Of two questionnaires only the second is kept as sums."""
    reports = reports_of(MIXED)
    tally = tally_codes(reports, MIXED, keep="sums", sample=5)
    assert [group.sums is None for group in tally.groups] == [True, False]
    assert Tally.from_json(tally.to_json(), MIXED) == tally
    assert tally.to_dict()["mdrr-tally"] == 2


def test_a_tally_is_shown_with_what_it_keeps():
    assert TALLY._repr_html_().count("4 reports, 3 distinct") == 1
    assert repr(SUMS).endswith(": 60 reports, kept as sums with a sample of 3>")
    alone = tally_codes(reports_of(THREE, 60), THREE, keep="sums", sample=0)
    assert repr(alone).endswith(": 60 reports, kept as sums>")
    assert (alone.distinct, SUMS.listed, TALLY.distinct) == (None, 3, 3)


def test_sums_alone_are_refused_by_what_reads_reports():
    alone = tally_codes(reports_of(THREE, 60), THREE, keep="sums", sample=0)
    with pytest.raises(EstimateError, match="this reads reports, and this tally holds sums alone"):
        alone.need_reports("this")
    for enough in (TALLY, SUMS, tally_responses([], D)):
        enough.need_reports("this")
    half = tally_codes(reports_of(MIXED), MIXED, keep="sums", sample=0)
    with pytest.raises(EstimateError, match="sums alone"):  # of one questionnaire of the two
        half.need_reports("this")


def test_equal_tallies_are_of_one_design_and_kind():
    other = independent(domain_of(2, 3), p=0.6)
    codes = [[np.array([1, 0, 1, 1]), np.array([2, 0, 2, 0])]]
    assert tally_codes(codes, D) == TALLY
    assert tally_codes(codes, other) != TALLY
    assert TALLY != "a tally"
    assert tally_codes([[np.array([1, 0, 1, 1]), np.array([1, 0, 1, 0])]], D) != TALLY
    assert tally_codes(codes, D, counts=[[1, 1, 1, 2]]) != TALLY
    one, two = np.array([0, 1, 2, 3]), np.array([0, 1, 2, 2])
    quarters = [[one % 2, one % 3, one], [two % 2, two % 3, two]]
    first, second = (tally_codes([columns], THREE, keep="sums", sample=0) for columns in quarters)
    assert first != second
    two_groups = [[one * 70], [one % 2, one % 3, one * 70]]
    for q in (0, 1):
        changed = [list(columns) for columns in two_groups]
        changed[q][-1] = changed[q][-1] + 1
        assert tally_codes(changed, MIXED) != tally_codes(two_groups, MIXED)


@pytest.mark.parametrize(
    ("first", "second", "both"),
    [("polars", "polars", "polars"), ("polars", "pandas", None), ("polars", None, None)],
)
def test_a_sum_is_of_the_library_of_both(first, second, both):
    found = Tally(D.fingerprint, TALLY.groups, library=first) + Tally(
        D.fingerprint, TALLY.groups, library=second
    )
    assert found.library == both
    assert found.fingerprint == D.fingerprint
    assert found.away is None
    assert counted(found) == Counter({k: 2 * v for k, v in counted(TALLY).items()})


def test_single_reports_become_columns_of_their_questionnaire():
    sent = [(1, (1, 2, 299)), (0, (256,)), (1, (0, 1, 0)), (1, (1, 0, 7))]
    reports = [Report(MIXED.fingerprint, q, codes) for q, codes in sent]
    found = gathered(reports, MIXED)
    assert (found.fingerprint, found.n) == (MIXED.fingerprint, 4)
    assert [batch.rows.tolist() for batch in found.batches] == [[1], [0, 2, 3]]
    assert [[c.tolist() for c in batch.codes] for batch in found.batches] == [
        [[256]],
        [[1, 0, 1], [2, 1, 0], [299, 0, 7]],
    ]
    types = [["uint16"], ["uint8", "uint8", "uint16"]]
    assert [[c.dtype.name for c in batch.codes] for batch in found.batches] == types
    nobody = gathered([], MIXED)
    assert [[len(c) for c in batch.codes] for batch in nobody.batches] == [[0], [0, 0, 0]]


def test_options_reach_every_way_of_counting():
    reports = reports_of(THREE, 60)
    responses = [
        Report(THREE.fingerprint, 0, tuple(map(int, row)))
        for row in zip(*reports.batches[0].codes, strict=True)
    ]
    for found in (
        tally_codes(reports, THREE, keep="sums", sample=7),
        tally_responses(responses, THREE, keep="sums", sample=7),
        tally_batches([reports], THREE, keep="sums", sample=7),
    ):
        assert found.has_sums
        assert found.listed == 7
        assert found == tally_codes(reports, THREE, keep="sums", sample=7)
    with pytest.raises(TallyError, match="is none of"):
        tally_batches([reports], THREE, keep="all")
    with pytest.raises(TallyError, match="sample=-1"):
        tally_batches([reports], THREE, sample=-1)


def test_wrong_columns_are_named_with_their_questionnaire():
    good = [np.array([0])]
    with pytest.raises(TallyError, match="questionnaire 1 has 3 clusters, not 1"):
        tally_codes([good, good], MIXED)
    with pytest.raises(TallyError, match="questionnaire 1 needs a positive whole count"):
        tally_codes([good, good * 3], MIXED, counts=[[1], [0]])
    with pytest.raises(TallyError, match="counts for 1 questionnaires, codes for 2"):
        tally_codes([good, good * 3], MIXED, counts=[[1]])
    with pytest.raises(TallyError, match="codes for 1 questionnaires, the design has 2"):
        tally_codes([good], MIXED)
    part = {"codes": good, "counts": np.array([1])}
    with pytest.raises(TallyError, match="codes for 1 questionnaires, the design has 2"):
        tally_of_parts([part], MIXED)
    with pytest.raises(TallyError, match="questionnaire 1 has 3 clusters, not 1"):
        tally_of_parts([part, part], MIXED)
    found = tally_codes([good, good * 3], MIXED, counts=[[4], [5]])
    assert counted(found) == Counter({(0, 0): 4, (1, 0, 0, 0): 5})


def halves(reports, design):
    """The same reports in two batches, each person in the batch of her row's parity."""
    return [
        replace(
            reports,
            n=sum(int((b.rows % 2 == which).sum()) for b in reports.batches),
            batches=tuple(
                Batch(b.rows[b.rows % 2 == which], tuple(c[b.rows % 2 == which] for c in b.codes))
                for b in reports.batches
            ),
        )
        for which in (0, 1)
    ]


@pytest.mark.parametrize("cells", [10**6, 300 + 1800, 300 + 1800 - 1])
@pytest.mark.parametrize("at_once", [1, 250, 10**6])
def test_batches_are_counted_alike_by_table_and_by_list(cells, at_once, monkeypatch):
    """300 reports can occur to the first questionnaire, 1,800 to the second."""
    monkeypatch.setattr(tallies, "MOST_CELLS", cells)
    monkeypatch.setattr(tallies, "AT_ONCE", at_once)
    reports = reports_of(MIXED)
    found = tally_batches(iter(halves(reports, MIXED)), MIXED)
    assert found == tally_codes(reports, MIXED)
    assert found.fingerprint == MIXED.fingerprint
    assert [c.dtype for g in found.groups for c in g.codes] == [
        c.dtype for g in tally_codes(reports, MIXED).groups for c in g.codes
    ]


@pytest.mark.parametrize("cells", [0, 10**6], ids=["by list", "by table"])
@pytest.mark.parametrize("case", ["questionnaire less", "one more", "column less", "column more"])
def test_batches_that_do_not_have_the_designs_form_are_refused(cells, case, monkeypatch):
    monkeypatch.setattr(tallies, "MOST_CELLS", cells)
    good = reports_of(MIXED)
    first, second = good.batches
    changed = {
        "questionnaire less": (first,),
        "one more": (first, second, second),
        "column less": (first, replace(second, codes=second.codes[:2])),
        "column more": (first, replace(second, codes=second.codes + second.codes[:1])),
    }[case]
    bad = replace(good, batches=changed)
    for batches in ([bad], [good, bad]):
        with pytest.raises(ValueError, match=r"has 3 clusters, not [24]|zip\(\)"):
            tally_batches(batches, MIXED)


@pytest.mark.parametrize("cells", [0, 10**6], ids=["by list", "by table"])
def test_wrong_batches_are_named_with_their_questionnaire(cells, monkeypatch):
    monkeypatch.setattr(tallies, "MOST_CELLS", cells)
    good = reports_of(MIXED)
    first, second = good.batches
    bad = replace(good, batches=(first, replace(second, codes=second.codes[:2])))
    with pytest.raises(TallyError, match="questionnaire 1 has 3 clusters, not 2"):
        tally_batches([bad], MIXED)
    with pytest.raises(TallyError, match="not under"):
        tally_batches([good, reports_of(D)], MIXED)


def test_once_there_are_sums_later_batches_are_summed_too(monkeypatch):
    """The sample is then drawn from the reports as they come, not from a list of distinct ones."""
    monkeypatch.setattr(tallies, "MOST_CELLS", 0)
    monkeypatch.setattr(tallies, "AT_ONCE", 1)
    monkeypatch.setattr(groups, "MOST_CODES", 30)
    many, few = reports_of(THREE, 60, seed=1), reports_of(THREE, 10, seed=2)
    wanted = tally_codes(many, THREE, sample=9) + tally_codes(few, THREE, keep="sums", sample=9)
    assert wanted.has_sums
    assert not tally_codes(few, THREE).has_sums
    assert tally_batches([many, few], THREE, sample=9) == wanted


def listed_in(cells):
    """Reports of the given cells of THREE, one each."""
    codes = np.unravel_index(np.array(cells, dtype=np.int64), (2, 3, 4))
    return Reports(THREE.fingerprint, len(cells), (Batch(None, codes),))


def test_batches_wait_until_they_are_as_many_as_are_listed(monkeypatch):
    """Four of 20 distinct reports come at a time; what is listed waits for as many new ones."""
    monkeypatch.setattr(tallies, "MOST_CELLS", 0)
    monkeypatch.setattr(tallies, "AT_ONCE", 4)
    counted_at_once = []

    def spied(total, waiting, *options):
        counted_at_once.append(sum(batch.n for batch in waiting))
        return added(total, waiting, *options)

    added = tallies._added
    monkeypatch.setattr(tallies, "_added", spied)
    found = tally_batches([listed_in(range(at, at + 4)) for at in range(0, 20, 4)], THREE)
    assert counted_at_once == [4, 4, 8, 4]
    assert found == tally_codes(listed_in(range(20)), THREE)


def test_a_table_of_all_that_can_occur_is_used_up_to_its_limit(monkeypatch):
    """24 reports can occur. Nothing is merged then, and the people so far are counted with it."""
    people = []

    def spied(table, columns, sizes, rows):
        people.append(rows)
        count_rows(table, columns, sizes, rows)

    count_rows = tallies.count_rows
    monkeypatch.setattr(tallies, "count_rows", spied)
    batches = [listed_in([0, 1, 23]), listed_in([1, 1]), listed_in([])]
    for most, wanted in ((23, []), (24, [3, 5, 5])):
        people.clear()
        monkeypatch.setattr(tallies, "MOST_CELLS", most)
        found = tally_batches(batches, THREE)
        assert people == wanted
        assert counted(found) == Counter({(0, 0, 0, 0): 1, (0, 0, 0, 1): 3, (0, 1, 2, 3): 1})


def test_a_table_with_too_many_distinct_reports_becomes_sums(monkeypatch):
    monkeypatch.setattr(groups, "MOST_CODES", 30)
    found = tally_batches([listed_in(range(10)), listed_in(range(20))], THREE, sample=9)
    assert found.has_sums
    assert (found.n, found.listed) == (30, 9)
    assert not tally_batches([listed_in(range(10))], THREE, sample=9).has_sums
