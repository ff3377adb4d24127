"""The charts' house style: colours by role, quiet axes, one font, no background.

Colours are Okabe and Ito's, told apart by all kinds of colour vision, and every distinction is
also made by shape, place or words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from mdrr.columns import require

if TYPE_CHECKING:
    import altair as alt
else:
    alt = require("altair", "report")

__all__ = [
    "COLOURS",
    "LABELS",
    "PLOT",
    "ROW",
    "Chart",
    "alt",
    "chart_of",
    "label_axis",
    "layered",
    "name_axis",
]

Chart: TypeAlias = "alt.LayerChart"

COLOURS = {
    "ink": "#1b2430",
    "muted": "#5f6b7a",
    "grid": "#dfe4ea",
    "estimate": "#0072b2",
    "second": "#009e73",
    "third": "#a65487",
    "fourth": "#857400",
    "truth": "#d55e00",
    "on-estimate": "#ffffff",
}
"""The colour of each role; a page with a dark side maps them to others."""

FONT = "Arial, Helvetica, 'Liberation Sans', sans-serif"
ROW = 20
"""Height of a row of a chart, in pixels."""
LABELS = 138
"""Width of the labels at the left, the same for all charts that stand under each other."""
PLOT = 160
"""Width of the plot beside them."""


def chart_of(rows: Sequence[object]) -> Any:
    """A chart of rows given as dictionaries."""
    return alt.Chart(alt.Data(values=list(rows)))  # type: ignore[no-untyped-call]


def layered(layers: Sequence[Any], *, width: int, height: int) -> Chart:
    """Layers over each other, in the house style."""
    chart: Any = alt.layer(*layers).properties(width=width, height=height)
    styled: Chart = (
        chart.configure(font=FONT, background="transparent", padding=4)
        .configure_view(stroke=None)
        .configure_axis(
            labelFontSize=12,
            labelFlush=False,
            titleFontSize=12,
            titleFontWeight="normal",
            labelColor=COLOURS["ink"],
            titleColor=COLOURS["muted"],
            gridColor=COLOURS["grid"],
            tickColor=COLOURS["grid"],
            domainColor=COLOURS["grid"],
            titlePadding=8,
        )
        .configure_legend(
            labelFontSize=12,
            titleFontSize=12,
            labelColor=COLOURS["ink"],
            titleColor=COLOURS["muted"],
        )
    )
    return styled


def label_axis(extent: int = LABELS, **options: Any) -> Any:
    """An axis of category labels, of fixed width."""
    return alt.Axis(
        minExtent=extent,
        maxExtent=extent,
        labelLimit=extent - 10,
        labelPadding=8,
        ticks=False,
        domain=False,
        grid=False,
        **options,
    )


def name_axis(orient: str, **options: Any) -> Any:
    """An axis of attribute names along a heat map."""
    return alt.Axis(
        orient=orient,  # type: ignore[arg-type]
        ticks=False,
        domain=False,
        grid=False,
        labelLimit=160,
        labelOverlap=False,
        labelPadding=6,
        **options,
    )
