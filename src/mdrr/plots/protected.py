"""A chart of protection: how often the truth itself is sent."""

from __future__ import annotations

from typing import Any

import numpy as np

from mdrr.design import Cluster, Design
from mdrr.errors import MdrrError
from mdrr.matrix import Constant
from mdrr.plots.style import COLOURS, Chart, alt, chart_of, layered


def privacy(design: Design, *, most: int = 12) -> Chart:
    """How often the truth itself is sent for each cluster, against a blind guess.

    Arguments:
        design: whose clusters; those whose reports are no answers are left out.
        most: how many clusters to show.
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
    layers: list[Any] = [
        base.mark_bar(height=13, color=COLOURS["estimate"]).encode(
            x=alt.X("zero:Q", axis=axis, scale=alt.Scale(domain=[0, 100])), x2="sent:Q"
        ),
        base.mark_tick(
            orient="vertical", thickness=2.5, size=19, opacity=1, color=COLOURS["ink"]
        ).encode(x="blind:Q"),
        base.mark_text(align="left", dx=6, fontSize=12, color=COLOURS["ink"]).encode(
            x="sent:Q", text="text:N"
        ),
        base.mark_text(align="left", baseline="middle", fontSize=12, color=COLOURS["ink"]).encode(
            x=alt.value(0), y=alt.Y("words:Q", axis=None, scale=scale), text="label:N"
        ),
    ]
    return layered(layers, width=372, height=height)


def truth_sent(cluster: Cluster) -> float:
    """The largest probability, over true cells, that a cluster's report is the true one."""
    matrix = cluster.matrix
    if isinstance(matrix, Constant):
        return matrix.keep
    if not matrix.reports_cells:
        raise MdrrError(f"the reports of {cluster.name!r} are not cells")
    return max(float(matrix.likelihood(np.array([u]))[0, u]) for u in range(matrix.cells))
