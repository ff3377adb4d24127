"""An estimate answers tables, counts and samples consistently, in every frame library."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdrr.design import Design
from mdrr.domain import Attribute, Domain
from mdrr.errors import EstimateError, QueryError, SchemaError
from mdrr.estimation import METHODS, estimate
from mdrr.estimation.joint import Factor, ProductJoint
from mdrr.estimation.result import Deviation, Estimate
from mdrr.protocols import clustered, independent
from mdrr.tallies import tally_codes
from tests.cases import MIXED, domain_of
from tests.chance import ALPHA, surprise
from tests.people import distribution, records, reported

D = domain_of(2, 3, 4)


def made(method="product", design: Design | None = None, n=2000) -> Estimate:
    design = design or clustered(D, [["a", "c"], ["b"]], p=0.6)
    tally = reported(records(distribution(design.domain, 1), n, 1), design, 1)
    return estimate(tally, design, method)


ESTIMATES = {"product": made("product"), "adjust": made("adjust")}


class Fixed:
    """A spread with a given centre and error."""

    def __init__(self, centre: float, error: float) -> None:
        self.found = Deviation(centre, error)

    def deviation(self, query, of, /):
        return self.found


def half(centre, error, n=100) -> Estimate:
    joint = ProductJoint(domain_of(2), (Factor(("a",), np.array([0.5, 0.5])),))
    return Estimate(domain_of(2), n, "fixed", joint, Fixed(centre, error))


@pytest.mark.parametrize("found", ESTIMATES.values(), ids=ESTIMATES)
def test_counts_and_tables_agree(found):
    table = found.table("c", "a")
    assert table.attributes == ("c", "a")
    assert table.values.shape == (4, 2)
    for c in range(4):
        for a in range(2):
            count = found.count({"a": [f"a{a}"], "c": [f"c{c}"]})
            assert count.value == pytest.approx(table.values[c, a] * found.n)
            assert count.share == pytest.approx(table.values[c, a])
            assert table.low[c, a] == pytest.approx(count.low / found.n)
            assert table.high[c, a] == pytest.approx(count.high / found.n)
            assert 0 <= count.low <= count.value <= count.high <= found.n


@pytest.mark.parametrize("found", ESTIMATES.values(), ids=ESTIMATES)
def test_every_way_of_asking_gives_the_same_count(found):
    asked = [
        {"a": ["a1"], "b": ["b0", "b2"]},
        {("a", "b"): [("a1", "b0"), ("a1", "b2")]},
        {("b", "a"): [("b2", "a1"), ("b0", "a1")]},
        "a == 'a1' and b in ('b0', 'b2')",
        "not (a == 'a0' or b == 'b1')",
    ]
    counts = [found.count(where) for where in asked]
    for count in counts[1:]:
        assert count.value == pytest.approx(counts[0].value)
        assert count.low == pytest.approx(counts[0].low)
        assert count.high == pytest.approx(counts[0].high)


@pytest.mark.parametrize(
    ("centre", "error", "low", "high"),
    [
        (0.5, 0.1, 50 - 19.6, 50 + 19.6),
        (0.4, 0.01, 40 - 1.96, 50),  # widened to hold the value
        (0.6, 0.01, 50, 60 + 1.96),
        (0.1, 0.2, 0, 50),  # cut at 0
        (0.9, 0.2, 50, 100),  # cut at n
        (-3.0, 0.1, 0, 50),
        (4.0, 0.1, 50, 100),
        (0.5, 0.0, 50, 50),
    ],
)
def test_the_interval_is_centred_cut_and_widened(centre, error, low, high):
    count = half(centre, error).count({"a": ["a0"]})
    assert count.value == 50
    assert count.low == pytest.approx(low, abs=1e-2)
    assert count.high == pytest.approx(high, abs=1e-2)


def test_the_level_sets_the_width():
    narrow, wide = (half(0.5, 0.05).count({"a": ["a0"]}, level=v) for v in (0.5, 0.99))
    assert narrow.high - 50 == pytest.approx(0.6745 * 5, abs=1e-2)
    assert wide.high - 50 == pytest.approx(2.5758 * 5, abs=1e-2)
    assert wide.level == 0.99
    table = half(0.5, 0.05).table("a", level=0.5)
    np.testing.assert_allclose(table.high, 0.5 + 0.6745 * 0.05, atol=1e-4)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(centre=st.floats(-2, 3), error=st.floats(0, 2), level=st.floats(0.01, 0.99))
def test_an_interval_always_holds_its_value_within_the_people(centre, error, level):
    count = half(centre, error).count({"a": ["a0"]}, level=level)
    assert 0 <= count.low <= count.value <= count.high <= 100


@pytest.mark.parametrize("backend", ["polars", "pandas", "pyarrow"])
def test_frames_have_labels_of_their_own_type(backend):
    found = made(design=independent(MIXED, p=0.5))
    frame = found.table("smokes", "children").to_frame(backend, intervals=True)
    columns = {
        "polars": lambda: frame.to_dict(as_series=False),
        "pandas": lambda: frame.to_dict("list"),
        "pyarrow": lambda: frame.to_pydict(),
    }[backend]()
    assert list(columns) == ["smokes", "children", "probability", "low", "high"]
    assert columns["smokes"] == [False] * 4 + [True] * 4
    assert columns["children"] == [0, 1, 2, -5] * 2
    assert sum(columns["probability"]) == pytest.approx(1)
    assert all(
        low <= p <= high
        for low, p, high in zip(
            columns["low"], columns["probability"], columns["high"], strict=True
        )
    )


@pytest.mark.parametrize("found", ESTIMATES.values(), ids=ESTIMATES)
def test_a_sample_is_drawn_from_the_estimate(found):
    """χ² of a × c in the sample against the table; false alarm 1e-5."""
    frame = found.sample(20_000, seed=3, backend="pandas")
    assert list(frame.columns) == ["a", "b", "c"]
    counts = frame.groupby(["a", "c"]).size().unstack(fill_value=0).reindex(
        index=D.attribute("a").categories, columns=D.attribute("c").categories, fill_value=0
    )  # fmt: skip
    assert surprise(counts.to_numpy(), found.table("a", "c").values) > ALPHA
    assert frame.equals(found.sample(20_000, seed=3, backend="pandas"))
    assert not frame.equals(found.sample(20_000, seed=4, backend="pandas"))
    assert not frame.equals(found.sample(20_000, backend="pandas"))
    assert len(found.sample(1)) == 1


@pytest.mark.parametrize("found", ESTIMATES.values(), ids=ESTIMATES)
def test_the_whole_estimate_as_a_frame(found):
    frame = found.to_frame("pandas")
    assert frame["probability"].sum() == pytest.approx(1)
    assert (frame["probability"] > 0).all()
    assert not frame[["a", "b", "c"]].duplicated().any()
    by_b = frame.groupby("b")["probability"].sum().reindex(D.attribute("b").categories)
    np.testing.assert_allclose(by_b.fillna(0), found.table("b").values, atol=1e-12)


@pytest.mark.parametrize(
    ("call", "kind", "complaint"),
    [
        (lambda e: e.table(), EstimateError, "name at least one attribute"),
        (lambda e: e.table(["a", "b"]), EstimateError, "named one by one"),
        (lambda e: e.table("a", "a"), EstimateError, "an attribute is named twice: a, a"),
        (lambda e: e.table("z"), SchemaError, "no attribute 'z'. Known: 'a', 'b', 'c'"),
        (lambda e: e.table("a", level=1.0), EstimateError, "level=1.0: a confidence level lies"),
        (lambda e: e.count({"a": ["a0"]}, level=0), EstimateError, "level=0"),
        (lambda e: e.count({"a": ["a0"]}, level=float("nan")), EstimateError, "level=nan"),
        (lambda e: e.count({"a": ["a0"]}, of="planet"), EstimateError, "choose 'people' or 'popul"),
        (lambda e: e.count({"a": ["x"]}), QueryError, "'a' has no category 'x'"),
        (lambda e: e.count("a =="), QueryError, "cannot be read"),
        (lambda e: e.sample(0), EstimateError, "n=0 must be a whole number, at least 1"),
    ],
)
def test_what_cannot_be_answered_is_refused(call, kind, complaint):
    for found in ESTIMATES.values():
        with pytest.raises(kind) as error:
            call(found)
        assert complaint in str(error.value)


def test_the_methods_are_listed():
    assert {"product", "adjust"} <= set(METHODS)


def test_a_table_too_large_says_what_to_ask_instead():
    domain = Domain(tuple(Attribute(f"a{i}", ("x", "y")) for i in range(52)))
    design = independent(domain, p=0.5)
    rng = np.random.default_rng(1)
    found = estimate(tally_codes([list(rng.integers(0, 2, (52, 40)))], design), design, "product")
    with pytest.raises(EstimateError) as caught:
        found.table(*domain.names)
    said = str(caught.value)
    assert f"a table of 52 attributes has {2**52:,} cells (the most is 67,108,864)" in said
    assert "Name fewer attributes, count sets of combinations with .count({…})" in said
    assert found.table(*domain.names[:3]).values.shape == (2, 2, 2)


def test_swapped_arguments_are_named():
    design = independent(domain_of(2), p=0.5)
    tally = tally_codes([[np.array([0, 1])]], design)
    with pytest.raises(EstimateError, match=r"the tally comes first.*estimate\(tally, design\)"):
        estimate(design, tally)  # type: ignore[arg-type]


def test_an_estimate_is_shown_in_a_line():
    assert repr(ESTIMATES["adjust"]) == "<Estimate by adjust: 2,000 people, 3 attributes>"


def test_a_table_is_shown_with_its_first_cells():
    found = ESTIMATES["product"]
    table = found.table("b", "a")
    head, *rows = repr(table).splitlines()
    assert head == "<Table of b × a"
    labels = [D.attribute(name).categories for name in ("b", "a")]
    assert rows[1].strip() == f"{labels[0][0]}, {labels[1][1]}: {table.values[0, 1]:.4f}"
    assert len(rows) == 6
    assert "… and 12 more" in repr(found.table("a", "b", "c"))
