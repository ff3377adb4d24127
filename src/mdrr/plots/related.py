"""Charts of dependence: all pairs as a heat map, the strongest as bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mdrr.dependence import Dependences
from mdrr.errors import MdrrError
from mdrr.plots.style import (
    COLOURS,
    LABELS,
    PLOT,
    ROW,
    Chart,
    alt,
    chart_of,
    label_axis,
    layered,
    name_axis,
)


def heat_map(dependences: Dependences, *, clusters: Sequence[Sequence[str]] = ()) -> Chart:
    """The dependence of every pair, darker where stronger; clusters side by side and framed.

    Arguments:
        dependences: of every pair of attributes.
        clusters: a partition of the attributes; none leaves their order as it is.
    """
    names = [name for names in clusters for name in names] or list(dependences.names)
    if sorted(names) != sorted(dependences.names):
        raise MdrrError("the clusters are not a partition of the attributes with dependences")
    m = len(names)
    cell = min(max(352 // m, 13), 46)
    pairs = [(a, b, dependences[a, b]) for a in names for b in names if a != b]
    strongest = max(max(value for *_, value in pairs), 1e-9)
    rows = [
        {
            "row": a,
            "column": b,
            "value": value,
            "text": f"{value:.2f}".removeprefix("0"),
            "strong": value > 0.75 * strongest,
        }
        for a, b, value in pairs
    ]
    base = chart_of(rows).encode(
        x=alt.X(
            "column:N",
            sort=names,
            title=None,
            scale=alt.Scale(paddingInner=0.04, paddingOuter=0),
            axis=name_axis("top", labelAngle=-42, labelAlign="left"),
        ),
        y=alt.Y(
            "row:N",
            sort=names,
            title=None,
            scale=alt.Scale(paddingInner=0.04, paddingOuter=0),
            axis=name_axis("left"),
        ),
    )
    shade = alt.Opacity(
        "value:Q",
        scale=alt.Scale(domain=[0, strongest], range=[0.05, 1]),
        legend=None if m <= 12 else alt.Legend(title="dependence", orient="bottom"),
    )
    layers: list[Any] = [base.mark_rect(color=COLOURS["estimate"]).encode(opacity=shade)]
    if m <= 12:
        colour = alt.condition(
            "datum.strong", alt.value(COLOURS["on-estimate"]), alt.value(COLOURS["ink"])
        )
        layers.append(base.mark_text(fontSize=12).encode(text="text:N", color=colour))
    start = 0
    for members in clusters:
        stop = start + len(members)
        if len(members) > 1:
            layers.append(_frame(start * cell, stop * cell))
        start = stop
    return layered(layers, width=m * cell, height=m * cell)


def pairs(
    dependences: Dependences,
    *,
    clusters: Sequence[Sequence[str]] = (),
    truth: Dependences | None = None,
    most: int = 12,
) -> Chart:
    """The strongest pairs, and whether a cluster keeps them together.

    Arguments:
        dependences: of every pair of attributes.
        clusters: attributes that are reported as one answer, overlapping or not; pairs inside
            one are filled, the others are pale.
        truth: the true dependences, drawn as upright strokes.
        most: how many pairs to show.
    """
    groups = [set(names) for names in clusters]
    rows = [
        {
            "label": f"{a} · {b}",
            "value": value,
            "together": any({a, b} <= group for group in groups),
            "truth": None if truth is None else truth[a, b],
        }
        for a, b, value in dependences.ranked()[:most]
    ]
    labels = [str(row["label"]) for row in rows]
    y = alt.Y("label:N", sort=labels, title=None, axis=label_axis(LABELS + 44))
    base = chart_of(rows).encode(y=y)
    fill = alt.condition(
        "datum.together", alt.value(COLOURS["estimate"]), alt.value(COLOURS["muted"])
    )
    layers: list[Any] = [
        base.mark_bar(height=11).encode(
            x=alt.X("value:Q", axis=alt.Axis(tickCount=5, title="dependence, 0 to 1")),
            color=fill,
            opacity=alt.condition("datum.together", alt.value(0.9), alt.value(0.4)),
        )
    ]
    if truth is not None:
        layers.append(
            base.mark_tick(thickness=2.5, size=15, opacity=1, color=COLOURS["truth"]).encode(
                x="truth:Q"
            )
        )
    return layered(layers, width=PLOT + 20, height=ROW * len(rows))


def _frame(start: int, stop: int) -> Any:
    """A square around the cells of a cluster, in pixels."""
    return (
        chart_of([{}])
        .mark_rect(filled=False, stroke=COLOURS["ink"], strokeWidth=2.5)
        .encode(x=alt.value(start), x2=alt.value(stop), y=alt.value(start), y2=alt.value(stop))
    )
