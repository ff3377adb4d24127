"""Charts of the reproduction as SVG: ours with Monte-Carlo bands, the paper's values drawn in.

Okabe and Ito's colours, which colour-blind readers tell apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import altair as alt

from experiments.medians import Median, Outcome
from experiments.printed import (
    COPIES,
    COVERAGES,
    KEEPS,
    LEAST_DEPENDENCES,
    METHODS,
    MOST_CELLS,
    TABLES,
    best_thresholds,
)
from mdrr.theory import sqrt_b

BLUE, ORANGE, GREEN, PINK, SKY, BLACK = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#222222",
)  # fmt: skip

CATEGORIES = sorted({round(10 ** (k / 10)) for k in range(63)} | {1_814_400})


def save_charts(outcome: Outcome, folder: Path) -> None:
    """Write every chart into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    made = {
        "figure1": figure1(),
        "figure2": figure2(outcome),
        "figure3": figure3(outcome),
        "tables": tables(outcome),
    }
    for name, chart in made.items():
        chart.save(str(folder / f"{name}.svg"))


def _finish(chart: Any, title: str, *subtitle: str) -> Any:
    heading = alt.TitleParams(
        title, subtitle=list(subtitle), anchor="start", fontSize=16, subtitleFontSize=12, offset=14
    )
    return (
        chart.properties(title=heading)
        .configure(background="white", font="sans-serif")
        .configure_view(stroke="#cccccc")
        .configure_axis(labelFontSize=12, titleFontSize=12, gridColor="#eeeeee")
        .configure_legend(labelFontSize=12, titleFontSize=12, labelLimit=260, symbolSize=110)
        .configure_header(labelFontSize=13, titleFontSize=13, labelFontWeight="bold")
    )


def _named(names: Sequence[str], colours: Sequence[str], field: str) -> dict[str, Any]:
    """Colour and shape by name, with one legend for both."""
    shapes = ("circle", "square", "triangle-up", "diamond", "cross")[: len(names)]
    both = {"color": (alt.Color, colours), "shape": (alt.Shape, shapes)}
    return {
        channel: kind(
            f"{field}:N",
            title="",
            sort=list(names),
            scale=alt.Scale(domain=list(names), range=list(values)),
            legend=alt.Legend(symbolOpacity=1, orient="bottom"),
        )
        for channel, (kind, values) in both.items()
    }


def _curves(medians: Mapping[tuple[float, str], Median], y: Any, looks: dict[str, Any]) -> Any:
    """Errors by coverage, a line and a band for each method."""
    rows = [
        {"coverage": c, "method": m, "value": f.value, "low": f.low, "high": f.high}
        for (c, m), f in medians.items()
    ]
    source = alt.Chart(alt.Data(values=rows))
    x = alt.X(
        "coverage:Q",
        title="coverage σ",
        scale=alt.Scale(domain=[0.05, 0.95], nice=False),
        axis=alt.Axis(values=list(COVERAGES), format=".1f"),
    )
    band = source.mark_rule(opacity=0.5, strokeWidth=2).encode(
        x=x, y=y, y2="high:Q", color=looks["color"]
    )
    line = source.mark_line(strokeWidth=1.8).encode(x=x, y="value:Q", color=looks["color"])
    dots = source.mark_point(filled=True, size=55, opacity=1).encode(x=x, y="value:Q", **looks)
    return alt.layer(band, line, dots)


def figure1() -> Any:
    rows = [{"r": r, "value": sqrt_b(r)} for r in CATEGORIES]
    x = alt.X(
        "r:Q",
        title="categories r (the last: all combinations of Adult)",
        scale=alt.Scale(type="log", domain=[1, 1_814_400], nice=False),
        axis=alt.Axis(values=[10**k for k in range(7)], format="~s"),
    )
    y = alt.Y("value:Q", title="√B", scale=alt.Scale(domain=[1.5, 6]))
    line = alt.Chart(alt.Data(values=rows)).mark_line(color=BLUE, strokeWidth=2.5).encode(x=x, y=y)
    rule = alt.Chart().mark_rule(color=ORANGE, strokeDash=[6, 4]).encode(y=alt.datum(2))
    return _finish(
        alt.layer(line, rule, data=alt.Data(values=rows)).properties(width=520, height=280),
        "Figure 1: √B grows slowly with the number of categories",
        "B is the α/r upper percentile of χ² with one degree of freedom, α = 0.05",
        'dashed: the paper says "above 200 %"',
    )


