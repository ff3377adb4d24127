"""The charts hold the numbers they are asked to show, and nothing they were not given."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import mdrr
from mdrr import plots
from mdrr.dependence import Dependences
from mdrr.errors import MdrrError
from mdrr.estimation import Count, Estimate
from mdrr.plots.designs import _ticks
from mdrr.tallies import tally_codes

DOMAIN = mdrr.Domain(
    (
        mdrr.Attribute("colour", ("red", "green", "blue")),
        mdrr.Attribute("grade", ("low", "mid", "high"), kind="ordinal"),
        mdrr.Attribute("smokes", ("no", "yes")),
    )
)
DEPENDENCES = Dependences(DOMAIN.names, np.array([[1, 0.2, 0.6], [0.2, 1, 0.4], [0.6, 0.4, 1]]))


def found(design: mdrr.Design | None = None) -> Estimate:
    design = design or mdrr.independent(DOMAIN, p=0.6)
    rng = np.random.default_rng(5)
    codes = [
        rng.choice(r, 3000, p=np.arange(1, r + 1) / np.arange(1, r + 1).sum()) for r in (3, 3, 2)
    ]
    return mdrr.estimate(tally_codes([codes], design), design)


def rows_of(chart: plots.Chart) -> list[dict[str, Any]]:
    """All data of a chart, layer by layer."""
    spec = chart.to_dict()
    return [
        row
        for layer in spec["layer"]
        for row in layer.get("data", spec.get("data", {})).get("values", [])
    ]


def sent(chart: plots.Chart) -> str:
    return str(chart.to_dict())


def test_marginal_shows_every_share_and_interval_most_frequent_first() -> None:
    estimate = found()
    chart = plots.marginal(estimate, "colour")
    rows = [row for row in rows_of(chart) if "value" in row][:3]
    table = estimate.table("colour")
    order = np.argsort(-table.values)
    assert [row["label"] for row in rows] == [
        DOMAIN.attribute("colour").categories[i] for i in order
    ]
    np.testing.assert_allclose([row["value"] for row in rows], 100 * table.values[order])
    np.testing.assert_allclose([row["low"] for row in rows], 100 * table.low[order])
    np.testing.assert_allclose([row["high"] for row in rows], 100 * table.high[order])


def test_marginal_keeps_the_order_of_ordered_categories() -> None:
    rows = [row for row in rows_of(plots.marginal(found(), "grade")) if "value" in row][:3]
    assert [row["label"] for row in rows] == ["low", "mid", "high"]


def test_marginal_draws_the_truth_only_when_it_is_given() -> None:
    estimate = found()
    truth = np.array([0.123, 0.456, 0.421])
    with_truth = rows_of(plots.marginal(estimate, "colour", truth=truth))
    shown = {row["label"]: row["truth"] for row in with_truth if "truth" in row}
    assert shown == pytest.approx({"red": 12.3, "green": 45.6, "blue": 42.1})
    assert "truth" not in sent(plots.marginal(estimate, "colour"))


def test_marginal_refuses_a_truth_of_another_length() -> None:
    with pytest.raises(MdrrError, match="3 categories, the truth has 2"):
        plots.marginal(found(), "colour", truth=np.array([0.5, 0.5]))


def test_heat_map_puts_clusters_side_by_side_and_frames_them() -> None:
    chart = plots.heat_map(DEPENDENCES, clusters=(("colour", "smokes"), ("grade",)))
    spec = chart.to_dict()
    assert spec["layer"][0]["encoding"]["x"]["scale"]["domain"] == ["colour", "smokes", "grade"]
    values = {(row["row"], row["column"]): row["value"] for row in rows_of(chart) if "row" in row}
    assert values["smokes", "colour"] == values["colour", "smokes"] == 0.6
    assert len(values) == 6
    frames = [layer for layer in spec["layer"] if layer["mark"].get("filled") is False]
    assert len(frames) == 1  # a cluster of one needs none
    cell = spec["width"] / 3
    assert frames[0]["encoding"]["x2"]["value"] == pytest.approx(2 * cell)


UNSURE = Dependences(
    DOMAIN.names,
    DEPENDENCES.values,
    low=np.array([[1, 0, 0.4], [0, 1, 0.1], [0.4, 0.1, 1]]),
    high=np.array([[1, 0.311, 0.8], [0.311, 1, 0.7], [0.8, 0.7, 1]]),
)


def test_heat_map_hatches_what_cannot_be_told_from_0() -> None:
    chart = plots.heat_map(UNSURE, clusters=(("colour", "smokes"), ("grade",)))
    texts = {(r["row"], r["column"]): r["text"] for r in rows_of(chart) if "text" in r}
    assert texts["colour", "grade"] == texts["grade", "colour"] == "<.32"  # rounded up
    assert texts["colour", "smokes"] == ".60"
    values = {(r["row"], r["column"]): r["value"] for r in rows_of(chart) if "value" in r}
    assert values["colour", "grade"] == 0  # noise is not shaded
    hatched = [r for r in rows_of(chart) if set(r) == {"row", "column"}]
    assert {(r["row"], r["column"]) for r in hatched} == {("colour", "grade"), ("grade", "colour")}
    assert "cannot be told from 0; < is the end of the 95 % interval" in sent(chart)
    assert "cannot be told" not in sent(plots.heat_map(DEPENDENCES))


def test_pairs_draw_intervals_and_no_bar_for_what_cannot_be_told() -> None:
    rows = {r["label"]: r for r in rows_of(plots.pairs(UNSURE))}
    assert rows["colour · grade"]["value"] == 0
    assert rows["colour · smokes"]["value"] == 0.6
    assert (rows["colour · smokes"]["low"], rows["colour · smokes"]["high"]) == (0.4, 0.8)
    assert list(rows)[-1] == "colour · grade"


def test_heat_map_refuses_clusters_of_other_attributes() -> None:
    with pytest.raises(MdrrError, match="partition"):
        plots.heat_map(DEPENDENCES, clusters=(("colour", "smokes"),))


def test_heat_map_without_room_for_numbers_has_a_legend() -> None:
    names = tuple(f"a{i}" for i in range(13))
    values = np.where(np.eye(13) > 0, 1.0, 0.25)
    spec = plots.heat_map(Dependences(names, values)).to_dict()
    assert [layer["mark"]["type"] for layer in spec["layer"]] == ["rect"]
    assert spec["layer"][0]["encoding"]["opacity"]["legend"] is not None


def test_pairs_are_ranked_and_told_whether_a_cluster_holds_both() -> None:
    chart = plots.pairs(DEPENDENCES, clusters=(("colour", "smokes"), ("grade",)), most=2)
    rows = [row for row in rows_of(chart) if "together" in row]
    assert [(row["label"], row["together"]) for row in rows] == [
        ("colour · smokes", True),
        ("grade · smokes", False),
    ]
    assert all(row["truth"] is None for row in rows)


def test_counts_are_shares_of_the_truth_where_it_is_known() -> None:
    count = Count(90.0, 80.0, 120.0, 0.95, 1000)
    chart = plots.counts([plots.Answer("women", {"product": count}, 100)])
    (row,) = [row for row in rows_of(chart) if row.get("method") == "product"][:1]
    assert (row["value"], row["low"], row["high"]) == pytest.approx((90.0, 80.0, 120.0))
    chart = plots.counts([plots.Answer("women", {"product": count}, 50)])
    (row,) = [row for row in rows_of(chart) if row.get("method") == "product"][:1]
    assert (row["value"], row["low"], row["high"]) == pytest.approx((180.0, 160.0, 240.0))


def test_counts_are_people_where_the_truth_is_not_known() -> None:
    chart = plots.counts([plots.Answer("women", {"product": Count(90.0, 80.0, 120.0, 0.95, 1000)})])
    assert "'title': 'people'" in sent(chart)
    assert "true" not in sent(chart).replace("True", "")
    assert next(row["value"] for row in rows_of(chart) if row.get("method")) == 90.0


def test_counts_refuse_to_draw_nothing() -> None:
    with pytest.raises(MdrrError, match="no count"):
        plots.counts([plots.Answer("nobody", {"product": Count(1.0, 0.0, 2.0, 0.95, 10)}, 0)])
    with pytest.raises(MdrrError, match="'women' has no count"):
        plots.Answer("women", {})


def test_privacy_shows_how_often_the_truth_is_sent_and_a_blind_guess() -> None:
    design = mdrr.clustered(DOMAIN, [["colour", "smokes"], ["grade"]], p=0.5)
    rows = [row for row in rows_of(plots.privacy(design)) if "sent" in row][:2]
    assert [row["label"] for row in rows] == ["colour + smokes", "grade"]
    for row, cluster in zip(rows, design.clusters, strict=True):
        assert isinstance(cluster.matrix, mdrr.Constant)
        assert row["sent"] == pytest.approx(100 * cluster.matrix.keep)
        assert row["blind"] == pytest.approx(100 / cluster.matrix.cells)


def test_the_truth_sent_of_a_dense_matrix_is_its_largest_diagonal() -> None:
    matrix = mdrr.dense_matrix([[0.9, 0.1], [0.4, 0.6]])
    assert plots.truth_sent(mdrr.Cluster(("smokes",), matrix)) == pytest.approx(0.9, abs=1e-3)


def test_candidates_show_every_error_and_mark_the_best_and_the_one_in_use() -> None:
    plan = mdrr.plan(DOMAIN, n=1000, epsilon=2.0)
    last = plan.candidates[-1].name
    rows = [row for row in rows_of(plots.candidates(plan, used=last, most=2)) if "mark" in row]
    shown = [*plan.candidates[:2], plan.candidates[-1]]
    assert [row["label"] for row in rows[:3]] == [c.name for c in shown]
    np.testing.assert_allclose(
        [row["value"] for row in rows[:3]], [100 * c.predicted.error for c in shown]
    )
    assert [row["mark"] for row in rows[:3]] == ["best", "other", "used"]
    assert [row["used"] for row in rows[:3]] == [False, False, True]
    first = rows_of(plots.candidates(plan, used=plan.best.name))[0]
    assert (first["mark"], first["used"]) == ("best", True)
    assert not any(row["used"] for row in rows_of(plots.candidates(plan)))


@pytest.mark.parametrize("range_", [(4.7, 4.8), (5.0, 5.0), (0.003, 0.02), (1.0, 1e6), (9.0, 11.0)])
def test_the_axis_of_errors_holds_them_between_round_numbers(range_: tuple[float, float]) -> None:
    ticks = _ticks(*range_)
    assert ticks[0] <= range_[0] <= range_[1] <= ticks[-1]
    assert 2 <= len(ticks) <= 7
    assert ticks == sorted(set(ticks))


def test_all_charts_use_the_declared_colours_only() -> None:
    """Otherwise a page's dark side would miss one."""
    import re

    charts = [
        plots.marginal(found(), "colour", truth=np.full(3, 1 / 3)),
        plots.heat_map(DEPENDENCES, clusters=(("colour", "smokes"), ("grade",))),
        plots.heat_map(UNSURE),
        plots.pairs(UNSURE),
        plots.pairs(DEPENDENCES, truth=DEPENDENCES),
        plots.counts([plots.Answer("w", {m: Count(9, 8, 12, 0.95, 99) for m in "ab"}, 10)]),
        plots.privacy(mdrr.independent(DOMAIN, p=0.5)),
        plots.candidates(mdrr.plan(DOMAIN, n=1000, epsilon=2.0), used="independent"),
    ]
    for chart in charts:
        svg = plots.to_svg(chart, "a chart")
        used = set(re.findall(r'(?:fill|stroke)="(#[0-9a-fA-F]+|[a-z]+)"', svg)) - {
            "none",
            "transparent",
        }
        assert used <= set(plots.COLOURS.values())


