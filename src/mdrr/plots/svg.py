"""A chart as SVG that can stand in a page."""

from __future__ import annotations

import re
from html import escape

from mdrr.columns import require
from mdrr.errors import MdrrError
from mdrr.plots.style import Chart


def to_svg(chart: Chart, description: str) -> str:
    """A chart as an SVG element to stand in a page: no script, no reference to anything outside.

    Arguments:
        chart: what to draw.
        description: what it shows, for people who do not see it.
    """
    text: str = require("vl_convert", "report").vegalite_to_svg(chart.to_dict())
    inner = text[text.index(">", text.index("<svg")) + 1 : text.rindex("</svg>")]
    width, height = (re.search(rf'{side}="([\d.]+)"', text) for side in ("width", "height"))
    if width is None or height is None or "url(" in inner:
        raise MdrrError("the chart cannot stand in a page: it has no size or refers to its parts")
    inner = re.sub(r'<path class="(back|fore)ground"[^>]*/>', "", inner)
    inner = re.sub(r' (aria-[a-z]+|role|pointer-events|class)="[^"]*"', "", inner)
    w, h = width[1], height[1]
    return (
        f'<svg role="img" width="{w}" height="{h}" viewBox="0 0 {w} {h}">'
        f"<title>{escape(description)}</title>{inner}</svg>"
    )
