"""A chart of when answers came."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from mdrr.errors import MdrrError
from mdrr.plots.style import COLOURS, Chart, alt, chart_of, layered

MOST_HOURS = 96
"""Answers over a longer time are counted by the day."""


def arrivals(hours: Mapping[datetime, int], *, width: int = 372) -> Chart:
    """How many answers came in each hour, or in each day where there are many hours.

    Arguments:
        hours: answers by the hour in which they came, in UTC.
        width: of the plot, in pixels.
    """
    if not hours:
        raise MdrrError("no answer has come yet, so there is nothing to draw")
    step, unit = timedelta(hours=1), "an hour"
    counts = Counter({hour.astimezone(UTC): count for hour, count in hours.items()})
    if max(counts) - min(counts) >= MOST_HOURS * step:
        step, unit = timedelta(days=1), "a day"
        by_day: Counter[datetime] = Counter()
        for hour, count in counts.items():
            by_day[hour.replace(hour=0)] += count
        counts = by_day
    start, stop = min(counts), max(counts) + step
    if stop - start < 6 * step:
        start, stop = start - 3 * step, stop + 2 * step
    rows = [
        {"from": _milliseconds(when), "to": _milliseconds(when + step), "zero": 0, "count": count}
        for when, count in sorted(counts.items())
    ]
    ends = alt.Scale(type="utc", domain=[_milliseconds(start), _milliseconds(stop)])
    days = step.days or stop - start > timedelta(hours=36)
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