def test_svg_stands_alone_and_says_what_it_shows() -> None:
    svg = plots.to_svg(plots.heat_map(DEPENDENCES), 'pairs <b> & "more"')
    assert svg.startswith('<svg role="img" width="')
    assert "<title>pairs &lt;b&gt; &amp; &quot;more&quot;</title>" in svg
    for outside in ("http", "url(", "href", "<script", "<style", "xmlns"):
        assert outside not in svg
    assert ".60" in svg


LABELS = ["url(", ' class="x"', ' role="img" aria-label="', "<b>&", "a\x00b\x1f\ufffe", "\ud800"]


@pytest.mark.parametrize("label", LABELS)
def test_any_label_is_drawn_and_changes_nothing_else(label: str) -> None:
    count = {"product": Count(90.0, 80.0, 120.0, 0.95, 1000)}
    plain = ElementTree.fromstring(plots.to_svg(plots.counts([plots.Answer("word", count)]), "x"))
    svg = plots.to_svg(plots.counts([plots.Answer(f"({label})", count)]), f"of {label}")
    drawn = ElementTree.fromstring(svg)
    shown = label.translate(dict.fromkeys(map(ord, "\x00\x1f\ufffe\ud800"), "\ufffd"))
    words = [text for text in drawn.itertext() if shown in text]
    assert words == [f"of {shown}", f"({shown})"]
    assert [(e.tag, list(e.attrib)) for e in drawn.iter()] == [
        (e.tag, list(e.attrib)) for e in plain.iter()
    ]


