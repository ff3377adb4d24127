"""How charts look: Okabe and Ito's colours, which colour-blind readers tell apart; large labels."""

from __future__ import annotations

from typing import Any

from mdrr.columns import require

BLUE, ORANGE, GREEN, PINK, SKY, BLACK = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#222222",
)


def finish(chart: Any, title: str, subtitle: list[str]) -> Any:
    """A chart with its title and the house's fonts and lines."""
    alt = require("altair", "report")
    heading = alt.TitleParams(
        title, subtitle=subtitle, anchor="start", fontSize=16, subtitleFontSize=12, offset=14
    )
    return (
        chart.properties(title=heading)
        .configure_view(stroke="#cccccc")
        .configure_axis(labelFontSize=12, titleFontSize=12, gridColor="#eeeeee")
        .configure_legend(labelFontSize=12, titleFontSize=12, labelLimit=260, symbolSize=110)
        .configure_header(labelFontSize=13, titleFontSize=13, labelFontWeight="bold")
    )
