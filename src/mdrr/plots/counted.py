"""Charts of how many: the shares of an attribute's answers, groups of people, arrivals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from mdrr.domain import Attribute
from mdrr.errors import MdrrError
from mdrr.estimation import Count, Estimate, Table
from mdrr.matrix import Array
from mdrr.plots import style
from mdrr.plots.style import COLOURS, PLOT, ROW, Chart, alt, chart_of, layered, stacked

MOST_HOURS = 96
"""Answers that came over a longer time are counted by the day."""
MOST_METHODS = 4
"""A chart of counts can tell so many methods apart."""
_ROLES = ("estimate", "second", "third", "fourth")
_SHAPES = ["circle", "diamond", "square", "triangle-up"]


@dataclass(frozen=True)
class Answer:
    """One count query for a chart: its words, the count by each method, the truth if known."""

    label: str
    counts: Mapping[str, Count]
    truth: int | None = None

    def __post_init__(self) -> None:
        if not self.counts:
            raise MdrrError(f"the query {self.label!r} has no count to draw")


def category_order(attribute: Attribute, shares: Array) -> list[int]:
    """The codes of an attribute's categories as a reader wants them.

    Their own order where there is one, otherwise the most frequent first; the category that stands
    for a missing answer comes last.

    >>> import numpy as np
    >>> grade = Attribute("grade", ("none", "low", "high"), kind="ordinal", missing="none")
    >>> category_order(grade, np.array([0.5, 0.2, 0.3]))
    [1, 2, 0]
    """
    order = list(range(attribute.size))
    if attribute.kind == "nominal":
        order.sort(key=lambda i: -round(float(shares[i]), 12))  # ties in their own order
    if attribute.missing is not None:
        order.sort(key=lambda i: attribute.categories[i] == attribute.missing)
    return order


def marginal(estimate: Estimate, name: str, *, truth: Array | None = None) -> Chart:
    """One attribute's estimated distribution with intervals, and the truth in a simulation.

    Arguments:
        estimate: what to draw.
        name: the attribute.
        truth: the true shares in the attribute's order, `(r,)`; drawn as upright strokes.

    Returns:
        A chart with one row per category: see `category_order`.
    """
    return shares(estimate.table(name), truth=truth)


def shares(table: Table, *, truth: Array | None = None) -> Chart:
    """A table of one attribute, as `marginal` draws it."""
    (name,) = table.attributes
    attribute = table.estimate.domain.attribute(name)
    if truth is not None and len(truth) != attribute.size:
        raise MdrrError(f"{name!r} has {attribute.size} categories, the truth has {len(truth)}")
    rows = []
    for i in category_order(attribute, table.values):
        value, low, high = (100 * float(x[i]) for x in (table.values, table.low, table.high))
        row = {"label": str(attribute.categories[i]), "value": value, "low": low, "high": high}
        row |= {"text": f"{value:.1f}", "range": f"{low:.1f}–{high:.1f}"}
        rows.append(row if truth is None else {**row, "truth": 100 * float(truth[i])})
    base = chart_of(rows).encode(y=style.rows_axis(rows))
    x = alt.X("low:Q", axis=alt.Axis(tickCount=5, title="% of people"), scale=alt.Scale(zero=True))
    blue = COLOURS["estimate"]
    small: dict[str, Any] = {"align": "right", "fontSize": 11, "color": COLOURS["muted"]}
    layers = [
        base.mark_bar(height=7, opacity=0.35, color=blue).encode(x=x, x2="high:Q"),
        base.mark_circle(size=46, opacity=1, color=blue).encode(x="value:Q"),
        style.words(base, "text:N", align="right").encode(x=alt.value(PLOT + 37)),
        style.words(base, "range:N", **small).encode(x=alt.value(PLOT + 104)),
    ]
    if truth is not None:
        layers.append(style.strokes(base, "truth:Q"))
    return layered(layers, width=PLOT, height=ROW * len(rows))


def overview(estimate: Estimate, *, most: int = 12) -> Chart:
    """The first attributes' distributions, one under the other."""
    names = estimate.domain.names[:most]
    return stacked([marginal(estimate, name) for name in names], names)


