"""Charts of designs: what each is predicted to do, and how often the truth itself is sent."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mdrr.design import Cluster, Design
from mdrr.errors import MdrrError
from mdrr.matrix import Constant
from mdrr.planning import Plan
from mdrr.plots import style
from mdrr.plots.style import COLOURS, PLOT, ROW, Chart, alt, chart_of, layered, percent


def candidates(plan: Plan, *, used: str | None = None, most: int = 12) -> Chart:
    """The predicted error of each candidate design on a logarithmic axis, the best in colour.

    Arguments:
        plan: the candidates, the best first.
        used: the name of the one in use, if any: a diamond, shown wherever it ranks.
        most: how many to show.
    """
    rows: list[dict[str, Any]] = [
        {
            "label": c.name,
            "value": max(100 * c.predicted.error, 1e-7),
            "text": percent(c.predicted.error),
            "mark": "best" if c is plan.best else "used" if c.name == used else "other",
            "used": c.name == used,
        }
        for i, c in enumerate(plan.candidates)
        if i < most or c.name == used
    ]
    values = [row["value"] for row in rows]
    ticks = _ticks(min(values), max(values))
    colours = [COLOURS["estimate"], COLOURS["second"], COLOURS["muted"]]
    marks = alt.Scale(domain=["best", "used", "other"], range=colours)
    shapes = alt.Scale(domain=[False, True], range=["circle", "diamond"])
    base = chart_of(rows).encode(y=style.rows_axis(rows, extent=182))
    points = base.mark_point(filled=True, opacity=1).encode(
        x=alt.X(
            "value:Q",
            scale=alt.Scale(type="log", domain=[ticks[0], ticks[-1]]),
            axis=alt.Axis(values=ticks, title="predicted error of a count, %"),
        ),
        color=alt.Color("mark:N", scale=marks, legend=None),
        shape=alt.Shape("used:N", scale=shapes, legend=None),
        size=alt.condition("datum.used", alt.value(110), alt.value(70)),
    )
    numbers = style.words(base, "text:N", align="right").encode(x=alt.value(PLOT + 78))
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


def privacy(design: Design, *, most: int = 12, width: int = 372) -> Chart:
    """How often the truth itself is sent for each cluster, against a blind guess.

    Arguments:
        design: whose clusters; those whose reports are no answers are left out.
        most: how many clusters to show.
        width: of the plot, in pixels.
    """
    clusters = dict.fromkeys(c for q in design.questionnaires for c in q.clusters)
    drawn = [cluster for cluster in clusters if cluster.matrix.reports_cells][:most]
    if not drawn:
        raise MdrrError("no cluster of this design reports an answer, so there is nothing to draw")
    rows = [
        {
            "label": " + ".join(cluster.attributes),
            "words": 42 * i + 10,
            "y": 42 * i + 27,
            "zero": 0,
            "sent": 100 * truth_sent(cluster),
            "blind": 100 / cluster.matrix.cells,
            "text": f"{100 * truth_sent(cluster):.0f}",
        }
        for i, cluster in enumerate(drawn)
    ]
    height = 42 * len(rows)
    scale = alt.Scale(domain=[0, height], reverse=True, nice=False)
    base = chart_of(rows).encode(y=alt.Y("y:Q", axis=None, scale=scale))
    axis = alt.Axis(tickCount=5, title="times in 100 that the true answer is sent")
    layers = [
        base.mark_bar(height=13, color=COLOURS["estimate"]).encode(
            x=alt.X("zero:Q", axis=axis, scale=alt.Scale(domain=[0, 100])), x2="sent:Q"
        ),
        style.strokes(base, "blind:Q", colour="ink", size=19, orient="vertical"),
        style.words(base, "text:N", dx=6).encode(x="sent:Q"),
        style.words(base, "label:N", baseline="middle").encode(
            x=alt.value(0), y=alt.Y("words:Q", axis=None, scale=scale)
        ),
    ]
    return layered(layers, width=width, height=height)


def truth_sent(cluster: Cluster) -> float:
    """The largest probability, over true cells, that a cluster's report is the true one."""
    matrix = cluster.matrix
    if isinstance(matrix, Constant):
        return matrix.keep
    if not matrix.reports_cells:
        raise MdrrError(f"the reports of {cluster.name!r} are not cells")
    return max(float(matrix.likelihood(np.array([u]))[0, u]) for u in range(matrix.cells))
