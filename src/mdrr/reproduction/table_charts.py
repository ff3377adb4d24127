"""Charts of Tables 1 and 2, and of how far each reading of section 6.3 is from them."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import geometric_mean
from typing import Any

from mdrr.columns import require
from mdrr.reproduction.chart_style import BLUE, ORANGE, finish
from mdrr.reproduction.outcome import TableMedians, VariantOutcome
from mdrr.reproduction.printed import KEEPS, LEAST_DEPENDENCES, MOST_CELLS


def table_chart(table: TableMedians, title: str) -> Any:
    """The cells of a table by p, T_v and T_d, ours and the paper's."""
    alt = require("altair", "report")
    rows = []
    for (p, most, least), found in table.items():
        shared = {"p": f"p = {p}", "T_v": str(most), "T_d": str(least)}
        rows.append(
            {**shared, "who": "ours", "value": found.value, "low": found.low, "high": found.high}
        )
        rows.append({**shared, "who": "paper", "value": found.paper})
    x = alt.X(
        "T_v:N",
        title="T_v, by T_d = 0.1, 0.2, 0.3",
        sort=[str(m) for m in MOST_CELLS],
        axis=alt.Axis(labelAngle=0),
    )
    offset = alt.XOffset("T_d:N", sort=[str(v) for v in LEAST_DEPENDENCES])
    source = alt.Chart()
    band = (
        source.transform_filter("datum.who == 'ours'")
        .mark_rule(color=BLUE, strokeWidth=6, opacity=0.35)
        .encode(x=x, xOffset=offset, y=alt.Y("low:Q", title="relative error"), y2="high:Q")
    )
    dots = source.mark_point(size=70, filled=True, opacity=1).encode(
        x=x,
        xOffset=offset,
        y=alt.Y("value:Q", title="relative error", scale=alt.Scale(zero=True)),
        color=alt.Color(
            "who:N", title="", scale=alt.Scale(domain=["ours", "paper"], range=[BLUE, ORANGE])
        ),
        shape=alt.Shape(
            "who:N",
            title="",
            scale=alt.Scale(domain=["ours", "paper"], range=["circle", "diamond"]),
        ),
    )
    chart = alt.layer(band, dots, data=alt.Data(values=rows)).properties(width=190, height=280)
    return finish(
        chart.facet(column=alt.Column("p:N", title="")),
        title,
        [f"median of {next(iter(table.values())).runs} runs; bars: 99 % Monte-Carlo bands"],
    )


def readings_chart(variants: Sequence[VariantOutcome]) -> Any:
    """Ours over paper for every reading and p: 1 is agreement."""
    alt = require("altair", "report")
    rows = []
    for found in variants:
        settings = found.variant.settings
        for name, table in found.tables.items():
            for p in KEEPS:
                ratios = [f.ratio for (q, _, _), f in table.items() if q == p and f.ratio]
                rows.append(
                    {
                        "reading": settings.matrix,
                        "attributes": f"{settings.pairs} attributes",
                        "table": "Adult" if name == "table1" else "Adult6",
                        "p": f"p = {p}",
                        "ratio": geometric_mean(ratios),
                        "low": min(ratios),
                        "high": max(ratios),
                    }
                )
    names = list(dict.fromkeys(row["reading"] for row in rows))
    x = alt.X(
        "ratio:Q",
        title="ours / paper",
        scale=alt.Scale(type="log", domain=[0.2, 3]),
        axis=alt.Axis(values=[0.25, 0.5, 1, 2], format="~g"),
    )
    y = alt.Y("reading:N", title="", sort=names)
    offset = alt.YOffset("table:N")
    both = ["Adult", "Adult6"]
    scale = alt.Scale(domain=both, range=[BLUE, ORANGE])
    colour = alt.Color("table:N", title="", scale=scale, legend=alt.Legend(symbolOpacity=1))
    shape = alt.Shape(
        "table:N", title="", scale=alt.Scale(domain=both, range=["circle", "diamond"])
    )
    one = alt.Chart().mark_rule(color="#888888", strokeDash=[4, 3]).encode(x=alt.datum(1))
    span = (
        alt.Chart()
        .mark_rule(strokeWidth=3, opacity=0.4, clip=True)
        .encode(
            x=alt.X("low:Q", title="ours / paper"), x2="high:Q", y=y, yOffset=offset, color=colour
        )
    )
    dots = (
        alt.Chart()
        .mark_point(filled=True, size=70, opacity=1)
        .encode(
            x=x,
            y=y,
            yOffset=offset,
            color=colour,
            shape=shape,
        )
    )
    chart = alt.layer(one, span, dots, data=alt.Data(values=rows)).properties(width=190, height=210)
    faceted = chart.facet(row=alt.Row("attributes:N", title=""), column=alt.Column("p:N", title=""))
    return finish(
        faceted,
        "Which reading of section 6.3 explains which rows of Tables 1 and 2",
        ["Geometric mean over the nine cells of a p; bars: smallest to largest ratio"],
    )