def test_a_part_that_refers_to_another_is_refused() -> None:
    chart = plots.heat_map(DEPENDENCES)
    clipped = chart.properties(view={"cornerRadius": 3})
    clipped.layer[0].mark.clip = True
    with pytest.raises(MdrrError, match="refers to its parts"):
        plots.to_svg(clipped, "clipped")


@pytest.mark.parametrize(
    ("kind", "missing", "expected"),
    [
        ("ordinal", None, ["x", "y", "z"]),
        ("ordinal", "y", ["x", "z", "y"]),
        ("nominal", None, ["y", "x", "z"]),
        ("nominal", "y", ["x", "z", "y"]),
    ],
)
def test_categories_keep_their_order_and_missing_answers_come_last(
    kind: Any, missing: str | None, expected: list[str]
) -> None:
    attribute = mdrr.Attribute("a", ("x", "y", "z"), kind=kind, missing=missing)
    order = plots.category_order(attribute, np.array([0.3, 0.5, 0.2]))
    assert [attribute.categories[i] for i in order] == expected


def test_an_interval_far_beyond_every_estimate_is_cut_and_said_to_be() -> None:
    wide = {"product": Count(90.0, 0.0, 4000.0, 0.95, 5000)}
    chart = plots.counts([plots.Answer("women", wide, 100)])
    assert "bars are cut at the edge" in sent(chart)
    assert {row["high"] for row in rows_of(chart) if "high" in row} == {200.0}
    narrow = {"product": Count(90.0, 0.0, 150.0, 0.95, 5000)}
    assert "cut" not in sent(plots.counts([plots.Answer("women", narrow, 100)]))


def test_pairs_of_overlapping_clusters_are_together() -> None:
    chart = plots.pairs(DEPENDENCES, clusters=(("colour", "smokes"), ("grade", "smokes")))
    rows = [row for row in rows_of(chart) if "together" in row]
    assert {row["label"]: row["together"] for row in rows} == {
        "colour · smokes": True,
        "grade · smokes": True,
        "colour · grade": False,
    }


def test_arrivals_are_drawn_by_the_hour_and_after_four_days_by_the_day() -> None:
    start = datetime(2026, 11, 16, 22, tzinfo=UTC)
    hours = {start: 300, start + timedelta(hours=3): 50}
    rows = rows_of(plots.arrivals(hours))
    assert [row["count"] for row in rows] == [300, 50]
    assert {row["to"] - row["from"] for row in rows} == {3_600_000}
    rows = rows_of(plots.arrivals({**hours, start + timedelta(days=5): 7}))
    assert [row["count"] for row in rows] == [300, 50, 7]
    assert {row["to"] - row["from"] for row in rows} == {86_400_000}
    assert rows[0]["from"] == datetime(2026, 11, 16, tzinfo=UTC).timestamp() * 1000
    with pytest.raises(MdrrError, match="no answer has come yet"):
        plots.arrivals({})
