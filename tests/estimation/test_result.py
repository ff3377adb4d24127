"""An estimate answers tables, counts and samples consistently, in every frame library."""

import io
import json
import pickle
from functools import cache

import numpy as np
import pytest

from mdrr.design import Design
from mdrr.domain import Attribute, Domain
from mdrr.errors import EstimateError, QueryError, SchemaError
from mdrr.estimation import METHODS, estimate
from mdrr.estimation.result import FORMAT, Estimate
from mdrr.protocols import clustered, independent, joint, sampled
from mdrr.tallies import tally_codes
from tests.cases import MIXED, domain_of
from tests.chance import ALPHA, surprise
from tests.people import distribution, records, reported

D = domain_of(2, 3, 4)


def made(method="product", design: Design | None = None, n=2000) -> Estimate:
    design = design or clustered(D, [["a", "c"], ["b"]], p=0.6)
    tally = reported(records(distribution(design.domain, 1), n, 1), design, 1)
    return estimate(tally, design, method)


@cache
def once(method: str) -> Estimate:
    return made(method)


@pytest.fixture(params=["product", "adjust", "pairwise", "auto"])
def found(request) -> Estimate:
    return once(request.param)


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


def test_the_level_sets_the_width(found):
    narrow, wide = (found.count({"a": ["a0"]}, level=level) for level in (0.5, 0.99))
    assert wide.low < narrow.low < narrow.value < narrow.high < wide.high
    assert wide.level == 0.99
    table = found.table("a", level=0.5)
    assert table.low[0] == pytest.approx(narrow.low / found.n)
    assert table.high[0] == pytest.approx(narrow.high / found.n)


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
def test_what_cannot_be_answered_is_refused(call, kind, complaint, found):
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
    assert f"a table of 52 attributes has {2**52:,} cells (the most is 16,777,216)" in said
    assert "Name fewer attributes, count sets of combinations with .count({…})" in said
    assert found.table(*domain.names[:3]).values.shape == (2, 2, 2)


def test_swapped_arguments_are_named():
    design = independent(domain_of(2), p=0.5)
    tally = tally_codes([[np.array([0, 1])]], design)
    with pytest.raises(EstimateError, match=r"the tally comes first.*estimate\(tally, design\)"):
        estimate(design, tally)  # type: ignore[arg-type]


def test_an_estimate_is_shown_in_a_line():
    assert repr(once("adjust")) == "<Estimate by adjust: 2,000 people, 3 attributes>"


def test_a_table_is_shown_with_its_first_cells():
    found = once("product")
    table = found.table("b", "a")
    head, *rows = repr(table).splitlines()
    assert head == "<Table of b × a"
    labels = [D.attribute(name).categories for name in ("b", "a")]
    assert rows[1].strip() == f"{labels[0][0]}, {labels[1][1]}: {table.values[0, 1]:.4f}"
    assert len(rows) == 6
    assert "… and 12 more" in repr(found.table("a", "b", "c"))


SAVED = {
    "product": ("product", clustered(D, [["a", "c"], ["b"]], p=0.6)),
    "adjust": ("adjust", clustered(D, [["a", "c"], ["b"]], p=0.6)),
    "pairwise": ("pairwise", independent(D, epsilon=6.0)),
    "latent": ("latent", sampled(D, 2, epsilon=3.0)),
    "records": ("auto", joint(D, epsilon=8.0)),
    "labels": ("auto", independent(MIXED, p=0.5)),
    "subsets": ("auto", sampled(D, 2, epsilon=2.0, report="subset")),
}


@pytest.mark.parametrize("which", SAVED)
def test_a_saved_estimate_gives_the_same_answers_and_intervals(which, tmp_path):
    method, design = SAVED[which]
    found = made(method, design, n=600)
    found.save(tmp_path / "est.mdrr")
    again = Estimate.load(tmp_path / "est.mdrr")
    assert (again.method, again.n, again.domain) == (found.method, found.n, found.domain)
    assert again.evidence.design.fingerprint == design.fingerprint
    names = design.domain.names
    for asked in ((names[0],), names[1::-1], names[:3]):
        for one, other in zip(
            *[(t.values, t.low, t.high) for t in (e.table(*asked) for e in (found, again))],
            strict=True,
        ):
            np.testing.assert_array_equal(one, other)
    where = {names[1]: [design.domain.attributes[1].categories[0]]}
    for of in ("people", "population"):
        assert again.count(where, of=of) == found.count(where, of=of)
    one, other = (e.sample(50, seed=4, backend="pandas") for e in (found, again))
    assert one.equals(other)
    assert again.to_frame("pandas").equals(found.to_frame("pandas"))
    assert set(again.notes) == set(found.notes)
    assert [p.name for p in tmp_path.iterdir()] == ["est.mdrr"], "nothing else is left behind"


def test_a_record_kept_whole_is_a_saved_one_too():
    method, design = SAVED["records"]
    found = made(method, design, n=600)
    assert found.joint.pinned, "else nothing of them is tested"
    again = Estimate.from_bytes(found.to_bytes())
    for one, other in zip(found.joint.pinned, again.joint.pinned, strict=True):
        assert one.places == other.places
        np.testing.assert_array_equal(one.codes, other.codes)
        np.testing.assert_array_equal(one.shares, other.shares)


