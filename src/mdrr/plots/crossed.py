"""A chart of a table of two attributes."""

from __future__ import annotations

from mdrr.errors import MdrrError
from mdrr.estimation import Table
from mdrr.plots.estimated import category_order
from mdrr.plots.related import grid, hatched, key
from mdrr.plots.style import COLOURS, Chart, alt, layered

MOST = 400
"""Cells of a table that a chart can show."""
_NUMBERS = 12
"""Columns up to which cells bear their numbers."""


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
    if table.values.size > MOST:
        raise MdrrError(
            f"a table of {table.values.size:,} cells is too large to draw (the most is {MOST}); "
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
            "strong": bool(sure[i, j] and 100 * table.values[i, j] > 0.75 * largest),
        }
        for a, i in enumerate(rows)
        for b, j in enumerate(columns)
    ]
    side = min(max(352 // max(len(down), len(across)), 24), 46)
    base = grid(cells, down, across)
    shade = alt.Opacity(
        "value:Q", scale=alt.Scale(domain=[0, largest], range=[0.05, 1]), legend=None
    )
    titles = {"row": first.name, "column": second.name, "text": "% of people"}
    titles |= {"interval": f"{100 * table.level:g} % interval"}
    pointed = [alt.Tooltip(f"{field}:N", title=title) for field, title in titles.items()]
    layers = [base.mark_rect(color=COLOURS["estimate"]).encode(opacity=shade, tooltip=pointed)]
    unsure = [cell for cell in cells if not cell["sure"]]
    if unsure:
        layers += hatched(grid(unsure, down, across), side)
        layers += key(len(down) * side, f"the {100 * table.level:g} % interval begins at 0")
    if len(across) <= _NUMBERS:
        white, ink = alt.value(COLOURS["on-estimate"]), alt.value(COLOURS["ink"])
        colour = alt.condition("datum.strong", white, ink)
        numbers = base.mark_text(fontSize=12 if side > 36 else 10)
        layers.append(numbers.encode(text="text:N", color=colour, tooltip=pointed))
    return layered(layers, width=len(across) * side, height=len(down) * side)
