"""The charts' house style, and how they are written as SVG that can stand in a page.

Colours by role, quiet axes, one font, no background.

Colours are Okabe and Ito's or near them. A test simulates the three kinds of colour blindness and
checks that they are told apart. Every distinction is also made by shape, place or words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any, TypeAlias
from xml.etree import ElementTree

from mdrr.columns import require
from mdrr.errors import MdrrError

if TYPE_CHECKING:
    from altair import LayerChart, VConcatChart

alt: Any = require("altair", "report")
Chart: TypeAlias = "LayerChart | VConcatChart"

COLOURS = {
    "ink": "#1b2430",
    "muted": "#5f6b7a",
    "grid": "#dfe4ea",
    "estimate": "#0072b2",
    "second": "#009e73",
    "third": "#a65487",
    "fourth": "#4a4000",
    "truth": "#d55e00",
    "on-estimate": "#ffffff",
}
"""The colour of each role; a page with a dark side maps them to others."""

FONT = "Arial, Helvetica, 'Liberation Sans', sans-serif"
ROW = 20
"""Height of a row of a chart, in pixels."""
PLOT = 160
"""Width of the plot beside its labels."""
_NAMESPACE = "{http://www.w3.org/2000/svg}"
_UNDRAWABLE = re.compile("[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML cannot hold or a screen cannot show: the renderer would end the process over it."""


def chart_of(rows: Sequence[object]) -> Any:
    """A chart of rows given as dictionaries."""
    return alt.Chart(alt.Data(values=list(rows)))


def layered(layers: Sequence[Any], *, width: int, height: int) -> Chart:
    """Layers over each other, in the house style."""
    return _styled(alt.layer(*layers).properties(width=width, height=height))


def stacked(charts: Sequence[Chart], titles: Sequence[str]) -> Chart:
    """Charts under each other, each with its title."""
    look = {"anchor": "start", "fontSize": 13, "color": COLOURS["ink"]}
    bare = []
    for chart, title in zip(charts, titles, strict=True):
        copy = chart.properties(title=alt.TitleParams(title, **look))
        copy.config = alt.Undefined  # it is that of the whole
        bare.append(copy)
    return _styled(alt.vconcat(*bare))


def _styled(chart: Any) -> Chart:
    text: dict[str, Any] = {"labelFontSize": 12, "titleFontSize": 12}
    text |= {"labelColor": COLOURS["ink"], "titleColor": COLOURS["muted"]}
    lines = dict.fromkeys(("gridColor", "tickColor", "domainColor"), COLOURS["grid"])
    styled: Chart = (
        chart.configure(font=FONT, background="transparent", padding=4)
        .configure_view(stroke=None)
        .configure_axis(labelFlush=False, titleFontWeight="normal", titlePadding=8, **text, **lines)
        .configure_legend(**text)
    )
    return styled


def rows_axis(rows: Sequence[Any], *, extent: int = 138) -> Any:
    """The labels of rows; as wide in all charts that stand under each other."""
    axis = alt.Axis(
        minExtent=extent,
        maxExtent=extent,
        labelLimit=extent - 10,
        labelPadding=8,
        ticks=False,
        domain=False,
        grid=False,
    )
    return alt.Y("label:N", sort=[row["label"] for row in rows], title=None, axis=axis)


def words(base: Any, field: str, *, align: str = "left", **options: Any) -> Any:
    """A layer of text."""
    look = {"fontSize": 12, "color": COLOURS["ink"]} | options
    return base.mark_text(align=align, **look).encode(text=field)


def strokes(base: Any, x: str, *, colour: str = "truth", **options: Any) -> Any:
    """A layer of upright strokes, such as for the truth."""
    look = {"thickness": 2.5, "size": 15, "opacity": 1} | options
    return base.mark_tick(color=COLOURS[colour], **look).encode(x=x)


def percent(share: float) -> str:
    """A share in percent, to two digits or whole; what is past hope is not told apart.

    >>> [percent(share) for share in (0.000512, 0.06, 0.0996, 0.215, 9.994, 12.34)]
    ['0.051', '6.0', '10', '22', '999', 'over 1,000']
    """
    value = 100 * share
    if value > 1000:
        return "over 1,000"
    if value >= 9.95:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 1 else f"{value:.2g}"


def to_svg(chart: Chart, description: str) -> str:
    """A chart as an SVG element to stand in a page: no script, no reference to anything outside.

    Arguments:
        chart: what to draw. Control characters in its labels are drawn as the sign � instead.
        description: what it shows, for people who do not see it.
    """
    text: str = require("vl_convert", "report").vegalite_to_svg(_drawable(chart.to_dict()))
    root = ElementTree.fromstring(text)
    _strip(root)
    width, height = root.get("width"), root.get("height")
    values = [value for element in root.iter() for value in element.attrib.values()]
    if width is None or height is None or any("url(" in value for value in values):
        raise MdrrError("the chart cannot stand in a page: it has no size or refers to its parts")
    inner = "".join(ElementTree.tostring(child, "unicode") for child in root)
    return (
        f'<svg role="img" width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
        f"<title>{escape(_drawable(description))}</title>{inner}</svg>"
    )


def _drawable(value: Any) -> Any:
    """The same with every text in it made of characters that can be drawn."""
    if isinstance(value, str):
        return _UNDRAWABLE.sub("\ufffd", value)
    if isinstance(value, list | tuple):
        return [_drawable(each) for each in value]
    if isinstance(value, dict):
        return {_drawable(key): _drawable(each) for key, each in value.items()}
    return value


def _strip(element: ElementTree.Element) -> None:
    """Take away what the page does not need: namespaces, roles, classes, empty backgrounds."""
    element.tag = element.tag.removeprefix(_NAMESPACE)
    for child in list(element):
        if child.get("class") in ("background", "foreground"):
            element.remove(child)
        else:
            _strip(child)
    for name in list(element.attrib):
        if name.startswith("aria-") or name in ("role", "class", "pointer-events"):
            del element.attrib[name]