def broken(**changes):
    """The bytes of a saved estimate with some of its arrays changed or left out."""
    with np.load(io.BytesIO(once("pairwise").to_bytes())) as file:
        arrays = {name: file[name] for name in file.files}
    about = json.loads(arrays["about"].tobytes())
    for name, value in changes.items():
        if name in arrays and value is None:
            del arrays[name]
        elif name in arrays:
            arrays[name] = value
        else:
            about[name.replace("_", "-")] = value
    if "about" in arrays:
        arrays["about"] = np.frombuffer(json.dumps(about).encode(), np.uint8)
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def objects():
    out = io.BytesIO()
    np.savez(out, about=np.array([{"mdrr-estimate": 1}], dtype=object))
    return out.getvalue()


def plain_array():
    out = io.BytesIO()
    np.save(out, np.zeros(3))
    return out.getvalue()


RUBBISH = {
    "nothing": lambda: b"",
    "text": lambda: b"{}",
    "a zip without files": lambda: b"PK\x05\x06" + bytes(18),
    "half a file": lambda: once("pairwise").to_bytes()[:-100],
    "a pickle": lambda: pickle.dumps({"mdrr-estimate": 1}),
    "pickled arrays": lambda: objects(),
    "one array": lambda: plain_array(),
    "no description": lambda: broken(about=None),
    "no tally": lambda: broken(tally=None),
    "no weights": lambda: broken(weights=None),
    "another joint": lambda: broken(joint="Magic"),
    "a design that is none": lambda: broken(design={"domain": []}),
    "a tally that is none": lambda: broken(tally=np.frombuffer(b"{}", np.uint8)),
    "weights of text": lambda: broken(weights=np.array(["a", "b"])),
    "too few tables": lambda: broken(tables=np.ones((2, 1))),
    "weights that do not sum": lambda: broken(weights=np.full(3, 9.0)),
    "no numbers": lambda: broken(weights=np.full(3, np.nan)),
}


@pytest.mark.parametrize("which", RUBBISH)
def test_what_is_no_saved_estimate_is_refused_in_one_sentence(which, tmp_path):
    path = tmp_path / "est.mdrr"
    path.write_bytes(RUBBISH[which]())
    with pytest.raises(EstimateError) as error:
        Estimate.load(path)
    assert "\n" not in str(error.value)


def test_another_format_is_named():
    with pytest.raises(EstimateError, match=rf"has format 99; this version reads {FORMAT}"):
        Estimate.from_bytes(broken(mdrr_estimate=99))


def test_a_file_that_cannot_be_read_or_written_is_named(tmp_path):
    with pytest.raises(EstimateError, match=r"cannot read .*none\.mdrr"):
        Estimate.load(tmp_path / "none.mdrr")
    with pytest.raises(EstimateError, match=r"cannot write .*none.*est\.mdrr"):
        once("product").save(tmp_path / "none" / "est.mdrr")
    assert list(tmp_path.iterdir()) == []


def test_tables_of_numbers_and_of_booleans_show_their_labels():
    domain = Domain((Attribute("rooms", (1, 2, 10)), Attribute("owner", (False, True))))
    found = estimate(*_even(independent(domain, p=0.5)), "product")
    rooms, owner = repr(found.table("rooms")), repr(found.table("owner"))
    assert rooms.splitlines() == ["<Table of rooms", "  1: 0.3333", "  2: 0.3333", "  10: 0.3333>"]
    assert owner.splitlines() == ["<Table of owner", "  False: 0.5000", "  True: 0.5000>"]


def _even(design):
    """Every report of a design of two clusters, once each."""
    sizes = [cluster.matrix.outcomes for cluster in design.questionnaires[0].clusters]
    return tally_codes([list(np.indices(sizes).reshape(2, -1))], design), design


@pytest.mark.parametrize("method", ["latent", "pairwise", "product", "adjust"])
def test_a_billion_combinations_are_estimated_or_refused_in_one_line(method):
    """2^30 cells and 200 people. The methods that need every cell say so."""
    domain = domain_of(*[8] * 10)
    design = joint(domain, epsilon=20.0)
    tally = tally_codes([[np.arange(200) * 5_000_011]], design)
    if method in ("product", "adjust"):
        with pytest.raises(EstimateError, match="1,073,741,824 cells"):
            estimate(tally, design, method)
        return
    found = estimate(tally, design, method)
    assert found.table("a").values.sum() == pytest.approx(1)
    count = found.count("a == 'a1'")
    assert 0 <= count.low <= count.value <= count.high <= 200


def test_columns_of_results_do_not_replace_labels_of_attributes():
    domain = Domain((Attribute("low", ("x", "y")), Attribute("probability", ("x", "y"))))
    found = estimate(*_even(independent(domain, p=0.5)), "product")
    assert list(found.table("low").to_frame("pandas").columns) == ["low", "probability"]
    for make in (
        lambda: found.table("low").to_frame(intervals=True),
        found.table("probability").to_frame,
        found.to_frame,
    ):
        with pytest.raises(EstimateError, match="has the name of a column of results"):
            make()
