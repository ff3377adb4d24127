"""A chart of a plan: what each candidate design is predicted to do."""

from __future__ import annotations

import math

from mdrr.planning import Plan
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
)


def candidates(plan: Plan, *, used: str | None = None, most: int = 12) -> Chart:
    """The predicted error of each candidate design on a logarithmic axis, the best in colour.

    Arguments:
        plan: the candidates, the best first.
        used: the name of the one in use, if any: a diamond, shown wherever it ranks.
        most: how many to show.
    """
    shown = [c for i, c in enumerate(plan.candidates) if i < most or c.name == used]
    values = [max(100 * c.predicted.error, 1e-7) for c in shown]
    rows = [
        {
            "label": c.name,
            "value": value,
            "text": percent(c.predicted.error),
            "mark": "best" if c is plan.best else "used" if c.name == used else "other",
            "used": c.name == used,
        }
        for c, value in zip(shown, values, strict=True)
    ]
    labels = [str(row["label"]) for row in rows]
    ticks = _ticks(min(values), max(values))
    marks = alt.Scale(
        domain=["best", "used", "other"],
        range=[COLOURS["estimate"], COLOURS["second"], COLOURS["muted"]],
    )
    base = chart_of(rows).encode(
        y=alt.Y("label:N", sort=labels, title=None, axis=label_axis(LABELS + 44))
    )
    points = base.mark_point(filled=True, opacity=1).encode(
        x=alt.X(
            "value:Q",
            scale=alt.Scale(type="log", domain=[ticks[0], ticks[-1]]),
            axis=alt.Axis(values=ticks, title="predicted error of a count, %"),
        ),
        color=alt.Color("mark:N", scale=marks, legend=None),
        shape=alt.Shape(
            "used:N",
            scale=alt.Scale(domain=[False, True], range=["circle", "diamond"]),
            legend=None,
        ),
        size=alt.condition("datum.used", alt.value(110), alt.value(70)),
    )
    numbers = base.mark_text(align="right", fontSize=12, color=COLOURS["ink"]).encode(
        x=alt.value(PLOT + 78), text="text:N"
    )
    return layered([points, numbers], width=PLOT, height=ROW * len(rows))


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers around a range: powers of ten, with twice and five times them if it is short.

    >>> _ticks(4.7, 23.0), _ticks(3.0, 2e4)
    ([2.0, 5.0, 10.0, 20.0, 50.0], [1.0, 10.0, 100.0, 1000.0, 10000.0, 100000.0])
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if high / low < 30 else (1,)
    rounds = [float(f"{step}e{power}") for power in powers for step in steps]
    first = max((i for i, tick in enumerate(rounds) if tick <= low), default=0)
    last = min((i for i, tick in enumerate(rounds) if tick >= high), default=-1)
    return rounds[first : max(last, first + 1) + 1]


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
