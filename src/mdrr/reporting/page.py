"""Lay the contents out as one HTML page."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata, resources
from math import isfinite
from typing import Any

from mdrr import plots
from mdrr.columns import require
from mdrr.plots.estimated import MOST_METHODS
from mdrr.plots.style import percent
from mdrr.reporting.alternatives import Alternatives
from mdrr.reporting.contents import Contents
from mdrr.reporting.words import size_words, strongest_words

MOST_BARS = 12
"""A chart of protection shows so many clusters."""
MOST_LEADING = 15
"""The first chart shows so many attributes."""


def render(contents: Contents) -> str:
    """The page as text."""
    return fill(
        "page.html",
        _figures(contents),
        title=contents.title,
        it=contents,
        leading=[margin.leading for margin in contents.margins[:MOST_LEADING]],
        level=round(100 * contents.margins[0].table.level),
        drawn_methods=list(contents.methods)[:MOST_METHODS],
        most_bars=MOST_BARS,
    )


def fill(name: str, figures: Mapping[str, str], **values: Any) -> str:
    """A page from its template, the figures by name and what else it speaks of."""
    jinja = require("jinja2", "report")
    folder = resources.files("mdrr.reporting")
    environment = jinja.Environment(
        autoescape=True,
        undefined=jinja.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=jinja.FunctionLoader(lambda each: (folder / each).read_text(encoding="utf-8")),
    )
    safe = jinja.utils.markupsafe.Markup
    environment.filters.update(
        whole=_whole,
        one=_one,
        signed=_signed,
        size=size_words,
        budget=_budget,
        people=_people,
        percent=percent,
    )
    text: str = environment.get_template(name).render(
        style=safe((folder / "page.css").read_text(encoding="utf-8")),
        figures={each: safe(svg) for each, svg in figures.items()},
        version=metadata.version("mdrr"),
        **values,
    )
    return text


def _figures(contents: Contents) -> dict[str, str]:
    """The figures that the contents allow, by name."""
    charts: dict[str, tuple[Any, str]] = {}
    if any(c.matrix.reports_cells for q in contents.design.questionnaires for c in q.clusters):
        words = "; ".join(
            f"{' + '.join(part.names)}: {part.sent:.0f} times in 100, blind guess "
            f"{100 / part.cells:.2g}"
            for part in contents.parts[:MOST_BARS]
            if part.sent is not None
        )
        charts["privacy"] = (
            plots.privacy(contents.design, most=MOST_BARS),
            f"How often the truth is sent. {words}.",
        )
    if contents.dependences is not None:
        charts |= _dependence_charts(contents)
    answers = [
        plots.Answer(asked.words, dict(list(asked.counts.items())[:MOST_METHODS]), asked.truth)
        for asked in contents.queries
        if asked.truth or not contents.simulated
    ]
    if answers:
        words = "Count queries with their intervals; the numbers are in the table below."
        charts["counts"] = plots.counts(answers), words
    drawings = {name: plots.to_svg(chart, words) for name, (chart, words) in charts.items()}
    return drawings | compared_figure(contents.alternatives)


def compared_figure(found: Alternatives) -> dict[str, str]:
    """The chart of designs, by its name; none where there are not two to compare."""
    if found.plan is None or len(found.plan.candidates) < 2:
        return {}
    words = "; ".join(f"{row.name} {row.error} %" for row in found.rows[:12])
    chart = plots.candidates(found.plan, used=found.used)
    return {"alternatives": plots.to_svg(chart, f"Predicted error of each design: {words}.")}


def _dependence_charts(contents: Contents) -> dict[str, tuple[Any, str]]:
    found = contents.dependences
    assert found is not None
    strongest = strongest_words(found, most=6)
    return {
        "heat": (
            plots.heat_map(found, clusters=contents.clusters),
            f"Dependence of every pair of attributes. {strongest}",
        ),
        "pairs": (
            plots.pairs(found, clusters=contents.held, truth=contents.true_dependences),
            f"The strongest pairs. {contents.pairs_words} {strongest}",
        ),
    }


def _whole(value: float) -> str:
    return f"{value:,.0f}"


def _one(value: float) -> str:
    return f"{value:.1f}"


def _budget(value: float, digits: int = 2) -> str:
    return f"{value:.{digits}f}" if isfinite(value) else "∞"


def _people(value: float) -> str:
    """A few people, to two digits."""
    return f"{value:.1f}" if value < 9.95 else f"{value:,.0f}"


def _signed(value: float | None) -> str:
    return "–" if value is None else f"{value:+.1f}".replace("-", "−")
