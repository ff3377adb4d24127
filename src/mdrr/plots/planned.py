"""A chart of a plan: what each candidate design is predicted to do."""

from __future__ import annotations

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


def candidates(plan: Plan, *, most: int = 12) -> Chart:
    """The predicted error of each candidate design on a logarithmic axis, the best filled.

    Arguments:
        plan: the candidates, the best first.
        most: how many to show.
    """
    rows = [
        {"label": c.name, "value": max(c.predicted.error, 1e-9), "best": c is plan.best}
        for c in plan.candidates[:most]
    ]
    labels = [str(row["label"]) for row in rows]
    fill = alt.condition("datum.best", alt.value(COLOURS["estimate"]), alt.value(COLOURS["muted"]))
    base = chart_of(rows).encode(
        y=alt.Y("label:N", sort=labels, title=None, axis=label_axis(LABELS + 44))
    )
    points = base.mark_point(filled=True, size=90, opacity=1).encode(
        x=alt.X(
            "value:Q",
            scale=alt.Scale(type="log"),
            axis=alt.Axis(tickCount=5, title="predicted relative error of a count"),
        ),
        color=fill,
    )
    return layered([points], width=PLOT + 20, height=ROW * len(rows))