def figure2(outcome: Outcome) -> Any:
    looks = _named(("Randomized", "RR-Independent"), (BLACK, BLUE), "method")
    panels = []
    for error, title in (("absolute", "absolute error (people)"), ("relative", "relative error")):
        medians = {(c, m): f for (c, m, e), f in outcome.figure2.items() if e == error}
        panel = _curves(medians, alt.Y("low:Q", title=title), looks)
        panels.append(panel.properties(width=340, height=280))
    return _finish(
        alt.hconcat(*panels),
        "Figure 2: Randomized and RR-Independent at p = 0.7",
        "medians; bars (narrower than the marks): 99 % Monte-Carlo bands",
        "The paper prints no numbers for this figure",
    )


def figure3(outcome: Outcome) -> Any:
    looks = _named(METHODS, (BLUE, ORANGE, SKY, PINK), "method")
    y = alt.Y(
        "low:Q",
        title="relative error",
        scale=alt.Scale(type="log", domain=[0.001, 0.6], nice=False),
        axis=alt.Axis(values=[0.001, 0.003, 0.01, 0.03, 0.1, 0.3], format="~g"),
    )
    panels = []
    for p in KEEPS:
        most, least = best_thresholds(p)
        medians = {(c, m): f for (q, c, m), f in outcome.figure3.items() if q == p}
        printed = [{"coverage": 0.1, "value": TABLES[1][p, most, least], "who": "Table 1"}]
        ring = (
            alt.Chart(alt.Data(values=printed))
            .mark_point(shape="circle", size=230, strokeWidth=2.2, filled=False)
            .encode(
                x="coverage:Q",
                y="value:Q",
                stroke=alt.Stroke(
                    "who:N",
                    title="RR-Clusters as printed in",
                    scale=alt.Scale(range=[GREEN]),
                    legend=alt.Legend(orient="bottom"),
                ),
            )
        )
        panel = alt.layer(_curves(medians, y, looks), ring)
        title = f"p = {p} (T_v = {most}, T_d = {least})"
        panels.append(panel.properties(width=340, height=260, title=title))
    return _finish(
        alt.vconcat(alt.hconcat(*panels[:2]), alt.hconcat(*panels[2:])),
        "Figure 3: relative error of the four methods (logarithmic)",
        f"median of {outcome.runs} runs; bars: 99 % Monte-Carlo bands",
    )


def tables(outcome: Outcome) -> Any:
    rows: list[dict[str, Any]] = []
    for copies, name in COPIES.items():
        for (p, most), found in outcome.fresh["corrected", "as stated", copies].items():
            shared = {"p": f"p = {p}", "T_v": str(most), "data": name}
            rows.append({**shared, "who": "ours", "T_d": "ours", "value": found.value,
                         "low": found.near, "high": found.far})  # fmt: skip
            rows += [
                {**shared, "who": "paper", "T_d": str(d), "value": TABLES[copies][p, most, d]}
                for d in LEAST_DEPENDENCES
            ]
    x = alt.X("T_v:N", title="T_v", sort=[str(m) for m in MOST_CELLS], axis=alt.Axis(labelAngle=0))
    offset = alt.XOffset("T_d:N", sort=["ours", *map(str, LEAST_DEPENDENCES)])
    y = alt.Y("value:Q", title="relative error", scale=alt.Scale(zero=True))
    band = (
        alt.Chart()
        .transform_filter("datum.who == 'ours'")
        .mark_rule(color=BLUE, strokeWidth=8, opacity=0.35)
        .encode(x=x, xOffset=offset, y=alt.Y("low:Q", title="relative error"), y2="high:Q")
    )
    dots = (
        alt.Chart()
        .mark_point(size=70, filled=True, opacity=1)
        .encode(x=x, xOffset=offset, y=y, **_named(("ours", "paper"), (BLUE, ORANGE), "who"))
    )
    chart = alt.layer(band, dots, data=alt.Data(values=rows)).properties(width=190, height=200)
    return _finish(
        chart.facet(row=alt.Row("data:N", title=""), column=alt.Column("p:N", title="")),
        "Tables 1 and 2: relative error of RR-Clusters, corrected reading",
        "bars: where the paper's medians would lie if they came from the same experiment (99 %)",
        "the paper's three marks are T_d = 0.1, 0.2, 0.3; ours does not depend on it",
    )
