"""Charts of the benchmarks: Altair to SVG, colours that everyone can tell apart (Okabe and Ito)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

COLOURS = ("#000000", "#E69F00", "#56B4E9", "#009E73", "#CC79A7", "#0072B2", "#D55E00")
SHAPES = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "circle")


def lines(
    points: list[dict[str, Any]],
    path: Path,
    order: list[str],
    *,
    width: int = 140,
    height: int = 130,
) -> None:
    """Error against ε, both logarithmic: a row per question, a column per data set."""
    import altair as alt

    method = alt.Color("method:N", sort=order, title=None)
    method = method.scale(domain=order, range=list(COLOURS[: len(order)]))
    shape = alt.Shape("method:N", sort=order, title=None)
    shape = shape.scale(domain=order, range=list(SHAPES[: len(order)]))
    base = alt.Chart(alt.Data(values=points)).encode(
        x=alt.X("epsilon:Q", title="total ε")
        .scale(type="log", domain=[0.9, 25])
        .axis(values=[1, 2, 4, 8, 16]),
        y=alt.Y("error:Q", title=None)
        .scale(type="log")
        .axis(format="~g", values=[1, 0.1, 0.01, 0.001, 0.0001, 0.00001]),
        color=method,
    )
    drawn = base.mark_line(strokeWidth=1.5) + base.mark_point(size=28, filled=True).encode(shape)
    faceted = drawn.properties(width=width, height=height).facet(
        column=alt.Column(
            "data:N", title=None, sort=list(dict.fromkeys(p["data"] for p in points))
        ),
        row=alt.Row("what:N", title=None, sort=list(dict.fromkeys(p["what"] for p in points))),
    )
    _save(faceted.resolve_scale(y="independent"), path, len(order))


def _save(chart: Any, path: Path, columns: int) -> None:
    """Write a chart in the style of all of them, with so many columns in its legend."""
    styled = chart.configure(background="white", font="sans-serif").configure_view(stroke="#ddd")
    styled.configure_legend(orient="bottom", columns=columns, symbolSize=60).save(path)


def trade(
    plans: list[dict[str, Any]],
    peers: list[dict[str, Any]],
    path: Path,
    order: list[str],
    default: float,
) -> None:
    """Pairs' error against single attributes': a line of plans and the peers, by data set and ε."""
    import altair as alt

    names = list(dict.fromkeys(row["method"] for row in peers))
    points = [{"kind": "plan", **row} for row in plans] + [{"kind": "peer", **r} for r in peers]
    base = alt.Chart(alt.Data(values=points)).encode(
        x=alt.X("tv1:Q", title="single attributes").scale(zero=False, padding=12).axis(tickCount=3),
        y=alt.Y("tv2:Q", title="pairs").scale(zero=False, padding=12).axis(tickCount=4),
    )
    ours = base.transform_filter("datum.kind == 'plan'")
    chosen = ours.transform_filter(f"datum.worth == {default}")
    rivals = base.transform_filter("datum.kind == 'peer'").encode(
        color=alt.Color("method:N", title=None).scale(
            domain=names, range=list(COLOURS[1 : len(names) + 1])
        ),
        shape=alt.Shape("method:N", title=None).scale(
            domain=names, range=list(SHAPES[: len(names)])
        ),
    )
    drawn = alt.layer(
        ours.mark_line(strokeWidth=1.5, color=COLOURS[0]).encode(order="worth:Q"),
        ours.mark_point(size=20, filled=True, color=COLOURS[0]),
        chosen.mark_point(size=90, strokeWidth=1.5, color=COLOURS[0]),
        rivals.mark_point(size=60, filled=True, opacity=1),
    )
    faceted = drawn.properties(width=150, height=130).facet(
        column=alt.Column("data:N", title=None, sort=order),
        row=alt.Row("epsilon:Q", title=None).header(labelExpr="'ε = ' + datum.value"),
    )
    _save(faceted.resolve_scale(x="independent", y="independent"), path, len(names))
