"""Charts of what an estimate, its dependences and its design say, as Altair charts."""

from __future__ import annotations

from mdrr.plots.counted import Answer, arrivals, category_order, counts, marginal, overview, shares
from mdrr.plots.designs import candidates, privacy, truth_sent
from mdrr.plots.related import cross_table, heat_map, pairs
from mdrr.plots.style import COLOURS, Chart, to_svg

__all__ = [
    "COLOURS",
    "Answer",
    "Chart",
    "arrivals",
    "candidates",
    "category_order",
    "counts",
    "cross_table",
    "heat_map",
    "marginal",
    "overview",
    "pairs",
    "privacy",
    "shares",
    "to_svg",
    "truth_sent",
]
