"""Lay the contents out as one HTML page."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata, resources
from math import isfinite
from typing import Any

from mdrr import plots
from mdrr.columns import require
from mdrr.plots.counted import MOST_METHODS
from mdrr.plots.style import percent
from mdrr.privacy import in_words
from mdrr.reporting.alternatives import Alternatives
from mdrr.reporting.contents import Contents
from mdrr.reporting.words import reported_words, size_words, strongest_words

MOST_BARS = 12
"""A chart of protection shows so many clusters."""


def render(contents: Contents) -> str:
    """The page as text."""
    return fill(
        "page.html",
        _figures(contents),
        title=contents.title,
        it=contents,
        most_bars=MOST_BARS,
        most_methods=MOST_METHODS,
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
        "sent": plots.truth_sent,
        "strongest": strongest_words,
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
        figures["privacy"] = plots.to_svg(
            plots.privacy(contents.design, most=MOST_BARS),
            "How often the true answer is sent. The sentences beside the chart say the same.",
        )
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
    words = "Predicted error of each design; the numbers are in the table below."
    chart = plots.candidates(found.plan, used=found.used)
    return {"alternatives": plots.to_svg(chart, words)}
