"""Lay the contents out as one HTML page."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata, resources
from math import isfinite
from typing import Any

from mdrr import plots
from mdrr.columns import require
from mdrr.design import Cluster
from mdrr.plots.counted import MOST_METHODS
from mdrr.plots.style import percent
from mdrr.privacy import in_words
from mdrr.reporting.alternatives import Alternatives
from mdrr.reporting.contents import Contents
from mdrr.reporting.words import reported_words, size_words, strongest_words

MOST_BARS = 12
"""A chart of protection shows so many clusters."""
MOST_LEADING = 15
"""The first chart shows so many attributes."""
MOST_CLUSTERS = 40
"""A table of clusters lists so many."""


def render(contents: Contents) -> str:
    """The page as text."""
    survey = contents.survey
    return fill(
        "page.html",
        _figures(contents),
        language=survey.language if survey else None,
        marks=marks(survey.language) if survey and contents.title == survey.title else "",
        title=contents.title,
        it=contents,
        leading=[margin.leading for margin in contents.margins[:MOST_LEADING]],
        level=round(100 * contents.estimate.table(contents.margins[0].name).level),
        drawn_methods=list(contents.methods)[:MOST_METHODS],
        most_bars=MOST_BARS,
        most_clusters=MOST_CLUSTERS,
    )


def marks(language: str) -> Any:
    """The attributes that mark a survey's own words on a page that is in English."""
    return require("markupsafe", "report").Markup(' lang="{}" dir="auto"').format(language)


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
    environment.filters |= {
        "whole": "{:,.0f}".format,
        "one": lambda value: "–" if value is None else f"{value:.1f}",
        "signed": lambda value: "–" if value is None else f"{value:+.1f}".replace("-", "−"),
        "percent": lambda share: "–" if share is None else percent(share),
        "people": lambda value: f"{value:.1f}" if value < 9.95 else f"{value:,.0f}",
        "budget": lambda value, digits=2: f"{value:.{digits}f}" if isfinite(value) else "∞",
        "marks": marks,
        "size": size_words,
        "reported": reported_words,
        "privacy": in_words,
        "sent": _sent,
    }
    text: str = environment.get_template(name).render(
        style=safe((folder / "page.css").read_text(encoding="utf-8")),
        figures={each: safe(svg) for each, svg in figures.items()},
        version=metadata.version("mdrr"),
        **values,
    )
    return text


def _figures(contents: Contents) -> dict[str, str]:
    """The figures that the contents allow, by name."""
    figures = compared_figure(contents.alternatives)
    if any(part.matrix.reports_cells for part in contents.parts):
        words = "; ".join(
            f"{' + '.join(part.attributes)}: {_sent(part):.0f} times in 100, blind guess "
            f"{100 / part.matrix.cells:.2g}"
            for part in contents.parts[:MOST_BARS]
            if part.matrix.reports_cells
        )
        chart = plots.privacy(contents.design, most=MOST_BARS)
        figures["privacy"] = plots.to_svg(chart, f"How often the truth is sent. {words}.")
    if (found := contents.dependences) is not None:
        strongest = strongest_words(found, most=6)
        held = [part.attributes for part in contents.parts]
        figures["heat"] = plots.to_svg(
            plots.heat_map(found, clusters=contents.framed),
            f"Dependence of every pair of attributes. {strongest}",
        )
        figures["pairs"] = plots.to_svg(
            plots.pairs(found, clusters=held, truth=contents.true_dependences),
            f"The strongest pairs. {strongest}",
        )
    answers = [
        plots.Answer(asked.words, dict(list(asked.counts.items())[:MOST_METHODS]), asked.truth)
        for asked in contents.asked
        if asked.truth or not contents.simulated
    ]
    if answers:
        words = "Count queries with their intervals; the numbers are in the table below."
        figures["counts"] = plots.to_svg(plots.counts(answers), words)
    return figures


def compared_figure(found: Alternatives) -> dict[str, str]:
    """The chart of designs, by its name; none where there are not two to compare."""
    if found.plan is None or len(found.plan.candidates) < 2:
        return {}
    shown = found.plan.candidates[:12]
    words = "; ".join(f"{c.name} {percent(c.predicted.error)} %" for c in shown)
    chart = plots.candidates(found.plan, used=found.used)
    return {"alternatives": plots.to_svg(chart, f"Predicted error of each design: {words}.")}


def _sent(cluster: Cluster) -> float | None:
    """How often in 100 times the truth is sent, if a report is an answer at all."""
    return 100 * plots.truth_sent(cluster) if cluster.matrix.reports_cells else None
