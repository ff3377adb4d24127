"""Charts of pairs of attributes: their dependences, all or the strongest, and a table of two."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from mdrr.dependence import Dependences
from mdrr.errors import MdrrError
from mdrr.estimation import Table
from mdrr.plots import style
from mdrr.plots.counted import category_order
from mdrr.plots.style import COLOURS, PLOT, ROW, Chart, alt, chart_of, layered

_MOST = 400
"""Cells of a table that a chart can show."""
_NUMBERS = 12
"""Columns up to which cells bear their numbers."""
_HATCH = "M-1,0L0,-1M-1,1L1,-1M0,1L1,0"
"""Three strokes across a square, as the path of a mark."""


def heat_map(dependences: Dependences, *, clusters: Sequence[Sequence[str]] = ()) -> Chart:
    """The dependence of every pair, darker where stronger; clusters side by side and framed.

    Pairs whose dependence cannot be told from 0 are hatched and bear the end of their interval, as
    `<.31`; a key says so.

    Arguments:
        dependences: of every pair of attributes.
        clusters: a partition of the attributes; none leaves their order as it is.
    """
    names = [name for names in clusters for name in names] or list(dependences.names)
    if sorted(names) != sorted(dependences.names):
        raise MdrrError("the clusters are not a partition of the attributes with dependences")
    m = len(names)
    cell = min(max(352 // m, 13), 46)
    every = [(a, b) for a in names for b in names if a != b]
    clear = {pair: dependences[pair] for pair in every if dependences.is_clear(*pair)}
    strongest = max(clear.values(), default=1.0) or 1e-9
    rows = [
        {
            "row": a,
            "column": b,
            "value": clear.get((a, b), 0.0),
            "text": _short(dependences, a, b),
            "sure": (a, b) in clear,
        }
        for a, b in every
    ]
    said = f"cannot be told from 0; < is the end of the {100 * dependences.level:g} % interval"
    legend = None if m <= _NUMBERS else alt.Legend(title="dependence", orient="bottom")
    layers = _shaded(rows, names, names, cell, strongest, said, legend=legend)
    start = 0
    for members in clusters:
        stop = start + len(members)
        if len(members) > 1:
            frame = {"filled": False, "stroke": COLOURS["ink"], "strokeWidth": 2.5}
            layers.append(_box(start * cell, stop * cell, start * cell, stop * cell, **frame))
        start = stop
    return layered(layers, width=m * cell, height=m * cell)


def cross_table(table: Table) -> Chart:
    """The shares of every pair of answers, in percent of all people, darker where larger.

    Cells that may hold nobody are hatched: their interval begins at 0. The interval of each cell
    appears when pointed at.

    Arguments:
        table: of two attributes, with at most 400 cells.
    """
    if len(table.attributes) != 2:
        raise MdrrError(
            f"a chart shows one attribute or two, and this table has {len(table.attributes)}; "
            "list its cells with .to_frame()"
        )
    if table.values.size > _MOST:
        raise MdrrError(
            f"a table of {table.values.size:,} cells is too large to draw (the most is {_MOST}); "
            "list its cells with .to_frame()"
        )
    first, second = (table.estimate.domain.attribute(name) for name in table.attributes)
    rows = category_order(first, table.values.sum(1))
    columns = category_order(second, table.values.sum(0))
    down = [str(first.categories[i]) for i in rows]
    across = [str(second.categories[j]) for j in columns]
    sure = table.low > 0
    largest = 100 * float(table.values[sure].max(initial=0.0)) or 1.0
    cells = [
        {
            "row": down[a],
            "column": across[b],
            "value": 100 * float(table.values[i, j]),
            "text": f"{100 * table.values[i, j]:.1f}",
            "interval": f"{100 * table.low[i, j]:.1f} to {100 * table.high[i, j]:.1f} %",
            "sure": bool(sure[i, j]),
        }
        for a, i in enumerate(rows)
        for b, j in enumerate(columns)
    ]
    side = min(max(352 // max(len(down), len(across)), 24), 46)
    titles = {"row": first.name, "column": second.name, "text": "% of people"}
    titles |= {"interval": f"{100 * table.level:g} % interval"}
    pointed = [alt.Tooltip(f"{field}:N", title=title) for field, title in titles.items()]
    said = f"the {100 * table.level:g} % interval begins at 0"
    layers = _shaded(cells, down, across, side, largest, said, tooltip=pointed)
    return layered(layers, width=len(across) * side, height=len(down) * side)


def _shaded(
    cells: Sequence[Mapping[str, Any]],
    down: Sequence[str],
    across: Sequence[str],
    side: int,
    largest: float,
    said: str,
    *,
    legend: Any = None,
    **channels: Any,
) -> list[Any]:
    """Cells darker by their `value`, with their `text` if there are few columns.

    Those that are not `sure` are hatched, and a key says what that means.
    """
    base = _grid(cells, down, across).encode(**channels)
    scale = alt.Scale(domain=[0, largest], range=[0.05, 1])
    shade = alt.Opacity("value:Q", scale=scale, legend=legend)
    layers = [base.mark_rect(color=COLOURS["estimate"]).encode(opacity=shade)]
    unsure = [{"row": c["row"], "column": c["column"]} for c in cells if not c["sure"]]
    if unsure:
        layers += _hatched(_grid(unsure, down, across), side)
        layers += _key(len(down) * side, said)
    if len(across) <= _NUMBERS:
        white, ink = alt.value(COLOURS["on-estimate"]), alt.value(COLOURS["ink"])
        colour = alt.condition(f"datum.sure && datum.value > {0.75 * largest}", white, ink)
        numbers = base.mark_text(fontSize=12 if side > 36 else 10)
        layers.append(numbers.encode(text="text:N", color=colour))
    return layers


def _grid(rows: Sequence[object], down: Sequence[str], across: Sequence[str]) -> Any:
    """A chart of cells, each with its `row` and `column`."""

    def scale(names: Sequence[str]) -> Any:
        return alt.Scale(domain=list(names), paddingInner=0.04, paddingOuter=0)

    quiet = {"ticks": False, "domain": False, "grid": False}
    look = quiet | {"labelLimit": 160, "labelOverlap": False, "labelPadding": 6}
    top = alt.Axis(orient="top", labelAngle=-42, labelAlign="left", **look)
    return chart_of(rows).encode(
        x=alt.X("column:N", title=None, scale=scale(across), axis=top),
        y=alt.Y("row:N", title=None, scale=scale(down), axis=alt.Axis(orient="left", **look)),
    )


def _hatched(base: Any, side: float) -> list[Any]:
    """Grey cells with strokes across."""
    look = {"stroke": COLOURS["muted"], "strokeWidth": 1, "opacity": 0.35, "filled": False}
    return [
        base.mark_rect(color=COLOURS["grid"], opacity=1),
        base.mark_point(shape=_HATCH, size=(0.96 * side) ** 2, **look),
    ]


def _box(left: int, right: int, top: int, bottom: int, **look: Any) -> Any:
    """A rectangle, in pixels."""
    ends = {"x": left, "x2": right, "y": top, "y2": bottom}
    places = {end: alt.value(place) for end, place in ends.items()}
    return chart_of([{}]).mark_rect(**look).encode(**places)


def _key(below: int, said: str) -> list[Any]:
    """A hatched square under the map, and what it means."""
    side, top = 14, below + 12
    middle, height = alt.value(side / 2), alt.value(top + side / 2)
    text = chart_of([{}]).mark_text(
        text=said, align="left", baseline="middle", fontSize=12, color=COLOURS["ink"]
    )
    return [
        _box(0, side, top, top + side, color=COLOURS["grid"]),
        _hatched(chart_of([{}]).encode(x=middle, y=height), side)[1],
        text.encode(x=alt.value(side + 8), y=height),
    ]


def _short(dependences: Dependences, first: str, second: str) -> str:
    """A dependence in a cell: two digits, or what it is below."""
    value, sign = dependences[first, second], ""
    found = dependences.interval(first, second)
    if found is not None and not dependences.is_clear(first, second):
        value, sign = found[1], "<"
    if dependences.measure == "covariance":
        return f"{sign}{value:.2g}"
    upwards = math.ceil(100 * value - 1e-9) / 100 if sign else value
    return sign + f"{upwards:.2f}".removeprefix("0").removesuffix(".00")


def pairs(
    dependences: Dependences,
    *,
    clusters: Sequence[Sequence[str]] = (),
    truth: Dependences | None = None,
    most: int = 12,
) -> Chart:
    """The strongest pairs, and whether a cluster keeps them together.

    A line shows each interval; what cannot be told from 0 has a line and no bar.

    Arguments:
        dependences: of every pair of attributes.
        clusters: attributes that are reported as one answer, overlapping or not; pairs inside
            one are filled, the others are pale.
        truth: the true dependences, drawn as upright strokes.
        most: how many pairs to show.
    """
    groups = [set(names) for names in clusters]
    rows: list[dict[str, Any]] = []
    for a, b, value in dependences.ranked()[:most]:
        low, high = dependences.interval(a, b) or (None, None)
        rows.append(
            {
                "label": f"{a} · {b}",
                "value": value if dependences.is_clear(a, b) else 0.0,
                "low": low,
                "high": high,
                "together": any({a, b} <= group for group in groups),
                "truth": None if truth is None else truth[a, b],
            }
        )
    base = chart_of(rows).encode(y=style.rows_axis(rows, extent=182))
    title = "covariance" if dependences.measure == "covariance" else "dependence, 0 to 1"
    blue, grey = alt.value(COLOURS["estimate"]), alt.value(COLOURS["muted"])
    layers = [
        base.mark_bar(height=11).encode(
            x=alt.X("value:Q", axis=alt.Axis(tickCount=5, title=title)),
            color=alt.condition("datum.together", blue, grey),
            opacity=alt.condition("datum.together", alt.value(0.9), alt.value(0.4)),
        )
    ]
    if dependences.low is not None:
        layers.append(base.mark_rule(color=COLOURS["ink"]).encode(x="low:Q", x2="high:Q"))
    if truth is not None:
        layers.append(style.strokes(base, "truth:Q"))
    return layered(layers, width=PLOT + 20, height=ROW * len(rows))
