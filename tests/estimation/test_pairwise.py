"""Estimators of pair tables: each pair by itself, or from axes that all pairs share."""

from itertools import combinations

import numpy as np
import pytest

from mdrr.domain import Attribute, Domain
from mdrr.errors import EstimateError
from mdrr.estimation import correspondence, estimate, pairwise
from mdrr.estimation.evidence import Evidence
from mdrr.planning import split_questionnaire
from mdrr.protocols import clustered, independent, sampled
from mdrr.tallies import tally_codes
from tests.estimation.planted import SHAPE
from tests.estimation.simulated import DOMAIN, people, reports, truth
from tests.estimation.test_unbiased import mixed

WIDE = Domain(
    tuple(Attribute(name, tuple(range(size))) for name, size in zip("abcde", SHAPE, strict=True))
)
PAIRS = list(combinations(WIDE.names, 2))


def test_all_pairs_together_show_what_one_alone_does_not():
    columns = people(12_000, domain=WIDE)
    design = sampled(WIDE, 2, epsilon=1.0, report="subset")
    errors = {"product": [], "pairwise": [], "correspondence": []}
    for seed in range(2):
        tally = reports(columns, design, seed)
        for method in errors:
            found = estimate(tally, design, method)
            gaps = [found.table(*p).values - truth(columns, p, WIDE) for p in PAIRS]
            errors[method].append(sum(np.abs(gap).sum() for gap in gaps))
    means = {method: np.mean(values) for method, values in errors.items()}
    assert means["correspondence"] < 0.9 * min(means["product"], means["pairwise"])


def test_what_nobody_reported_together_follows_from_the_axes():
    columns = people(20_000, domain=WIDE)
    asked = [p for p in PAIRS if p != ("a", "c")]
    design = split_questionnaire(WIDE, asked, epsilon=6.0)
    found = estimate(reports(columns, design, 2), design, "correspondence")
    exact = truth(columns, ("a", "c"), WIDE)
    product = np.outer(found.table("a").values, found.table("c").values)
    error = np.abs(found.table("a", "c").values - exact).sum()
    assert error < 0.7 * np.abs(product - exact).sum()


@pytest.mark.parametrize("method", [pairwise, correspondence])
@pytest.mark.parametrize(
    "design",
    [
        independent(DOMAIN, epsilon=8.0),
        clustered(DOMAIN, [["a", "c"], ["b"]], epsilon=6.0),
        sampled(DOMAIN, 2, epsilon=2.0),
        split_questionnaire(DOMAIN, ["ab", "ac", "bc"], epsilon=2.0),
        mixed(),
    ],
    ids=["independent", "clustered", "sampled", "subsets", "mixed"],
)
def test_finds_what_a_product_misses(method, design):
    columns = people(20_000)
    found = method(reports(columns, design, 2), design)
    exact = truth(columns, ("a", "c"))
    flat = np.outer(exact.sum(axis=1), exact.sum(axis=0))
    table = found.table("a", "c").values
    assert np.abs(table - exact).sum() < 0.7 * np.abs(flat - exact).sum()
    assert found.notes["carried"] < 1e-4


@pytest.mark.parametrize(
    ("method", "options"),
    [("pairwise", {"shrink": False}), ("pairwise", {}), ("correspondence", {"axes": 3})],
)
def test_margins_are_those_of_the_evidence(method, options):
    columns = people(4_000)
    design = independent(DOMAIN, epsilon=6.0)
    tally = reports(columns, design, 1)
    found = estimate(tally, design, method, **options)
    for name, margin in zip(DOMAIN.names, Evidence(tally, design).margins, strict=True):
        # Each pair table is carried to 1e-5 in total variation.
        assert found.table(name).values == pytest.approx(margin, abs=1e-4)


def test_pairs_that_nobody_reported_together_are_independent():
    columns = people(4_000)
    design = sampled(DOMAIN, 1, epsilon=3.0)
    found = pairwise(reports(columns, design, 1), design)
    product = np.outer(found.table("a").values, found.table("c").values)
    assert found.table("a", "c").values == pytest.approx(product, abs=1e-12)


def test_shrinking_helps_where_reports_are_noisy():
    columns = [np.random.default_rng(j).integers(0, s, 3_000) for j, s in enumerate((3, 2, 4))]
    design = independent(DOMAIN, epsilon=3.0)
    tally = reports([c.astype(np.uint8) for c in columns], design, 1)
    errors = [
        np.abs(found.table("a", "c").values - truth(columns, ("a", "c"))).sum()
        for found in (pairwise(tally, design), pairwise(tally, design, shrink=False))
    ]
    assert errors[0] < 0.6 * errors[1]


@pytest.mark.parametrize("method", ["pairwise", "auto"])
def test_a_rare_category_that_goes_together_is_not_lost(method):
    n, share, rng = 20_000, 0.003, np.random.default_rng(0)
    domain = Domain(tuple(Attribute(name, tuple(range(4))) for name in "abcd"))
    together = rng.random(n) < share
    columns = [np.where(together, 3, rng.integers(0, 3, n)).astype(np.uint8) for _ in "abcd"]
    design = independent(domain, epsilon=30.0)
    found = estimate(reports(columns, design, 1), design, method).count({"a": [3], "b": [3]})
    assert found.value == pytest.approx(together.sum(), rel=0.25)


def test_what_cannot_be_estimated_is_refused():
    design = independent(DOMAIN, epsilon=5.0)
    tally = reports(people(500), design, 1)
    with pytest.raises(EstimateError, match="axes=0 must be a whole number, at least 1"):
        correspondence(tally, design, axes=0)
    empty = tally_codes([[np.array([], int)] * 3], design)
    for method in (pairwise, correspondence):
        with pytest.raises(EstimateError, match="the tally is empty"):
            method(empty, design)


def test_one_attribute_and_two_are_answered():
    for names in ("a", "ab"):
        domain = DOMAIN.project(list(names))
        design = independent(domain, epsilon=4.0)
        columns = people(2_000)[: len(names)]
        tally = reports(columns, design, 1)
        for method in (pairwise, correspondence):
            found = method(tally, design)
            assert found.table(*names).values.sum() == pytest.approx(1)
            assert np.abs(found.table("a").values - truth(columns, ("a",), domain)).sum() < 0.2