def counts(answers: Sequence[Answer], *, width: int = 372) -> Chart:
    """Count queries with intervals; where every truth is known, as a share of it.

    Arguments:
        answers: the queries. A query whose true count is 0 has no such share and is left out.
        width: of the plot, in pixels.

    Returns:
        A chart with the query's words above one line per method. Intervals that reach far beyond
        every estimate and the truth are cut at the edge; the axis then says so.
    """
    known = bool(answers) and all(answer.truth is not None for answer in answers)
    shown = [answer for answer in answers if not known or answer.truth]
    if not shown:
        raise MdrrError("there is no count to draw")
    if max(len(answer.counts) for answer in shown) > MOST_METHODS:
        raise MdrrError(f"a chart of counts compares at most {MOST_METHODS} methods")
    marks: list[dict[str, Any]] = []
    words: list[dict[str, Any]] = []
    truths: list[dict[str, Any]] = []
    top = 0
    methods = list(dict.fromkeys(method for answer in shown for method in answer.counts))
    for answer in shown:
        words.append({"label": answer.label, "y": top + 10})
        unit = 100 / answer.truth if known and answer.truth else 1.0
        for line, (method, count) in enumerate(answer.counts.items()):
            ends = {key: getattr(count, key) * unit for key in ("value", "low", "high")}
            marks.append({"method": method, "y": top + 29 + 15 * line, **ends})
        truths.append({"truth": 100, "y": top + 20, "end": top + 23 + 15 * len(answer.counts)})
        top += 34 + 15 * len(answer.counts)
    edge = max(1.5 * max(mark["value"] for mark in marks), 200.0 if known else 0.0)
    cut = any(mark["high"] > edge for mark in marks)
    marks = [mark | {"high": min(mark["high"], edge)} for mark in marks]
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[0, top], reverse=True, nice=False))
    title = "estimate as % of the true count" if known else "people"
    title += "; bars are cut at the edge" if cut else ""
    x = alt.X("low:Q", axis=alt.Axis(tickCount=5, title=title), scale=alt.Scale(zero=not known))
    colours = alt.Scale(domain=methods, range=[COLOURS[role] for role in _ROLES])
    shapes = alt.Scale(domain=methods, range=_SHAPES)
    base = chart_of(marks).encode(
        y=y, color=alt.Color("method:N", sort=methods, scale=colours, legend=None)
    )
    layers = [
        base.mark_bar(height=7, opacity=0.35).encode(x=x, x2="high:Q"),
        base.mark_point(size=46, filled=True, opacity=1).encode(
            x="value:Q", shape=alt.Shape("method:N", scale=shapes, legend=None)
        ),
        style.words(chart_of(words), "label:N", baseline="middle").encode(y=y, x=alt.value(0)),
    ]
    if known:
        line = chart_of(truths).mark_rule(strokeWidth=2, color=COLOURS["truth"])
        layers.insert(0, line.encode(x="truth:Q", y=y, y2="end:Q"))  # not through the words
    return layered(layers, width=width, height=top)


def arrivals(hours: Mapping[datetime, int], *, width: int = 372) -> Chart:
    """How many answers came in each hour, or in each day where there are many hours.

    Arguments:
        hours: answers by the hour in which they came, in UTC.
        width: of the plot, in pixels.
    """
    if not hours:
        raise MdrrError("no answer has come yet, so there is nothing to draw")
    step, unit = timedelta(hours=1), "an hour"
    by_day = max(hours) - min(hours) >= MOST_HOURS * step
    if by_day:
        step, unit = timedelta(days=1), "a day"
    came: Counter[datetime] = Counter()
    for hour, count in hours.items():
        when = hour.astimezone(UTC)
        came[when.replace(hour=0) if by_day else when] += count
    start, stop = min(came), max(came) + step
    if stop - start < 6 * step:
        start, stop = start - 3 * step, stop + 2 * step
    rows = [
        {"from": _milliseconds(when), "to": _milliseconds(when + step), "zero": 0, "count": count}
        for when, count in sorted(came.items())
    ]
    ends = alt.Scale(type="utc", domain=[_milliseconds(start), _milliseconds(stop)])
    days = by_day or stop - start > timedelta(hours=36)
    axis = alt.Axis(
        format="%-d %b" if days else "%-d %b %H:%M",
        tickCount=max(2, width // 110),
        title="time (UTC)",
        grid=False,
        labelOverlap=True,
    )
    bars = chart_of(rows).mark_bar(color=COLOURS["estimate"], binSpacing=1)
    drawn = bars.encode(
        x=alt.X("from:T", scale=ends, axis=axis),
        x2="to:T",
        y=alt.Y("zero:Q", axis=alt.Axis(tickCount=4, tickMinStep=1, title=f"answers {unit}")),
        y2="count:Q",
    )
    return layered([drawn], width=width, height=150)


def _milliseconds(when: datetime) -> int:
    """Since 1970, as charts keep time."""
    return round(when.timestamp() * 1000)
