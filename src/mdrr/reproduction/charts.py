"""Charts of a reproduction, ours with Monte-Carlo bands and the paper's values drawn in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from mdrr.columns import require
from mdrr.reproduction.chart_style import BLACK, BLUE, GREEN, ORANGE, PINK, SKY, finish
from mdrr.reproduction.methods import METHODS
from mdrr.reproduction.outcome import Outcome
from mdrr.reproduction.printed import COVERAGES, KEEPS
from mdrr.reproduction.table_charts import readings_chart, table_chart

_METHOD_COLOURS = dict(zip(METHODS, (BLACK, BLUE, ORANGE, SKY, PINK), strict=True))
_METHOD_SHAPES = dict(
    zip(METHODS, ("cross", "circle", "square", "triangle-up", "diamond"), strict=True)
)
_TABLE_TITLES = {"table1": "Table 1: Adult", "table2": "Table 2: Adult6"}


def charts(outcome: Outcome) -> Iterator[tuple[str, Any]]:
    """Every chart that the outcome has the numbers for, by name."""
    if outcome.figure1:
        yield "figure1", _figure1(outcome)
    if outcome.figure2:
        yield "figure2", _figure2(outcome)
    if outcome.figure3:
        yield "figure3", _figure3(outcome)
    for name, table in outcome.tables.items():
        yield name, table_chart(table, f"{_TABLE_TITLES[name]}: relative error of RR-Clusters")
    if outcome.variants.get("readings"):
        yield "readings", readings_chart(outcome.variants["readings"])


def save_charts(outcome: Outcome, folder: Path) -> list[Path]:
    """Write every chart as SVG and as PNG."""
    require("altair", "report")
    require("vl_convert", "report")
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, chart in charts(outcome):
        for path, scale in ((folder / f"{name}.svg", 1), (folder / f"{name}.png", 2)):
            chart.save(str(path), scale_factor=scale)
            written.append(path)
    return written


def _figure1(outcome: Outcome) -> Any:
    alt = require("altair", "report")
    rows = [{"r": r, "value": value} for r, value in outcome.figure1]
    line = (
        alt.Chart(alt.Data(values=rows))
        .mark_line(color=BLUE, strokeWidth=2.5)
        .encode(
            x=alt.X(
                "r:Q",
                title="categories r",
                scale=alt.Scale(type="log", domain=[1, 4_000_000], nice=False),
                axis=alt.Axis(values=[10**k for k in range(7)], format="~s"),
            ),
            y=alt.Y("value:Q", title="√B", scale=alt.Scale(domain=[1.5, 6])),
        )
    )
    marks = [{"r": 1_814_400, "label": "all of Adult"}]
    adult = [{**mark, "value": dict(outcome.figure1)[1_814_400]} for mark in marks]
    points = alt.Chart(alt.Data(values=adult))
    dot = points.mark_point(filled=True, size=90, color=BLUE, opacity=1).encode(
        x="r:Q", y="value:Q"
    )
    text = points.mark_text(align="right", dx=-8, dy=-8, fontSize=12).encode(
        x="r:Q", y="value:Q", text="label:N"
    )
    rule = alt.Chart(alt.Data(values=[{"value": 2}])).mark_rule(color=ORANGE, strokeDash=[6, 4])
    said = (
        alt.Chart(alt.Data(values=[{"r": 1, "value": 2, "label": "the paper: above 200 %"}]))
        .mark_text(align="left", dx=120, dy=12, color=ORANGE, fontSize=12)
        .encode(x="r:Q", y="value:Q", text="label:N")
    )
    layers = alt.layer(line, rule.encode(y="value:Q"), said, dot, text)
    return finish(
        layers.properties(width=520, height=280),
        "Figure 1: √B grows with the number of categories",
        ["B is the α/r upper percentile of χ² with one degree of freedom, α = 0.05"],
    )


def _figure2(outcome: Outcome) -> Any:
    alt = require("altair", "report")
    panels = []
    for error, title in (("absolute", "absolute error (people)"), ("relative", "relative error")):
        rows = [
            {"coverage": c, "method": m, "value": f.value, "low": f.low, "high": f.high}
            for (c, m, e), f in outcome.figure2.items()
            if e == error
        ]
        source = alt.Chart(alt.Data(values=rows))
        x = _coverage(alt)
        colour = _by_method(alt, "color", ("Randomized", "RR-Independent"))
        panels.append(
            alt.layer(
                source.mark_area(opacity=0.2).encode(
                    x=x, y=alt.Y("low:Q", title=title), y2="high:Q", color=colour
                ),
                source.mark_line(point=alt.OverlayMarkDef(size=60), strokeWidth=2).encode(
                    x=x,
                    y="value:Q",
                    color=colour,
                    shape=_by_method(alt, "shape", ("Randomized", "RR-Independent")),
                ),
            ).properties(width=340, height=280)
        )
    return finish(
        alt.hconcat(*panels),
        "Figure 2: Randomized and RR-Independent at p = 0.7",
        [_runs(outcome), "The paper prints no numbers for this figure"],
    )


def _figure3(outcome: Outcome) -> Any:
    alt = require("altair", "report")
    panels = []
    for p in KEEPS:
        rows = [
            {"coverage": c, "method": m, "value": f.value, "low": f.low, "high": f.high}
            for (q, c, m), f in outcome.figure3.items()
            if q == p
        ]
        printed = [
            {"coverage": c, "value": f.paper, "label": "printed in Table 1"}
            for (q, c, _), f in outcome.figure3.items()
            if q == p and f.paper is not None
        ]
        source = alt.Chart(alt.Data(values=rows))
        x = _coverage(alt)
        y = alt.Y(
            "value:Q",
            title="relative error",
            scale=alt.Scale(type="log", domain=[0.002, 1.2], nice=False),
            axis=alt.Axis(values=[0.003, 0.01, 0.03, 0.1, 0.3, 1], format="~g"),
        )
        colour, shape = _by_method(alt, "color"), _by_method(alt, "shape")
        band = source.mark_rule(opacity=0.5, strokeWidth=1.5).encode(
            x=x, y=alt.Y("low:Q", title=""), y2="high:Q", color=colour
        )
        line = source.mark_line(strokeWidth=1.8).encode(x=x, y=y, color=colour)
        dots = source.mark_point(filled=True, size=55, opacity=1).encode(
            x=x, y=y, color=colour, shape=shape
        )
        paper = (
            alt.Chart(alt.Data(values=printed))
            .mark_point(shape="circle", size=230, strokeWidth=2.2, filled=False)
            .encode(
                x="coverage:Q",
                y="value:Q",
                stroke=alt.Stroke(
                    "label:N",
                    title="paper, RR-Clusters",
                    scale=alt.Scale(range=[GREEN]),
                ),
            )
        )
        most, least = outcome.thresholds[p]
        panels.append(
            alt.layer(band, line, dots, paper).properties(
                width=340, height=260, title=f"p = {p} (T_v = {most}, T_d = {least})"
            )
        )
    grid = alt.vconcat(alt.hconcat(*panels[:2]), alt.hconcat(*panels[2:]))
    return finish(
        grid,
        "Figure 3: relative error of the five methods (logarithmic)",
        [
            _runs(outcome),
            "Green rings: the best values that the paper's Table 1 prints for RR-Clusters",
        ],
    )


def _coverage(alt: Any) -> Any:
    return alt.X(
        "coverage:Q",
        title="coverage σ",
        scale=alt.Scale(domain=[0.05, 0.95], nice=False),
        axis=alt.Axis(values=list(COVERAGES), format=".1f"),
    )


def _by_method(alt: Any, channel: str, listed: tuple[str, ...] = METHODS) -> Any:
    values = _METHOD_COLOURS if channel == "color" else _METHOD_SHAPES
    kind: Callable[..., Any] = alt.Color if channel == "color" else alt.Shape
    scale = alt.Scale(domain=list(listed), range=[values[name] for name in listed])
    return kind("method:N", title="", scale=scale, legend=alt.Legend(symbolOpacity=1))


def _runs(outcome: Outcome) -> str:
    return f"median of {outcome.settings.runs} runs; bands: 99 % Monte-Carlo"
