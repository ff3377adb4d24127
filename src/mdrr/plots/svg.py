"""A chart as SVG that can stand in a page."""

from __future__ import annotations

import re
from html import escape
from typing import Any
from xml.etree import ElementTree

from mdrr.columns import require
from mdrr.errors import MdrrError
from mdrr.plots.style import Chart

_NAMESPACE = "{http://www.w3.org/2000/svg}"
_UNDRAWABLE = re.compile("[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML cannot hold or a screen cannot show: the renderer would end the process over it."""


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
